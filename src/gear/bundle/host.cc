#include "gear/bundle/host.h"

#include <algorithm>

namespace weft::gear {

namespace {

constexpr std::size_t kMostHostPorts = 1024;  // a search for each line

// "mlx5_0" and 1 of "mlx5_0/1".
std::pair<std::string, std::uint64_t> device_and_port(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto port = slash == text.npos ? std::optional<std::uint64_t>(1) : leading_number(text.substr(slash + 1));
  return {std::string(text.substr(0, slash)), port.value_or(1)};
}

std::string_view last_component(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == path.npos ? path : path.substr(slash + 1);
}

}  // namespace

std::string NicPort::name() const {
  if (device.empty()) return netdev;
  const std::string with_port = port == 1 ? device : device + "/" + std::to_string(port);
  return netdev.empty() ? with_port : with_port + " (" + netdev + ")";
}

std::uint64_t NicPort::count(const std::string& counter) const {
  const auto it = counters.find(counter);
  return it == counters.end() ? 0 : it->second.value;
}

bool PciDevice::is_gpu() const {
  const bool is_display = name.find("3D controller") != name.npos || name.find("VGA compatible") != name.npos ||
                          name.find("Processing accelerators") != name.npos;
  return is_display && (name.find("NVIDIA") != name.npos || name.find("[AMD") != name.npos);
}

const Seen<std::string>* HostState::file_line(const std::string& path) const {
  const auto it = files.find(path);
  return it == files.end() || it->second.empty() ? nullptr : &it->second.front();
}

std::vector<const PciDevice*> HostState::gpus() const {
  std::vector<const PciDevice*> found;
  for (const auto& [address, device] : pci) {
    // A display of a server's management controller is no GPU.
    if (device.is_gpu()) found.push_back(&device);
  }
  return found;
}

const PciDevice* HostState::pci_of(const NicPort& port) const {
  const auto it = pci.find(port.pci);
  return it == pci.end() ? nullptr : &it->second;
}

HostState read_host_bundle(const Bundle& bundle, bool all_interfaces) {
  HostState host;
  host.name = bundle.host;
  host.file = bundle.file;
  HostReader(bundle, host).read(all_interfaces);
  return host;
}

void HostReader::read(bool all_interfaces) {
  for (const BundleSection& section : bundle_.sections) {
    section_ = &section;
    read_names();
  }
  for (const BundleSection& section : bundle_.sections) {
    section_ = &section;
    read_section();
  }
  for (const NicPort& port : host_.ports) {
    if (!port.pci.empty() && !port.netdev.empty()) host_.interfaces.emplace(port.pci, port.netdev);
  }
  // Interfaces without an RDMA device are not the fabric's.
  if (!all_interfaces) std::erase_if(host_.ports, [](const NicPort& port) { return port.device.empty(); });
  for (NicPort& port : host_.ports) {
    std::sort(port.gids.begin(), port.gids.end(),
              [](const GidEntry& a, const GidEntry& b) { return a.index < b.index; });
  }
  for (auto& [address, device] : host_.pci) {
    const auto* node = device.numa_node ? nullptr : host_.file_line("/sys/bus/pci/devices/" + address + "/numa_node");
    if (node == nullptr) continue;
    if (const auto number = leading_number(node->value)) device.numa_node = Seen<std::uint64_t>{*number, node->from};
  }
  std::sort(host_.ports.begin(), host_.ports.end(), [](const NicPort& a, const NicPort& b) {
    return std::pair(a.device, a.port) < std::pair(b.device, b.port);
  });
}

NicPort& HostReader::port_of_netdev(const std::string& netdev) {
  for (NicPort& port : host_.ports) {
    if (port.netdev == netdev) return port;
  }
  if (host_.ports.size() >= kMostHostPorts) return beyond_;
  host_.ports.emplace_back().netdev = netdev;
  return host_.ports.back();
}

NicPort& HostReader::port_of_device(const std::string& device, std::uint64_t number) {
  for (NicPort& port : host_.ports) {
    if (port.device == device && port.port == number) return port;
  }
  if (host_.ports.size() >= kMostHostPorts) return beyond_;
  host_.ports.emplace_back().device = device;
  host_.ports.back().port = number;
  return host_.ports.back();
}

PciDevice& HostReader::pci_device(std::string_view address) {
  // Without -D lspci leaves the domain out.
  const std::string full =
      std::count(address.begin(), address.end(), ':') < 2 ? "0000:" + std::string(address) : std::string(address);
  PciDevice& device = host_.pci[full];
  device.address = full;
  return device;
}

void HostReader::read_names() {
  const std::string& command = section_->command;
  host_.devices_listed = host_.devices_listed || command.starts_with("ls -d /sys/class/infiniband");
  for (std::size_t i = 0; i < section_->lines.size(); ++i) {
    const std::string_view line = section_->lines[i];
    if (command == "rdma link" || command == "rdma link show") {
      const auto words = words_of(line);
      if (words.size() < 2 || words[0] != "link") continue;
      const auto [device, number] = device_and_port(words[1]);
      NicPort& port = port_of_device(device, number);
      for (std::size_t w = 2; w + 1 < words.size(); ++w) {
        if (words[w] == "netdev") port.netdev = std::string(words[w + 1]);
        if (words[w] == "state" && !port.state) port.state = seen(lower_case(words[w + 1]), i);
        if (words[w] == "physical_state" && !port.phys_state) {
          std::string state = lower_case(words[w + 1]);
          std::erase(state, '_');
          port.phys_state = seen(state, i);
        }
      }
    } else if (command.starts_with("ls -d /sys/class/infiniband")) {
      // /sys/class/infiniband/mlx5_0/device/net/ens1f0np0
      const auto parts = words_of(trimmed(line), "/");
      if (parts.size() == 7 && parts[2] == "infiniband") {
        bool known = false;
        for (const NicPort& port : host_.ports) known = known || port.netdev == parts[6];
        if (!known && port_of_device(std::string(parts[3]), 1).netdev.empty())
          port_of_device(std::string(parts[3]), 1).netdev = std::string(parts[6]);
      }
    }
  }
}

void HostReader::read_section() {
  const std::string command = section_->command;
  const auto words = words_of(command);
  if (words.empty()) return;
  if (words[0] == "ethtool" && words.size() >= 2) return read_ethtool(words);
  if (words[0] == "ibstat") return read_ibstat();
  if (words[0] == "ibv_devinfo") return read_devinfo();
  if (command.starts_with("rdma stat")) return read_rdma_statistic();
  if (words[0] == "mlnx_qos" && words.size() >= 3 && words[1] == "-i")
    return read_qos(port_of_netdev(std::string(words[2])));
  if (words[0] == "dcb") {
    for (std::size_t i = 1; i + 1 < words.size(); ++i) {
      if (words[i] == "dev") return read_dcb(port_of_netdev(std::string(words[i + 1])));
    }
    return;
  }
  if (words[0] == "lspci") return read_lspci();
  if (command == "nvidia-smi topo -m") return read_topology();
  if (command == "files") return read_files();
  if (command == "lldpctl" || command.starts_with("lldpcli show neighbors")) return read_neighbours();
  for (std::size_t i = 0; i < section_->lines.size(); ++i) {
    const std::string_view line = section_->lines[i];
    if (trimmed(line).empty()) continue;
    if (command == "lsmod") {
      host_.modules_listed = true;
      const auto columns = words_of(line);
      if (columns.size() >= 2 && columns[0] != "Module") host_.modules.emplace(std::string(columns[0]), at(i));
    } else if (command.starts_with("ls -d /sys/class/iommu/")) {
      host_.has_iommu = true;
    } else if (words[0] == "dmesg") {
      host_.log.push_back(seen(std::string(line), i));
    } else if (words[0] == "pgrep") {
      if (line.find("opensm") != line.npos && !host_.opensm) host_.opensm = seen(std::string(trimmed(line)), i);
    } else if (command == "sminfo") {
      // sminfo: sm lid 1 sm guid 0x…, activity count 1 priority 14 state 3 SMINFO_MASTER
      const std::size_t guid = line.find("sm guid ");
      if (guid == line.npos || line.find("SMINFO_MASTER") == line.npos) continue;
      const std::string_view rest = line.substr(guid + 8);
      host_.sm_master = seen(lower_case(trimmed(rest.substr(0, rest.find_first_of(", ")))), i);
    } else if (command.starts_with("readlink -f /sys/class/infiniband/") && words.size() == 3) {
      const auto parts = words_of(words[2], "/");
      for (NicPort& port : host_.ports) {
        if (parts.size() == 5 && port.device == parts[3]) port.pci = std::string(last_component(trimmed(line)));
      }
    }
  }
}

// Interface:    ens1f0np0, via: LLDP, … / SysName: leaf1 / PortID: ifname Ethernet0
void HostReader::read_neighbours() {
  std::string netdev;
  for (const std::string& line : section_->lines) {
    if (auto value = value_after(line, "Interface:")) netdev = std::string(value->substr(0, value->find(',')));
    if (netdev.empty()) continue;
    if (auto value = value_after(line, "SysName:")) host_.neighbours[netdev].first = std::string(*value);
    if (auto value = value_after(line, "PortID:")) {
      const auto words = words_of(*value);
      if (words.size() == 2) host_.neighbours[netdev].second = std::string(words[1]);
    }
  }
}

}  // namespace weft::gear
