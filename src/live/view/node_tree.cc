#include "live/view/node_tree.h"

#include <dirent.h>
#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "live/view/cpu_info.h"

namespace weft::live {

namespace {

// QEMU's root port: the lab does not say which one a host has.
constexpr std::uint32_t kRootPortVendor = 0x1b36, kRootPortDevice = 0x000c;
constexpr std::uint64_t kFirstBar = 0x2000000000;

std::string root_port_name(std::uint32_t nic) {
  return fmt::format("0000:00:{:02x}.0", nic + 1);
}

PciFunction function_of(const NodePort& port, std::size_t functions) {
  PciFunction f;
  f.vendor = port.pci_vendor();
  f.device = port.pci_device();
  f.bus = static_cast<std::uint8_t>(port.ref.nic + 1);
  f.function = static_cast<std::uint8_t>(port.ref.port & 7);
  f.more_functions = functions > 1;
  f.generation = port.model->pcie_generation;
  f.lanes = port.model->pcie_lanes;
  f.max_payload_B = port.model->pcie_max_payload_B;
  f.max_read_request_B = port.model->pcie_max_read_request_B;
  f.bar = kFirstBar + kBar_B * port.device;
  return f;
}

PciFunction root_port_of(const NodePort& port) {
  PciFunction f = function_of(port, 1);
  f.vendor = kRootPortVendor;
  f.device = kRootPortDevice;
  f.class_code = 0x060400;
  f.slot = static_cast<std::uint8_t>(port.ref.nic + 1);
  f.bus = f.function = 0;
  f.is_root_port = true;
  f.secondary_bus = static_cast<std::uint8_t>(port.ref.nic + 1);
  return f;
}

// All that programs run on: the lab's hosts have one NUMA node.
std::string cpu_list() {
  std::ifstream file("/sys/devices/system/cpu/online");
  std::string text;
  std::getline(file, text);
  return text;
}

// The same as the kernel writes masks: words of 32 CPUs, the last ones first.
std::string cpu_mask() {
  std::vector<std::uint32_t> words(1);
  std::istringstream ranges(cpu_list());
  for (std::string range; std::getline(ranges, range, ',');) {
    std::size_t first = 0, last = 0;
    const int numbers = std::sscanf(range.c_str(), "%zu-%zu", &first, &last);
    if (numbers < 1) continue;
    for (std::size_t cpu = first; cpu <= (numbers == 2 ? last : first) && cpu < 8192; ++cpu) {
      if (cpu / 32 >= words.size()) words.resize(cpu / 32 + 1);
      words[cpu / 32] |= 1u << cpu % 32;
    }
  }
  std::string text = fmt::format("{:x}", words.back());
  for (std::size_t i = words.size() - 1; i-- > 0;) text += fmt::format(",{:08x}", words[i]);
  return text;
}

}  // namespace

std::string pci_folder(const NodePort& port) {
  return fmt::format("sys/devices/pci0000:00/{}/{}", root_port_name(port.ref.nic), port.pci);
}

NodeTree::NodeTree(lab::World& world, const Node& node, std::vector<NodePort> ports, std::uint32_t host,
                   const std::string& directory, verbs::Clock clock, Time_ps now_ps)
    : node_(world.lab().hosts[host].name), ports_(std::move(ports)), tree_(directory) {
  write_machine_names();
  if (clock == verbs::Clock::kVirtual) write_cpu_info();
  for (const char* name : {"infiniband", "infiniband_verbs", "net"}) tree_.folder(std::string("sys/class/") + name);
  write_pci();
  write_loopback();
  for (const NodePort& port : ports_) {
    write_netdev(port);
    write_rdma(port);
  }
  tree_.put("sys/class/infiniband_verbs/abi_version", "6");
  write_system(world);
  write_network(world);
  refresh(world, node, now_ps);
}

// The names of everything else in these folders, so that lists are whole: the machine's own things are below.
void NodeTree::write_machine_names() {
  for (const char* path : {"sys", "sys/class", "sys/bus", "sys/devices", "sys/devices/virtual"}) {
    tree_.folder(path);
    DIR* list = opendir((std::string("/") + path).c_str());
    if (list == nullptr) continue;
    while (const dirent* entry = readdir(list)) {
      const std::string name = entry->d_name;
      const bool own = name.starts_with(".") || name.starts_with("infiniband") ||
                       (std::string(path) == "sys/devices" && name.starts_with("pci"));
      if (!own) tree_.folder(std::string(path) + "/" + name);
    }
    closedir(list);
  }
}

// Where the machine names no frequency, its own file is read (preload/files/paths.cc).
void NodeTree::write_cpu_info() {
  std::ifstream file("/proc/cpuinfo");
  const std::string text = cpu_info_at_counter_frequency(
      std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()));
  if (!text.empty()) tree_.put_bytes("proc/cpuinfo", text);
}

void NodeTree::write_function(const std::string& at, const PciFunction& f, const std::string& driver) {
  const std::string name = at.substr(at.rfind('/') + 1);
  tree_.put(at + "/vendor", fmt::format("0x{:04x}", f.vendor));
  tree_.put(at + "/device", fmt::format("0x{:04x}", f.device));
  tree_.put(at + "/subsystem_vendor", fmt::format("0x{:04x}", f.is_root_port ? 0 : f.vendor));
  tree_.put(at + "/subsystem_device", fmt::format("0x{:04x}", f.is_root_port ? 0 : f.device));
  tree_.put(at + "/class", fmt::format("0x{:06x}", f.class_code));
  tree_.put(at + "/revision", "0x00");
  tree_.put(at + "/irq", "0");
  tree_.put(at + "/enable", "1");
  tree_.put(at + "/numa_node", "0");
  tree_.put(at + "/local_cpulist", cpu_list());
  tree_.put(at + "/local_cpus", cpu_mask());
  tree_.put(at + "/max_link_speed", pci_speed(f.generation));
  tree_.put(at + "/current_link_speed", pci_speed(f.generation));
  tree_.put(at + "/max_link_width", fmt::format("{}", f.lanes));
  tree_.put(at + "/current_link_width", fmt::format("{}", f.lanes));
  tree_.put(at + "/modalias",
            fmt::format("pci:v{:08X}d{:08X}sv{:08X}sd{:08X}bc{:02X}sc{:02X}i{:02X}", f.vendor, f.device, f.vendor,
                        f.device, f.class_code >> 16, f.class_code >> 8 & 0xff, f.class_code & 0xff));
  tree_.put(
      at + "/uevent",
      fmt::format("DRIVER={}\nPCI_CLASS={:X}\nPCI_ID={:04X}:{:04X}\nPCI_SUBSYS_ID={:04X}:{:04X}\nPCI_SLOT_NAME={}",
                  driver, f.class_code, f.vendor, f.device, f.vendor, f.device, name));
  tree_.put_bytes(at + "/resource", pci_resources(f));
  tree_.put_bytes(at + "/config", pci_config(f));
  tree_.link(at + "/subsystem", "sys/bus/pci");
  tree_.link(at + "/driver", "sys/bus/pci/drivers/" + driver);
  tree_.link("sys/bus/pci/devices/" + name, at);
  tree_.link("sys/bus/pci/drivers/" + driver + "/" + name, at);
  tree_.put_bytes(fmt::format("proc/bus/pci/{:02x}/{:02x}.{:x}", f.bus, f.slot, f.function), pci_config(f));
}

void NodeTree::write_pci() {
  tree_.folder("sys/bus/pci/devices");
  tree_.folder("sys/bus/pci/slots");
  tree_.put_bytes("proc/bus/pci/devices", "");
  std::set<std::uint32_t> cards;
  for (const NodePort& port : ports_) {
    std::size_t functions = 0;
    for (const NodePort& other : ports_) functions += other.ref.nic == port.ref.nic ? 1 : 0;
    const std::string root = "sys/devices/pci0000:00/" + root_port_name(port.ref.nic);
    if (cards.insert(port.ref.nic).second) write_function(root, root_port_of(port), "pcieport");
    write_function(pci_folder(port), function_of(port, functions), port.netdev_driver());
  }
}

void NodeTree::write_netdev(const NodePort& port) {
  const std::string device = pci_folder(port), at = device + "/net/" + port.netdev;
  const auto put = [&](const char* name, const std::string& text) { tree_.put(at + "/" + name, text); };
  put("address", mac_text(port.mac));
  put("addr_assign_type", "0");
  put("addr_len", "6");
  put("broadcast", "ff:ff:ff:ff:ff:ff");
  put("dev_id", "0x0");
  put("dev_port", fmt::format("{}", port.is_mlx5() ? 0 : port.ref.port));
  put("dormant", "0");
  put("flags", "0x1003");
  put("ifalias", "");
  put("ifindex", fmt::format("{}", port.index));
  put("iflink", fmt::format("{}", port.index));
  put("link_mode", "0");
  put("name_assign_type", "4");
  put("netdev_group", "0");
  put("phys_port_name", fmt::format("p{}", port.ref.port));
  put("tx_queue_len", "1000");
  put("type", "1");
  put("uevent", fmt::format("INTERFACE={}\nIFINDEX={}", port.netdev, port.index));
  tree_.link(at + "/device", device);
  tree_.link(at + "/subsystem", "sys/class/net");
  tree_.link("sys/class/net/" + port.netdev, at);
}

void NodeTree::write_loopback() {
  const std::string at = "sys/devices/virtual/net/lo";
  const std::pair<const char*, const char*> files[] = {{"address", "00:00:00:00:00:00"},
                                                       {"addr_len", "6"},
                                                       {"carrier", "1"},
                                                       {"flags", "0x9"},
                                                       {"ifindex", "1"},
                                                       {"iflink", "1"},
                                                       {"mtu", "65536"},
                                                       {"type", "772"},
                                                       {"operstate", "unknown"},
                                                       {"tx_queue_len", "1000"},
                                                       {"dormant", "0"},
                                                       {"link_mode", "0"},
                                                       {"uevent", "INTERFACE=lo\nIFINDEX=1"}};
  for (const auto& [name, text] : files) tree_.put(at + "/" + name, text);
  for (const char* name : {"rx_packets", "rx_bytes", "tx_packets", "tx_bytes", "rx_errors", "tx_errors", "rx_dropped",
                           "tx_dropped", "multicast", "collisions"})
    tree_.put(at + "/statistics/" + name, "0");
  tree_.link(at + "/subsystem", "sys/class/net");
  tree_.link("sys/class/net/lo", at);
}

void NodeTree::refresh(lab::World& world, const Node& node, Time_ps now_ps) {
  std::vector<InterfaceCounters> all;
  for (const NodePort& port : ports_) {
    const lab::PortOutcome counted = count(world, port, now_ps);
    all.push_back(interface_counters(counted));
    const bool up = is_link_up(world, port.port, now_ps);
    refresh_netdev(world, port, counted, up);
    refresh_rdma(world, port, counted, up);
  }
  refresh_system(all);
  refresh_network(node, all);
}

void NodeTree::refresh_netdev(const lab::World& world, const NodePort& port, const lab::PortOutcome& counted, bool up) {
  const std::string at = pci_folder(port) + "/net/" + port.netdev;
  tree_.put(at + "/mtu", fmt::format("{}", port.mtu_B(world)));
  tree_.put(at + "/operstate", up ? "up" : "down");
  tree_.put(at + "/carrier", up ? "1" : "0");
  const std::uint64_t downs = counted.counters.link_down_events_phy, ups = 1 + downs - (up ? 0 : 1);
  tree_.put(at + "/carrier_up_count", fmt::format("{}", ups));
  tree_.put(at + "/carrier_down_count", fmt::format("{}", downs));
  tree_.put(at + "/carrier_changes", fmt::format("{}", ups + downs));
  tree_.put(at + "/speed", up ? fmt::format("{}", counted.rate_bps / 1'000'000) : "-1");
  tree_.put(at + "/duplex", up ? "full" : "unknown");
  const InterfaceCounters c = interface_counters(counted);
  const std::pair<const char*, std::uint64_t> files[] = {
      {"rx_packets", c.rx_packets},      {"rx_bytes", c.rx_bytes},   {"tx_packets", c.tx_packets},
      {"tx_bytes", c.tx_bytes},          {"rx_errors", c.rx_errors}, {"rx_dropped", c.rx_dropped},
      {"rx_crc_errors", c.rx_crc_errors}};
  for (const auto& [name, value] : files) tree_.put(at + "/statistics/" + name, fmt::format("{}", value));
  for (const char* name :
       {"tx_errors", "tx_dropped", "multicast", "collisions", "rx_length_errors", "rx_over_errors", "rx_frame_errors",
        "rx_fifo_errors", "rx_missed_errors", "tx_aborted_errors", "tx_carrier_errors", "tx_fifo_errors",
        "tx_heartbeat_errors", "tx_window_errors", "rx_compressed", "tx_compressed", "rx_nohandler"})
    tree_.put(at + "/statistics/" + name, "0");
}

}  // namespace weft::live
