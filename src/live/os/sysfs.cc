#include "live/os/sysfs.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "nic/pcie.h"

namespace weft::live {

namespace {

namespace fs = std::filesystem;

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
constexpr SpeedName kSpeedNames[] = {
    {4, "QDR", 10}, {8, "FDR10", 10}, {32, "EDR", 25}, {64, "HDR", 50}, {128, "NDR", 100}};

std::string rate_text(const verbs::DeviceInfo& device) {
  // ibv_port_attr's width: 1, 2, 4, 8 stand for 1X, 4X, 8X, 12X.
  int lanes = device.active_width == 1 ? 1 : (device.active_width == 2 ? 4 : 8);
  for (const SpeedName& each : kSpeedNames) {
    if (each.code == device.active_speed)
      return fmt::format("{} Gb/sec ({}X {})", each.lane_Gbps * lanes, lanes, each.name);
  }
  return "0 Gb/sec";
}

class Tree {
 public:
  explicit Tree(fs::path root) : root_(std::move(root)) {}
  void put(const std::string& path, const std::string& text) {
    std::error_code error;
    fs::create_directories((root_ / path).parent_path(), error);
    std::ofstream out(root_ / path);
    out << text << '\n';
    good_ = good_ && out.good();
  }
  bool good() const { return good_; }

 private:
  fs::path root_;
  bool good_ = true;
};

}  // namespace

bool write_sysfs(const std::string& directory, const std::vector<verbs::DeviceInfo>& devices, const std::string& node) {
  Tree tree(directory);
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const verbs::DeviceInfo& device = devices[i];
    std::string at = fmt::format("class/infiniband/{}/", device.name);
    tree.put(at + "node_type", "1: CA");
    tree.put(at + "node_guid", guid_text(device.node_guid));
    tree.put(at + "sys_image_guid", guid_text(device.system_guid));
    tree.put(at + "node_desc", fmt::format("{} {}", node, device.name));
    tree.put(at + "fw_ver", device.firmware);
    tree.put(at + "hca_type", fmt::format("MT{}", device.vendor_part_id));
    tree.put(at + "hw_rev", fmt::format("{:x}", device.hw_ver));
    tree.put(at + "device/numa_node", fmt::format("{}", device.numa_node));
    tree.put(at + "device/vendor", "0x15b3");
    tree.put(at + "device/device", fmt::format("0x{:04x}", device.vendor_part_id));
    tree.put(at + "device/class", "0x020000");
    tree.put(at + "device/max_link_speed",
             fmt::format("{:.1f} GT/s PCIe",
                         static_cast<double>(nic::pcie_megatransfers_per_s(device.pcie_generation)) / 1000));
    tree.put(at + "device/max_link_width", fmt::format("{}", device.pcie_lanes));
    tree.put(at + fmt::format("device/net/{}/type", device.netdev), "1");
    std::string port = at + "ports/1/";
    tree.put(port + "state", "4: ACTIVE");
    tree.put(port + "phys_state", "5: LinkUp");
    tree.put(port + "rate", rate_text(device));
    tree.put(port + "link_layer", "Ethernet");
    tree.put(port + "lid", "0x0");
    tree.put(port + "sm_lid", "0x0");
    tree.put(port + "sm_sl", "0");
    tree.put(port + "lid_mask_count", "0");
    tree.put(port + "cap_mask", "0x00010000");
    tree.put(port + "pkeys/0", "0xffff");
    for (std::uint32_t g = 0; g < device.gid_count && g < verbs::kMaxGids; ++g) {
      tree.put(port + fmt::format("gids/{}", g), gid_text(device.gids[g]));
      tree.put(port + fmt::format("gid_attrs/types/{}", g), device.gids[g].type == 2 ? "RoCE v2" : "IB/RoCE v1");
      tree.put(port + fmt::format("gid_attrs/ndevs/{}", g), device.netdev);
    }
    std::string uverbs = fmt::format("class/infiniband_verbs/uverbs{}/", i);
    tree.put(uverbs + "ibdev", device.name);
    tree.put(uverbs + "abi_version", "1");
    tree.put(uverbs + "device/numa_node", fmt::format("{}", device.numa_node));
    tree.put(fmt::format("dev/infiniband/uverbs{}", i), "");
  }
  tree.put("class/infiniband_verbs/abi_version", "6");
  return tree.good();
}

void write_port_state(const std::string& directory, const std::string& device, bool up) {
  Tree tree(directory);
  const std::string port = fmt::format("class/infiniband/{}/ports/1/", device);
  tree.put(port + "state", up ? "4: ACTIVE" : "1: DOWN");
  tree.put(port + "phys_state", up ? "5: LinkUp" : "3: Disabled");
}

void write_counters(const std::string& directory, host::Host& host) {
  Tree tree(directory);
  for (std::uint32_t i = 0; i < host.device_count(); ++i) {
    const nic::Device& device = host.device(i);
    for (const nic::NamedCounter& each : nic::named(device.counters)) {
      if (each.group != nic::CounterGroup::kHardware) continue;
      tree.put(fmt::format("class/infiniband/{}/ports/1/hw_counters/{}", device.name(), each.name),
               fmt::format("{}", each.value));
    }
  }
}

}  // namespace weft::live
