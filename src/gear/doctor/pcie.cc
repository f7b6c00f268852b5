// PCIe generation and lanes, errors of the bus, and where NICs and GPUs sit.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "gear/doctor/checks.h"

namespace weft::gear {

namespace {

int generation_of(double GTps) {
  return GTps >= 64 ? 6 : GTps >= 32 ? 5 : GTps >= 16 ? 4 : GTps >= 8 ? 3 : GTps >= 5 ? 2 : 1;
}
// Before packets: 8b/10b up to generation 2, 128b/130b from 3.
double link_Gbps(double GTps, double lanes) {
  return GTps * lanes * (GTps < 8 ? 0.8 : 128.0 / 130);
}

// lspci, or the files of sysfs where lspci may not read the capabilities.
struct PcieLink {
  Maybe<double> cap_GTps, now_GTps;
  Maybe<std::uint64_t> cap_lanes, now_lanes;
};
PcieLink pcie_link(const HostState& host, const NicPort& port) {
  PcieLink link;
  if (const PciDevice* device = host.pci_of(port)) {
    link = {device->cap_GTps, device->now_GTps, device->cap_lanes, device->now_lanes};
  }
  const std::string base = "/sys/bus/pci/devices/" + port.pci + "/";
  const auto speed = [&](const char* name, Maybe<double>& place) {
    const Seen<std::string>* line = host.file_line(base + name);
    if (line != nullptr && !place)
      if (const auto value = leading_decimal(line->value)) place = {*value, line->from};
  };
  const auto width = [&](const char* name, Maybe<std::uint64_t>& place) {
    const Seen<std::string>* line = host.file_line(base + name);
    if (line != nullptr && !place)
      if (const auto value = leading_number(line->value)) place = {*value, line->from};
  };
  speed("max_link_speed", link.cap_GTps);
  speed("current_link_speed", link.now_GTps);
  width("max_link_width", link.cap_lanes);
  width("current_link_width", link.now_lanes);
  return link;
}

void check_link_of(const HostState& host, const NicPort& port, Findings& findings) {
  const PcieLink link = pcie_link(host, port);
  std::string against;
  const double port_Gbps = port.speed_Mbps  ? static_cast<double>(port.speed_Mbps->value) / 1000
                           : port.rate_Gbps ? port.rate_Gbps->value
                                            : 0;
  if (link.now_GTps && link.now_lanes && port_Gbps > 0)
    against = fmt::format("; {:.0f} Gb/s before packet headers, the port has {}",
                          link_Gbps(link.now_GTps->value, static_cast<double>(link.now_lanes->value)), port_Gbps);
  if (link.cap_GTps && link.now_GTps && link.now_GTps->value < link.cap_GTps->value)
    findings.add(
        "pcie-speed", host.name + " " + port.name(),
        fmt::format("the card can do PCIe {}.0 and runs at {}.0{}", generation_of(link.cap_GTps->value),
                    generation_of(link.now_GTps->value), against),
        {link.now_GTps->from, link.cap_GTps->from},
        {"move the card to a slot of its generation, or set the slot's link speed to Auto in the firmware setup",
         fmt::format("lspci -s {} -vv | grep -E 'LnkCap|LnkSta'", port.pci)});
  if (link.cap_lanes && link.now_lanes && link.now_lanes->value < link.cap_lanes->value)
    findings.add(
        "pcie-width", host.name + " " + port.name(),
        fmt::format("the card has {} lanes and runs with {}{}", link.cap_lanes->value, link.now_lanes->value, against),
        {link.now_lanes->from, link.cap_lanes->from},
        {"reseat the card; use a slot with all lanes wired, without bifurcation or a riser that has fewer",
         fmt::format("lspci -s {} -vv | grep -E 'LnkCap|LnkSta'", port.pci)});
  for (const Seen<std::string>& line : host.log) {
    if (port.pci.empty() || line.value.find(port.pci) == line.value.npos) continue;
    const bool is_error = line.value.find("PCIe Bus Error") != line.value.npos ||
                          line.value.find("AER:") != line.value.npos ||
                          line.value.find("insufficient power on the PCIe slot") != line.value.npos;
    if (!is_error) continue;
    findings.add("pcie-errors", host.name + " " + port.name(), "the kernel logs PCIe errors of this card", {line.from},
                 {"reseat the card, check riser and slot power", "dmesg -T | grep -i -E 'aer|pcie'"});
    break;
  }
}

// Topology by nvidia-smi: a GPU whose every NIC is across the sockets.
bool check_topology(const HostState& host, Findings& findings) {
  std::map<std::string, std::vector<const Seen<std::string>*>> by_gpu;
  for (const auto& [names, path] : host.topology) {
    bool is_port = false;
    for (const NicPort& port : host.ports) is_port = is_port || port.device == names.second;
    if (is_port) by_gpu[names.first].push_back(&path);
  }
  std::string far;
  std::vector<Evidence> evidence;
  for (const auto& [gpu, paths] : by_gpu) {
    if (std::any_of(paths.begin(), paths.end(), [](const auto* path) { return path->value != "SYS"; })) continue;
    far += (far.empty() ? "" : ", ") + gpu;
    if (evidence.size() < 4) evidence.push_back(paths.front()->from);
  }
  if (!far.empty())
    findings.add("numa-distance", host.name, fmt::format("from {} every NIC is reached across NUMA nodes (SYS)", far),
                 evidence, {"move a NIC to a slot of the GPU's NUMA node", "nvidia-smi topo -m"});
  return !by_gpu.empty();
}

void check_numa(const HostState& host, Findings& findings) {
  if (check_topology(host, findings)) return;
  std::map<std::uint64_t, Evidence> nics;
  for (const NicPort& port : host.ports) {
    const PciDevice* device = host.pci_of(port);
    if (device != nullptr && device->numa_node) nics.emplace(device->numa_node->value, device->numa_node->from);
  }
  if (nics.empty()) return;
  std::string far;
  std::vector<Evidence> evidence;
  for (const PciDevice* gpu : host.gpus()) {
    const auto& node = gpu->numa_node;
    if (!node || nics.contains(node->value)) continue;
    far += fmt::format("{}{} (node {})", far.empty() ? "" : ", ", gpu->address, node->value);
    if (evidence.size() < 4) evidence.push_back(node->from);
  }
  if (far.empty()) return;
  std::string nodes;
  for (const auto& [node, from] : nics) nodes += (nodes.empty() ? "" : ", ") + std::to_string(node);
  evidence.push_back(nics.begin()->second);
  findings.add("numa-distance", host.name,
               fmt::format("no NIC on the NUMA node of GPU {}; NICs are on node {}", far, nodes), evidence,
               {"move a NIC to a slot of the GPU's NUMA node",
                "give a VM the CPUs and memory of both nodes; run with numactl --cpunodebind on the NIC's"});
}

}  // namespace

void check_pcie(const Site& site, Findings& findings) {
  for (const HostState& host : site.hosts) {
    std::set<std::string> cards;  // two ports of a card share its slot
    for (const NicPort& port : host.ports) {
      if (cards.insert(port.pci.substr(0, port.pci.rfind('.'))).second || port.pci.empty())
        check_link_of(host, port, findings);
    }
    check_numa(host, findings);
  }
}

}  // namespace weft::gear
