// A bundle of `weft inspect` (gear/bundle/text.h): PCI devices from `lspci -D -vv`, NUMA nodes and threads from the
// lines of /sys in the section `files`, interfaces from `ethtool -i`. lspci names classes and vendors there and gives
// no numbers: those that a plan needs are known by their names in pci.ids.
#include <fmt/format.h>

#include <map>

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

class BundleHostReader {
 public:
  explicit BundleHostReader(const std::string& where) : where_(where) {}

  Planned<HostDescription> read(std::string_view text) {
    std::size_t number = 0;
    bool ended = false;
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      const std::string_view line = text.substr(0, end);
      text = end == text.npos ? std::string_view() : text.substr(end + 1);
      ++number;
      if (line.starts_with("=== ")) {
        section_ = stripped(line.substr(4));
        device_ = nullptr;
        ended = section_ == "end";
        continue;
      }
      if (section_.starts_with("lspci") && section_.find("-vv") != section_.npos) pci_line(line);
      if (section_ == "files") file_line(line);
      if (section_.starts_with("ethtool -i ")) interface_line(stripped(section_.substr(11)), line);
      if (!wrong_.empty()) return plan_error(fmt::format("{}:{}: {}", where_, number, wrong_));
    }
    if (!ended) return plan_error(fmt::format("{}: the bundle has no end: it was cut short", where_), "make it again");
    return finished();
  }

 private:
  // "0000:41:00.0 Ethernet controller: Mellanox Technologies MT27710 Family [ConnectX-4 Lx]", then indented lines.
  void pci_line(std::string_view line) {
    if (line.empty()) return;
    if (line.front() == '\t' || line.front() == ' ') {
      if (device_ == nullptr) return;
      const std::string_view text = stripped(line);
      if (text.starts_with("NUMA node: ")) device_->numa_node = number_or(text.substr(11), -1);
      if (text.starts_with("IOMMU group: ")) device_->iommu_group = parse_count(text.substr(13), 1 << 20);
      if (text.starts_with("Kernel driver in use: ")) device_->driver = text.substr(22);
      return;
    }
    const std::size_t space = line.find(' ');
    const auto address = PciAddress::parse(line.substr(0, space));
    device_ = nullptr;
    if (!address || space == line.npos) return;
    HostDevice& device = devices_[*address];
    device.address = *address;
    const std::string_view rest = line.substr(space + 1);
    for (const PciWord& each : kPciClasses) {
      if (rest.starts_with(each.text)) device.class_code = each.number;
    }
    const std::size_t colon = rest.find(": ");
    const std::string_view name = colon == rest.npos ? std::string_view() : rest.substr(colon + 2);
    for (const PciWord& each : kPciVendors) {
      if (device.vendor == 0 && name.starts_with(each.text)) device.vendor = each.number;
    }
    if (name.find("E810") != name.npos) device.device = 0x1592;
    if (name.find("NetXtreme-E") != name.npos) device.device = 0x1750;
    device.name = name.substr(0, name.find(" (rev "));
    device_ = &device;
  }

  // "/sys/devices/system/node/node0/cpulist:0-7,32-39"
  void file_line(std::string_view line) {
    constexpr std::string_view kNode = "/sys/devices/system/node/node", kCpu = "/sys/devices/system/cpu/cpu",
                               kPci = "/sys/bus/pci/devices/";
    constexpr std::string_view kCpulist = "/cpulist:", kSiblings = "/topology/thread_siblings_list:",
                               kNumaNode = "/numa_node:";
    if (const std::size_t at = line.find(kCpulist); line.starts_with(kNode) && at != line.npos) {
      const auto id = parse_count(line.substr(kNode.size(), at - kNode.size()), kMaxCpus);
      const auto cpus = parse_cpus(line.substr(at + kCpulist.size()));
      if (!id || !cpus) {
        wrong_ = "no list of CPUs";
        return;
      }
      node_cpus_[*id] = *cpus;
    } else if (const std::size_t found = line.find(kSiblings); line.starts_with(kCpu) && found != line.npos) {
      const auto cpu = parse_count(line.substr(kCpu.size(), found - kCpu.size()), kMaxCpus - 1);
      const auto threads = parse_cpus(line.substr(found + kSiblings.size()));
      if (!cpu || !threads) {
        wrong_ = "no list of CPUs";
        return;
      }
      siblings_[*cpu] = *threads;
    } else if (const std::size_t node = line.find(kNumaNode); line.starts_with(kPci) && node != line.npos) {
      const auto address = PciAddress::parse(line.substr(kPci.size(), node - kPci.size()));
      if (address) numa_nodes_[*address] = number_or(line.substr(node + kNumaNode.size()), -1);
    }
  }

  void interface_line(std::string_view name, std::string_view line) {
    if (!line.starts_with("bus-info: ")) return;
    if (const auto address = PciAddress::parse(stripped(line.substr(10)))) interfaces_[*address] = name;
  }

  static int number_or(std::string_view text, int other) {
    const auto number = parse_count(stripped(text), kMaxCpus);
    return number ? static_cast<int>(*number) : other;
  }

  Planned<HostDescription> finished() {
    HostDescription host;
    for (const auto& [id, cpus] : node_cpus_) {
      HostNode node;
      node.id = id;
      std::vector<bool> taken(kMaxCpus);
      for (std::uint32_t cpu : cpus) {
        if (taken[cpu]) continue;
        const auto known = siblings_.find(cpu);
        CpuList threads = known == siblings_.end() || known->second.empty() ? CpuList{cpu} : known->second;
        for (std::uint32_t thread : threads) taken[thread] = true;
        node.cores.push_back({std::move(threads)});
      }
      host.nodes.push_back(std::move(node));
    }
    for (auto& [address, device] : devices_) {
      if (const auto node = numa_nodes_.find(address); node != numa_nodes_.end()) device.numa_node = node->second;
      if (const auto name = interfaces_.find(address); name != interfaces_.end()) device.interface = name->second;
      host.devices.push_back(device);
    }
    return checked_host(std::move(host), where_);
  }

  const std::string& where_;
  std::string_view section_;
  std::string wrong_;
  HostDevice* device_ = nullptr;
  std::map<PciAddress, HostDevice> devices_;
  std::map<PciAddress, int> numa_nodes_;
  std::map<PciAddress, std::string> interfaces_;
  std::map<std::uint32_t, CpuList> node_cpus_, siblings_;
};

}  // namespace

Planned<HostDescription> read_host_bundle(std::string_view text, const std::string& where) {
  // A bundle with the numbers, where somebody added these sections.
  if (text.find("\n=== lspci -vmm") != text.npos && text.find("\n=== lscpu") != text.npos)
    return read_host_text(text, where);
  return BundleHostReader(where).read(text);
}

}  // namespace weft::gear
