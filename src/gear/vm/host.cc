#include "gear/vm/host.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/nearest.h"

namespace weft::gear {
namespace {

std::optional<std::uint32_t> pci_hex(std::string_view text, std::size_t most_digits) {
  std::uint32_t value = 0;
  if (text.empty() || text.size() > most_digits) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool is_first_function(const HostDescription& host, const HostDevice& device) {
  return std::none_of(host.devices.begin(), host.devices.end(), [&](const HostDevice& other) {
    return other.address.same_slot(device.address) && other.role() == device.role() && other.address < device.address;
  });
}

// Which of gpuN, nicN and lanN a card is counted in; empty: in none.
std::string_view series_of(const HostDevice& device) {
  switch (device.role()) {
    case DeviceRole::kGpu:
      return "gpu";
    case DeviceRole::kNic:
      return device.is_rdma_nic() ? "nic" : "lan";
    case DeviceRole::kOther:
      break;
  }
  return "";
}

// gpu0, nic1, ...: cards in the order of their addresses, each by its first function.
std::string series_name(const HostDescription& host, const HostDevice& device) {
  const std::string_view series = series_of(device);
  if (series.empty() || !is_first_function(host, device)) return "";
  std::size_t index = 0;
  for (const HostDevice& other : host.devices) {
    if (other.address < device.address && series_of(other) == series && is_first_function(host, other)) ++index;
  }
  return fmt::format("{}{}", series, index);
}

// Names go to a terminal: control characters of a damaged file do not.
void make_printable(std::string& text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = '?';
  }
}

}  // namespace

std::optional<PciAddress> PciAddress::parse(std::string_view text) {
  PciAddress address;
  const std::size_t dot = text.rfind('.');
  const std::size_t colon = text.rfind(':');
  if (dot == text.npos || colon == text.npos || dot < colon) return std::nullopt;
  const auto function = pci_hex(text.substr(dot + 1), 1);
  const auto slot = pci_hex(text.substr(colon + 1, dot - colon - 1), 2);
  std::string_view left = text.substr(0, colon);
  const std::size_t domain_end = left.rfind(':');
  if (domain_end != left.npos) {
    const auto domain = pci_hex(left.substr(0, domain_end), 8);
    if (!domain) return std::nullopt;
    address.domain = *domain;
    left.remove_prefix(domain_end + 1);
  }
  const auto bus = pci_hex(left, 2);
  if (!function || *function > 7 || !slot || *slot > 31 || !bus) return std::nullopt;
  address.bus = *bus;
  address.slot = *slot;
  address.function = *function;
  return address;
}

std::string PciAddress::text() const {
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", domain, bus, slot, function);
}

std::string PciAddress::short_text() const {
  return domain == 0 ? fmt::format("{:02x}:{:02x}.{:x}", bus, slot, function) : text();
}

DeviceRole HostDevice::role() const {
  // PCI Code and ID Assignment: 03xx display controllers, 0200 and 0207 network, 1200 processing accelerators.
  if ((class_code >> 8) == 0x03 || class_code == 0x1200) return DeviceRole::kGpu;
  if ((class_code >> 8) == 0x02) return DeviceRole::kNic;
  return DeviceRole::kOther;
}

bool HostDevice::is_rdma_nic() const {
  if (role() != DeviceRole::kNic) return false;
  switch (vendor) {
    case 0x15b3:  // Mellanox and NVIDIA
    case 0x1dd8:  // AMD Pensando
    case 0x1425:  // Chelsio
      return true;
    case 0x8086:  // Intel E810
      return device >= 0x1591 && device <= 0x159b;
    case 0x14e4:  // Broadcom NetXtreme-E
      return (device & 0xff00) == 0x1700 || (device & 0xff00) == 0x1600;
    default:
      return false;
  }
}

std::optional<std::vector<HostCore>> cores_of(const CpuList& cpus, std::uint32_t threads_per_core) {
  if (threads_per_core == 0 || cpus.size() % threads_per_core != 0) return std::nullopt;
  const std::size_t count = cpus.size() / threads_per_core;
  std::vector<HostCore> cores(count);
  for (std::size_t i = 0; i < cpus.size(); ++i) cores[i % count].threads.push_back(cpus[i]);
  return cores;
}

Planned<HostDescription> checked_host(HostDescription host, const std::string& where) {
  std::sort(host.nodes.begin(), host.nodes.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  std::erase_if(host.nodes, [](const HostNode& node) { return node.cores.empty() && node.memory_B == 0; });
  std::sort(host.devices.begin(), host.devices.end(),
            [](const auto& a, const auto& b) { return a.address < b.address; });
  make_printable(host.cpu);
  for (HostDevice& device : host.devices) {
    make_printable(device.name);
    make_printable(device.interface);
  }
  if (host.nodes.empty())
    return plan_error(fmt::format("{}: no NUMA nodes", where), "add the output of lscpu, or use lstopo --of xml");
  for (std::size_t i = 1; i < host.nodes.size(); ++i) {
    if (host.nodes[i].id == host.nodes[i - 1].id)
      return plan_error(fmt::format("{}: NUMA node {} is there twice", where, host.nodes[i].id));
  }
  std::vector<bool> seen(kMaxCpus);
  for (HostNode& node : host.nodes) {
    for (HostCore& core : node.cores) {
      std::sort(core.threads.begin(), core.threads.end());
      for (std::uint32_t cpu : core.threads) {
        if (seen[cpu]) return plan_error(fmt::format("{}: CPU {} is in two places", where, cpu));
        seen[cpu] = true;
      }
    }
    std::sort(node.cores.begin(), node.cores.end(),
              [](const auto& a, const auto& b) { return a.threads.front() < b.threads.front(); });
  }
  for (std::size_t i = 0; i < host.devices.size(); ++i) {
    HostDevice& device = host.devices[i];
    if (i > 0 && device.address == host.devices[i - 1].address)
      return plan_error(fmt::format("{}: {} is there twice", where, device.address.text()));
    // A machine with one node does not say which: the kernel leaves -1.
    if (device.numa_node < 0 && host.nodes.size() == 1) device.numa_node = static_cast<int>(host.nodes[0].id);
    for (const HostDevice& other : host.devices) {  // functions of one card are in one place
      if (device.numa_node < 0 && other.address.same_slot(device.address)) device.numa_node = other.numa_node;
    }
    const bool known = std::any_of(host.nodes.begin(), host.nodes.end(),
                                   [&](const HostNode& node) { return device.numa_node == static_cast<int>(node.id); });
    if (device.numa_node >= 0 && !known)
      return plan_error(fmt::format("{}: {} is on NUMA node {}, which this machine does not have", where,
                                    device.address.text(), device.numa_node));
  }
  return host;
}

Planned<const HostDevice*> find_device(const HostDescription& host, std::string_view name) {
  std::vector<std::string> names;
  for (const HostDevice& device : host.devices) {
    const std::string series = series_name(host, device);
    if (series == name || (!device.interface.empty() && device.interface == name)) return &device;
    if (!series.empty()) names.push_back(series);
    if (!device.interface.empty()) names.push_back(device.interface);
  }
  if (const auto address = PciAddress::parse(name)) {
    for (const HostDevice& device : host.devices) {
      if (device.address == *address) return &device;
    }
    return plan_error(fmt::format("no device at {}", address->text()), "lspci lists the addresses");
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  return plan_error(fmt::format("no device {}", name),
                    views.empty() ? "the description has no GPU and no NIC"
                                  : did_you_mean(name, views, "devices") + " A PCI address does, too: 06:00.0");
}

std::string device_label(const HostDescription& host, const HostDevice& device) {
  const std::string series = series_name(host, device);
  if (series.empty()) return device.address.short_text();
  std::string label = series.substr(0, 3);
  for (char& c : label) c = static_cast<char>(c - 'a' + 'A');
  return label + " " + series.substr(3);
}

}  // namespace weft::gear
