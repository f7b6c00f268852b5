#include "results/report_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "base/figures.h"
#include "spec/card_slot.h"
#include "wire/mtu.h"

namespace weft::lab {

namespace {

// Columns, not bytes: the drawing is UTF-8.
std::string repeated(std::string_view piece, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += piece;
  return out;
}

}  // namespace

std::string heading(std::string_view title) {
  return fmt::format("\n## {}\n\n", title);
}

std::string block(const TextTable& table) {
  return "```\n" + table.brief_text() + "```\n";
}

std::string ends_text(const Lab& lab, const WorkloadConfig& workload) {
  return fmt::format("{} -> {}", port_name(lab, workload.client), port_name(lab, workload.server));
}

std::string range_text(std::optional<double> min, std::optional<double> max) {
  if (min && max && *min == *max) return number_text(*min);
  if (min && max) return fmt::format("{} to {}", number_text(*min), number_text(*max));
  if (min) return fmt::format("at least {}", number_text(*min));
  return fmt::format("at most {}", number_text(max.value_or(0)));
}

std::string_view transfer_name(workload::TransferOp op) {
  static constexpr std::string_view kNames[] = {
      "WRITE",   "WRITE with immediate", "SEND", "SEND with immediate", "SEND with invalidate", "READ", "FETCH_ADD",
      "CMP_SWAP"};
  return kNames[static_cast<std::size_t>(op)];
}

std::string gpu_path_class(const HostConfig& host, const NicConfig& nic, std::uint32_t gpu) {
  const std::optional<std::uint32_t>& slot = host.places.gpus[gpu].slot;
  if (!slot || !nic.slot) return {};
  const host::PathClass found = path_class(*host.model.layout, *nic.slot, *slot);
  return fmt::format("{}{}", to_string(found),
                     host.places.acs && found <= host::PathClass::kPxb ? ", by the root: ACS" : "");
}

namespace {

// "rtx-3090 (SYS), rtx-3090 (PHB)": how near each is to the NIC, where both slots are known.
std::string gpu_line(const HostConfig& host, const NicConfig& nic) {
  std::vector<std::string> gpus;
  for (const host::GpuPlace& gpu : host.places.gpus) {
    gpus.push_back(gpu.model.name);
    const auto number = static_cast<std::uint32_t>(&gpu - host.places.gpus.data());
    if (const std::string path = gpu_path_class(host, nic, number); !path.empty())
      gpus.back() += fmt::format(" ({})", path);
  }
  return fmt::format("{}", fmt::join(gpus, ", "));
}

// "slot3, node 2; memory on node 0": only what is said.
std::string place_line(const HostConfig& host, const NicConfig& nic) {
  std::vector<std::string> parts;
  if (nic.slot) {
    const host::PcieSlot& slot = host.model.layout->slots[*nic.slot];
    parts.push_back(fmt::format("{} on node {}", slot.name, slot.node));
  }
  const host::Placement& placement = host.places.placement;
  if (placement.cpu_node) parts.push_back(fmt::format("CPU on node {}", *placement.cpu_node));
  if (placement.memory_node) parts.push_back(fmt::format("memory on node {}", *placement.memory_node));
  return fmt::format("{}", fmt::join(parts, ", "));
}

// "28 vCPUs on nodes 0, 2; 32 GiB"
std::string vm_line(const HostConfig& vm) {
  std::vector<std::uint32_t> nodes;
  for (std::uint32_t cpu : vm.cpu.own) {
    if (const auto node = vm.model.layout->node_of_cpu(cpu)) nodes.push_back(*node);
  }
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  std::string out = fmt::format("{} vCPU{} on node{} {}", vm.cpu.own.size(), vm.cpu.own.size() == 1 ? "" : "s",
                                nodes.size() == 1 ? "" : "s", fmt::join(nodes, ", "));
  if (vm.vm->memory_B > 0) out += "; " + memory_text(vm.vm->memory_B);
  return out;
}

}  // namespace

std::vector<std::string> port_lines(const Lab& lab, const PortRef& ref) {
  const HostConfig& host = lab.hosts[ref.host];
  const NicConfig& nic = host.nics[ref.nic];
  const PortConfig& port = nic.ports[ref.port];
  std::uint32_t ib_mtu_B = wire::path_mtu_from_netdev_mtu(static_cast<std::uint32_t>(port.netdev_mtu_B));
  const nic::PcieLink link = host::link_in_slot(host.model, nic.model, nic.slot);
  std::vector<std::string> lines = {
      host.vm ? fmt::format("{} (VM of {}, {})", host.name, lab.hosts[host.vm->host].name, host.model.name)
              : fmt::format("{} ({})", host.name, host.model.name),
      fmt::format("{} {}{}", nic.model.name, port.name, nic.function ? ", passed through" : ""),
      fmt::format("{}/{}", to_string(port.address), port.prefix_bits),
      fmt::format("mtu {} (IB {})", port.netdev_mtu_B, ib_mtu_B),
      fmt::format("PCIe {}.0 x{}", link.generation, link.lanes),
  };
  if (const std::string place = place_line(host, nic); !place.empty()) lines.push_back(place);
  if (port.vlan) lines[2] += fmt::format(" vlan {}", *port.vlan);
  if (!host.places.gpus.empty()) lines.push_back(gpu_line(host, nic));
  if (host.vm) lines.push_back(vm_line(host));
  for (const HostConfig& vm : lab.hosts) {
    for (const NicConfig& each : vm.nics) {
      if (!each.function || !each.function->is_vf() || *each.function->carrier != ref) continue;
      lines.push_back(fmt::format("VF {}: {}, {}/{}", each.function->number, vm.name,
                                  to_string(each.ports.front().address), each.ports.front().prefix_bits));
      if (each.function->max_tx_rate_bps > 0)
        lines.back() += ", at most " + line_rate_text(each.function->max_tx_rate_bps);
    }
  }
  return lines;
}

std::vector<std::string> box(const std::vector<std::string>& lines) {
  std::size_t columns = 0;
  for (const std::string& line : lines) columns = std::max(columns, text_width(line));
  std::vector<std::string> out;
  out.push_back("┌" + repeated("─", columns + 2) + "┐");
  for (const std::string& line : lines) out.push_back("│ " + padded(line, columns) + " │");
  out.push_back("└" + repeated("─", columns + 2) + "┘");
  return out;
}

std::string side_by_side(const std::vector<std::string>& left, const std::string& cable,
                         const std::vector<std::string>& right) {
  std::string above = cable.substr(0, cable.find('\n'));
  std::string below = cable.substr(cable.find('\n') + 1);
  std::size_t columns = std::max(text_width(above), text_width(below)) + 4;
  std::size_t rows = std::max(left.size(), right.size());
  std::size_t middle = rows / 2;
  auto centred = [&](const std::string& text) {
    std::size_t before = (columns - text_width(text)) / 2;
    return padded(std::string(before, ' ') + text, columns);
  };
  std::string out;
  for (std::size_t row = 0; row < rows; ++row) {
    std::string l = row < left.size() ? left[row] : std::string(text_width(left.front()), ' ');
    std::string r = row < right.size() ? right[row] : "";
    std::string between = std::string(columns, ' ');
    if (row + 1 == middle) between = centred(above);
    if (row == middle) {
      between = repeated("─", columns);
      // The cable ends at the boxes' walls.
      l.replace(l.rfind("│"), std::string_view("│").size(), "├");
      r.replace(r.find("│"), std::string_view("│").size(), "┤");
    }
    if (row == middle + 1) between = centred(below);
    out += l + between + r + "\n";
  }
  return out;
}

}  // namespace weft::lab
