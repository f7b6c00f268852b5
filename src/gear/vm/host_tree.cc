// A tree of /sys: the machine's own, or a copy (cp -a, tar, a bundle of `weft inspect`). The files are those of
// Documentation/ABI/testing/sysfs-bus-pci, sysfs-devices-system-cpu and stable/sysfs-devices-node.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/files.h"
#include "gear/vm/host.h"

namespace weft::gear {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxFile_B = 1 << 20;
constexpr std::size_t kMaxEntries = 1 << 16;

std::string sys_value(const fs::path& path) {
  const auto text = read_file(path.string(), kMaxFile_B);
  return text ? std::string(stripped(*text)) : std::string();
}

// Names in a directory, sorted; none when it cannot be read.
std::vector<std::string> sys_names(const fs::path& directory) {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator it(directory, error);
  for (; !error && it != fs::directory_iterator() && names.size() < kMaxEntries; it.increment(error))
    names.push_back(it->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::string sys_link(const fs::path& path) {
  std::error_code error;
  const fs::path target = fs::read_symlink(path, error);
  return error ? sys_value(path) : target.filename().string();
}

std::uint32_t sys_hex(std::string_view text) {
  if (text.starts_with("0x")) text.remove_prefix(2);
  std::uint32_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return value;
}

HostDevice read_pci_device(const fs::path& directory, const PciAddress& address) {
  HostDevice device;
  device.address = address;
  device.class_code = sys_hex(sys_value(directory / "class")) >> 8;  // 0x020000: with the programming interface
  device.vendor = sys_hex(sys_value(directory / "vendor"));
  device.device = sys_hex(sys_value(directory / "device"));
  device.name = fmt::format("{:04x}:{:04x}", device.vendor, device.device);
  const std::string node = sys_value(directory / "numa_node");
  if (const auto id = parse_count(node, kMaxCpus)) device.numa_node = static_cast<int>(*id);
  device.driver = sys_link(directory / "driver");
  device.iommu_group = parse_count(sys_link(directory / "iommu_group"), 1 << 20);
  const auto interfaces = sys_names(directory / "net");
  if (!interfaces.empty()) device.interface = interfaces.front();
  return device;
}

// "Node 0 MemTotal:       65842336 kB"
std::int64_t sys_memory(const fs::path& meminfo) {
  const std::string text = sys_value(meminfo);
  const std::size_t key = text.find("MemTotal:");
  if (key == text.npos) return 0;
  const std::string_view rest = stripped(std::string_view(text).substr(key + 9));
  std::int64_t size_kB = 0;
  std::from_chars(rest.data(), rest.data() + rest.size(), size_kB);
  return size_kB > 0 && size_kB < (std::int64_t{1} << 40) ? size_kB << 10 : 0;
}

void read_cpu_info(const fs::path& cpuinfo, HostDescription& host) {
  const std::string text = sys_value(cpuinfo);
  const auto value = [&](std::string_view key) {
    const std::size_t at = text.find(key);
    if (at == text.npos) return std::string();
    const std::size_t colon = text.find(':', at), end = text.find('\n', at);
    return colon == text.npos || colon > end ? std::string()
                                             : std::string(stripped(text.substr(colon + 1, end - colon - 1)));
  };
  host.cpu = value("model name");
  host.cpu_vendor = value("vendor_id");
}

}  // namespace

Planned<HostDescription> read_host_tree(const std::string& directory) {
  const fs::path given(directory);
  std::error_code error;
  const fs::path root = fs::exists(given / "sys", error) ? given / "sys" : given;
  const fs::path cpus = root / "devices/system/cpu", nodes = root / "devices/system/node";
  HostDescription host;
  for (const std::string& name : sys_names(root / "bus/pci/devices")) {
    const fs::path path = root / "bus/pci/devices" / name;
    if (const auto address = PciAddress::parse(name)) host.devices.push_back(read_pci_device(path, *address));
  }
  for (const std::string& name : sys_names(nodes)) {
    const auto id = name.starts_with("node") ? parse_count(std::string_view(name).substr(4), kMaxCpus) : std::nullopt;
    if (!id) continue;
    const fs::path list = nodes / name / "cpulist";
    const auto on_node = parse_cpus(sys_value(list));
    if (!on_node) return plan_error(fmt::format("{}: no list of CPUs", list.string()));
    HostNode node;
    node.id = *id;
    node.memory_B = sys_memory(nodes / name / "meminfo");
    std::vector<bool> taken(kMaxCpus);
    for (std::uint32_t cpu : *on_node) {
      if (taken[cpu]) continue;
      const fs::path siblings = cpus / fmt::format("cpu{}", cpu) / "topology/thread_siblings_list";
      auto threads = parse_cpus(sys_value(siblings));
      if (!threads) return plan_error(fmt::format("{}: no list of CPUs", siblings.string()));
      if (threads->empty()) threads->push_back(cpu);
      for (std::uint32_t thread : *threads) taken[thread] = true;
      node.cores.push_back({std::move(*threads)});
    }
    host.nodes.push_back(std::move(node));
  }
  if (host.nodes.empty())
    return plan_error(fmt::format("{}: no devices/system/node below it", directory),
                      "name a copy of /sys, or a directory that has one as sys");
  read_cpu_info(root.parent_path() / "proc/cpuinfo", host);  // beside sys, as on the machine itself
  return checked_host(std::move(host), directory);
}

}  // namespace weft::gear
