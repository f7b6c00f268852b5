// nvidia-smi: the GPUs of the lab (-L), and how they, each other and the NICs are joined (topo -m).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "live/view/node_command.h"
#include "spec/layout.h"

namespace weft::live {

namespace {

// "SYS", "PIX"; "PHB" where the lab does not say where both are: beside each other, each on a root port of its own.
std::string path_between(const lab::HostConfig& host, const std::optional<std::uint32_t>& a,
                         const std::optional<std::uint32_t>& b) {
  if (!a || !b || host.model.layout == nullptr) return "PHB";
  return std::string(to_string(host::path_class(*host.model.layout, *a, *b)));
}

std::string nvlink_between(const lab::HostConfig& host, std::size_t a, std::size_t b) {
  const host::GpuModel& model = host.places.gpus[a].model;
  if (host.places.gpu_fabric == "none" || model.links == 0) return "";
  if (host.places.gpu_fabric == "pairs" && a / 2 != b / 2) return "";
  return fmt::format("NV{}", model.links);
}

std::string topology(const NetlinkNode& node) {
  const lab::HostConfig& host = node.world.lab().hosts[node.host];
  const auto& gpus = host.places.gpus;
  std::vector<std::string> columns;
  for (std::size_t g = 0; g < gpus.size(); ++g) columns.push_back(fmt::format("GPU{}", g));
  for (std::size_t n = 0; n < node.ports.size(); ++n) columns.push_back(fmt::format("NIC{}", n));
  std::string out = fmt::format("\t{}\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n", fmt::join(columns, "\t"));
  const auto slot_of = [&](std::size_t column) {
    return column < gpus.size() ? gpus[column].slot : host.nics[node.ports[column - gpus.size()].ref.nic].slot;
  };
  for (std::size_t row = 0; row < columns.size(); ++row) {
    out += columns[row];
    for (std::size_t column = 0; column < columns.size(); ++column) {
      std::string path = row == column ? " X " : path_between(host, slot_of(row), slot_of(column));
      if (row != column && row < gpus.size() && column < gpus.size()) {
        const std::string link = nvlink_between(host, row, column);
        if (!link.empty()) path = link;
      }
      if (row != column && row >= gpus.size() && column >= gpus.size() &&
          node.ports[row - gpus.size()].ref.nic == node.ports[column - gpus.size()].ref.nic)
        path = "PIX";  // two ports of one card
      out += "\t" + path;
    }
    if (row < gpus.size()) {
      const bool placed = gpus[row].slot && host.model.layout != nullptr;
      const std::uint32_t numa = placed ? host.model.layout->slots[*gpus[row].slot].node : 0;
      out += fmt::format("\t\t{}\t\tN/A", numa);
    }
    out += "\n";
  }
  out +=
      "\nLegend:\n\n  X    = Self\n"
      "  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)\n"
      "  NODE = Connection traversing PCIe as well as the interconnect between PCIe Host Bridges within a NUMA node\n"
      "  PHB  = Connection traversing PCIe as well as a PCIe Host Bridge (typically the CPU)\n"
      "  PXB  = Connection traversing multiple PCIe bridges (without traversing the PCIe Host Bridge)\n"
      "  PIX  = Connection traversing at most a single PCIe bridge\n"
      "  NV#  = Connection traversing a bonded set of # NVLinks\n";
  if (node.ports.empty()) return out;
  out += "\nNIC Legend:\n\n";
  for (std::size_t n = 0; n < node.ports.size(); ++n) out += fmt::format("  NIC{}: {}\n", n, node.ports[n].rdma);
  return out;
}

}  // namespace

CommandLine nvidia_smi(const NetlinkNode& node, const std::vector<std::string>& words) {
  const auto& gpus = node.world.lab().hosts[node.host].places.gpus;
  if (gpus.empty())
    return {9, "",
            fmt::format("No devices were found: {} has no gpus in the lab\n", node.world.lab().hosts[node.host].name)};
  if (words.size() == 3 && words[1] == "topo" && (words[2] == "-m" || words[2] == "--matrix"))
    return {0, topology(node), ""};
  if (words.size() == 1 || (words.size() == 2 && (words[1] == "-L" || words[1] == "--list-gpus"))) {
    std::string out;
    for (std::size_t g = 0; g < gpus.size(); ++g) out += fmt::format("GPU {}: {}\n", g, gpus[g].model.name);
    return {0, out, ""};
  }
  return {2, "", "on a node nvidia-smi shows the lab's GPUs: nvidia-smi -L, nvidia-smi topo -m\n"};
}

}  // namespace weft::live
