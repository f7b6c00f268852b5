// RDMA devices of a node's tree: /sys/class/infiniband, /sys/class/infiniband_verbs, /dev/infiniband.
#include <fmt/format.h>

#include "live/view/node_tree.h"
#include "results/counters/driver_counters.h"

namespace weft::live {

namespace {

std::string guid_text(std::uint64_t guid) {
  return fmt::format("{:04x}:{:04x}:{:04x}:{:04x}", guid >> 48, guid >> 32 & 0xffff, guid >> 16 & 0xffff,
                     guid & 0xffff);
}

std::string gid_text(const verbs::Gid& gid) {
  std::string text;
  for (std::size_t i = 0; i < 16; i += 2)
    text += fmt::format("{}{:02x}{:02x}", i == 0 ? "" : ":", gid.raw[i], gid.raw[i + 1]);
  return text;
}

struct SpeedName {
  std::uint32_t code;
  const char* name;
  double lane_Gbps;
};
constexpr SpeedName kSpeedNames[] = {{1, "SDR", 2.5}, {4, "QDR", 10},  {8, "FDR10", 10},
                                     {32, "EDR", 25}, {64, "HDR", 50}, {128, "NDR", 100}};

std::string rate_text(const verbs::DeviceInfo& device) {
  // ibv_port_attr's width: 1, 2, 4, 8 stand for 1X, 4X, 8X, 12X.
  int lanes = device.active_width == 1 ? 1 : (device.active_width == 2 ? 4 : 8);
  for (const SpeedName& each : kSpeedNames) {
    if (each.code == device.active_speed)
      return fmt::format("{} Gb/sec ({}X {})", each.lane_Gbps * lanes, lanes, each.name);
  }
  return "0 Gb/sec";
}

}  // namespace

void NodeTree::write_rdma(const NodePort& port) {
  const verbs::DeviceInfo& device = port.info;
  const std::string pci = pci_folder(port), at = pci + "/infiniband/" + port.rdma + "/";
  tree_.put(at + "node_type", "1: CA");
  tree_.put(at + "node_guid", guid_text(device.node_guid));
  tree_.put(at + "sys_image_guid", guid_text(device.system_guid));
  tree_.put(at + "node_desc", fmt::format("{} {}", node_, port.rdma));
  tree_.put(at + "fw_ver", device.firmware);
  if (port.is_mlx5()) tree_.put(at + "hca_type", fmt::format("MT{}", device.vendor_part_id));
  tree_.put(at + "hw_rev", fmt::format("{:x}", device.hw_ver));
  tree_.put(at + "uevent", fmt::format("NAME={}", port.rdma));
  tree_.link(at + "device", pci);
  tree_.link(at + "subsystem", "sys/class/infiniband");
  tree_.link("sys/class/infiniband/" + port.rdma, pci + "/infiniband/" + port.rdma);
  const std::string one = at + "ports/1/";
  tree_.put(one + "link_layer", "Ethernet");
  tree_.put(one + "lid", "0x0");
  tree_.put(one + "sm_lid", "0x0");
  tree_.put(one + "sm_sl", "0");
  tree_.put(one + "lid_mask_count", "0");
  tree_.put(one + "cap_mask", "0x00010000");
  tree_.put(one + "pkeys/0", "0xffff");
  for (std::uint32_t g = 0; g < device.gid_count && g < verbs::kMaxGids; ++g) {
    tree_.put(one + fmt::format("gids/{}", g), gid_text(device.gids[g]));
    tree_.put(one + fmt::format("gid_attrs/types/{}", g), device.gids[g].type == 2 ? "RoCE v2" : "IB/RoCE v1");
    tree_.put(one + fmt::format("gid_attrs/ndevs/{}", g), port.netdev);
  }
  const std::string uverbs = fmt::format("uverbs{}", port.device), verbs_at = pci + "/infiniband_verbs/" + uverbs;
  tree_.put(verbs_at + "/ibdev", port.rdma);
  tree_.put(verbs_at + "/abi_version", "1");
  tree_.put(verbs_at + "/dev", fmt::format("231:{}", 192 + port.device));
  tree_.put(verbs_at + "/uevent", fmt::format("MAJOR=231\nMINOR={}\nDEVNAME=infiniband/{}", 192 + port.device, uverbs));
  tree_.link(verbs_at + "/device", pci);
  tree_.link(verbs_at + "/subsystem", "sys/class/infiniband_verbs");
  tree_.link("sys/class/infiniband_verbs/" + uverbs, verbs_at);
  tree_.put_bytes("dev/infiniband/" + uverbs, "");
}

void NodeTree::refresh_rdma(const lab::World& world, const NodePort& port, const lab::PortOutcome& counted, bool up) {
  const std::string one = pci_folder(port) + "/infiniband/" + port.rdma + "/ports/1/";
  tree_.put(one + "state", up ? "4: ACTIVE" : "1: DOWN");
  tree_.put(one + "phys_state", up ? "5: LinkUp" : "3: Disabled");
  verbs::DeviceInfo info = port.info;
  describe_link(world, port.port, up, info);
  tree_.put(one + "rate", rate_text(info));
  for (const lab::DriverCounter& each : driver_counters(counted, port.model->driver, port.config->address.is_v4)) {
    if (each.group == nic::CounterGroup::kHardware)
      tree_.put(one + "hw_counters/" + each.name, fmt::format("{}", each.value));
  }
  // As the driver of MLNX_OFED has it: the ToS byte of queue pairs that ask for none.
  if (port.is_mlx5())
    tree_.put(pci_folder(port) + "/infiniband/" + port.rdma + "/tc/1/traffic_class",
              fmt::format("Global tclass={}", world.port_settings().tos(port.ref)));
  if (!port.is_mlx5()) return;  // irdma answers no performance management
  const nic::Counters& c = counted.counters;
  const std::uint64_t zero = 0;
  const std::pair<const char*, std::uint64_t> files[] = {{"port_xmit_data", c.tx().bytes / 4},
                                                         {"port_rcv_data", c.rx().bytes / 4},
                                                         {"port_xmit_packets", c.tx().packets},
                                                         {"port_rcv_packets", c.rx().packets},
                                                         {"unicast_xmit_packets", c.tx().packets},
                                                         {"unicast_rcv_packets", c.rx().packets},
                                                         {"multicast_xmit_packets", zero},
                                                         {"multicast_rcv_packets", zero},
                                                         {"port_rcv_errors", zero},
                                                         {"port_xmit_discards", zero},
                                                         {"port_xmit_wait", zero},
                                                         {"symbol_error", zero},
                                                         {"link_downed", c.link_down_events_phy},
                                                         {"link_error_recovery", zero},
                                                         {"local_link_integrity_errors", zero},
                                                         {"excessive_buffer_overrun_errors", zero},
                                                         {"port_rcv_constraint_errors", zero},
                                                         {"port_xmit_constraint_errors", zero},
                                                         {"port_rcv_remote_physical_errors", zero},
                                                         {"port_rcv_switch_relay_errors", zero},
                                                         {"VL15_dropped", zero}};
  for (const auto& [name, value] : files) tree_.put(one + "counters/" + name, fmt::format("{}", value));
}

}  // namespace weft::live
