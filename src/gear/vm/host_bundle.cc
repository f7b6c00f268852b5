// A bundle of `weft inspect`, read as the doctor reads it (gear/bundle/host.h): PCI devices from `lspci -D -vv`, NUMA
// nodes and threads from the lines of /sys in the section `files`, interfaces from `ethtool -i`. lspci names classes
// and vendors there and gives no numbers: those that a plan needs are known by their names in pci.ids.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "gear/bundle/host.h"
#include "gear/vm/host.h"

namespace weft::gear {
namespace {

struct PciWord {
  std::string_view text;
  std::uint32_t number;
};
constexpr PciWord kPciClasses[] = {{"Ethernet controller", 0x0200},   {"Infiniband controller", 0x0207},
                                   {"Network controller", 0x0280},    {"VGA compatible controller", 0x0300},
                                   {"3D controller", 0x0302},         {"Display controller", 0x0380},
                                   {"Audio device", 0x0403},          {"PCI bridge", 0x0604},
                                   {"Host bridge", 0x0600},           {"USB controller", 0x0c03},
                                   {"Serial bus controller", 0x0c80}, {"Processing accelerators", 0x1200}};
constexpr PciWord kPciVendors[] = {{"Mellanox", 0x15b3},          {"NVIDIA", 0x10de},       {"Chelsio", 0x1425},
                                   {"Advanced Micro", 0x1002},    {"AMD Pensando", 0x1dd8}, {"Pensando", 0x1dd8},
                                   {"Intel Corporation", 0x8086}, {"Broadcom", 0x14e4}};
constexpr std::string_view kNodePath = "/sys/devices/system/node/node", kCpuPath = "/sys/devices/system/cpu/cpu";

// Numbers between a prefix and a suffix of paths, each with the list of CPUs that the file has.
Planned<std::map<std::uint32_t, CpuList>> cpu_lists(const HostState& state, std::string_view prefix,
                                                    std::string_view suffix) {
  std::map<std::uint32_t, CpuList> lists;
  for (auto it = state.files.lower_bound(std::string(prefix)); it != state.files.end() && it->first.starts_with(prefix);
       ++it) {
    if (!it->first.ends_with(suffix) || it->first.size() < prefix.size() + suffix.size()) continue;
    const Seen<std::string>& line = it->second.front();
    const auto number =
        parse_count(std::string_view(it->first).substr(prefix.size(), it->first.size() - prefix.size() - suffix.size()),
                    kMaxCpus - 1);
    auto cpus = parse_cpus(line.value);
    if (!number || !cpus) return plan_error(fmt::format("{}:{}: no list of CPUs", state.file, line.from.line));
    lists[*number] = std::move(*cpus);
  }
  return lists;
}

HostDevice device_of(const PciAddress& address, const PciDevice& known) {
  HostDevice device;
  device.address = address;
  const std::string_view text = known.name;
  for (const PciWord& each : kPciClasses) {
    if (text.starts_with(each.text)) device.class_code = each.number;
  }
  const std::size_t colon = text.find(": ");
  const std::string_view name = colon == text.npos ? std::string_view() : text.substr(colon + 2);
  for (const PciWord& each : kPciVendors) {
    if (device.vendor == 0 && name.starts_with(each.text)) device.vendor = each.number;
  }
  if (name.find("E810") != name.npos) device.device = 0x1592;
  if (name.find("NetXtreme-E") != name.npos) device.device = 0x1750;
  device.name = name.substr(0, name.find(" (rev "));
  device.driver = known.driver;
  if (known.numa_node && known.numa_node->value < kMaxCpus) device.numa_node = static_cast<int>(known.numa_node->value);
  if (known.iommu_group && *known.iommu_group <= 1 << 20)
    device.iommu_group = static_cast<std::uint32_t>(*known.iommu_group);
  return device;
}

Planned<HostDescription> describe_host(const HostState& state) {
  auto node_cpus = cpu_lists(state, kNodePath, "/cpulist");
  if (!node_cpus) return tl::unexpected(node_cpus.error());
  auto siblings = cpu_lists(state, kCpuPath, "/topology/thread_siblings_list");
  if (!siblings) return tl::unexpected(siblings.error());
  HostDescription host;
  for (const auto& [id, cpus] : *node_cpus) {
    HostNode node;
    node.id = id;
    std::vector<bool> taken(kMaxCpus);
    for (std::uint32_t cpu : cpus) {
      if (taken[cpu]) continue;
      const auto known = siblings->find(cpu);
      CpuList threads = known == siblings->end() || known->second.empty() ? CpuList{cpu} : known->second;
      for (std::uint32_t thread : threads) taken[thread] = true;
      node.cores.push_back({std::move(threads)});
    }
    host.nodes.push_back(std::move(node));
  }
  for (const auto& [text, known] : state.pci) {
    const auto address = PciAddress::parse(text);
    if (!address) continue;
    host.devices.push_back(device_of(*address, known));
    if (const auto name = state.interfaces.find(text); name != state.interfaces.end())
      host.devices.back().interface = name->second;
  }
  return checked_host(std::move(host), state.file);
}

}  // namespace

Planned<HostDescription> describe_bundle(std::string_view text, const std::string& where) {
  const auto bundle = parse_bundle(text, where);
  if (!bundle)
    return plan_error(fmt::format("{}:{}: {}", where, bundle.error().line, bundle.error().message),
                      bundle.error().remedy);
  const auto has = [&](std::string_view command) {
    return std::any_of(bundle->sections.begin(), bundle->sections.end(),
                       [&](const BundleSection& section) { return section.command.starts_with(command); });
  };
  // A bundle with the numbers, where somebody added these sections.
  if (has("lspci -vmm") && has("lscpu")) return read_host_sections(*bundle);
  return describe_host(read_host_bundle(*bundle));
}

}  // namespace weft::gear
