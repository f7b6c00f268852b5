#include "nccl/text/topology_xml.h"

#include <fmt/format.h>

#include <algorithm>

#include "nccl/decide/net_devices.h"

namespace weft::nccl {

namespace {

constexpr std::string_view kSpeeds[] = {
    "", "2.5 GT/s PCIe", "5.0 GT/s PCIe", "8.0 GT/s PCIe", "16.0 GT/s PCIe", "32.0 GT/s PCIe", "64.0 GT/s PCIe"};

class Exporter {
 public:
  Exporter(const Machine& machine, const Node& node) : machine_(machine), node_(node), topology_(*node.topology) {}

  XmlElement system() {
    XmlElement top;
    top.name = "system";
    top.set("version", "1");
    for (std::uint32_t i = 0; i < topology_.cpus.size(); ++i) {
      XmlElement& cpu = top.add("cpu");
      cpu.set("numaid", std::to_string(i));
      set_cpu(i, cpu);
      add_below(-1, i, cpu);
    }
    return top;
  }

 private:
  void set_cpu(std::uint32_t index, XmlElement& cpu) {
    if (index < machine_.layout.nodes.size()) {
      std::string list;
      for (const auto& range : machine_.layout.nodes[index].cpus)
        list += fmt::format("{}{}-{}", list.empty() ? "" : ",", range.front(), range.back());
      if (!list.empty()) cpu.set("affinity", list);
    }
    const CpuKind& kind = topology_.cpu;
    cpu.set("arch", kind.arch == CpuArch::kArm ? "arm64" : kind.arch == CpuArch::kPower ? "ppc64" : "x86_64");
    if (kind.arch != CpuArch::kX86) return;
    const bool intel = kind.vendor == CpuVendor::kIntel;
    cpu.set("vendor", intel ? "GenuineIntel" : kind.vendor == CpuVendor::kAmd ? "AuthenticAMD" : "CentaurHauls");
    // Broadwell, Skylake, Sapphire Rapids, Emerald Rapids; AMD's are not told apart.
    constexpr std::uint32_t kModels[] = {0x4f, 0x4f, 0x55, 0x8f, 0xcf};
    cpu.set("familyid", intel ? "6" : "25");
    cpu.set("modelid", std::to_string(intel ? kModels[std::min(kind.model, 4U)] : 1));
  }

  static void set_pci(std::uint64_t bus, std::string_view device_class, std::uint32_t generation, std::uint32_t lanes,
                      XmlElement& pci) {
    pci.set("busid", bus_id_text(bus));
    pci.set("class", std::string(device_class));
    pci.set("link_speed", std::string(kSpeeds[std::min(generation, 6U)]));
    pci.set("link_width", std::to_string(lanes));
  }

  // Devices below a slot with a switch, or in the root ports of a node.
  void add_below(std::int32_t parent, std::uint32_t node, XmlElement& to) {
    const host::Layout& layout = machine_.layout;
    for (std::uint32_t i = 0; i < layout.slots.size(); ++i) {
      const host::PcieSlot& slot = layout.slots[i];
      if (slot.parent != parent || (parent < 0 && std::min<std::size_t>(slot.node, topology_.cpus.size() - 1) != node))
        continue;
      if (layout.is_switch(i)) {
        XmlElement& pci = to.add("pci");
        set_pci(std::uint64_t{0x10 + switches_++} << 12, "0x060400", slot.generation, slot.lanes, pci);
        add_below(static_cast<std::int32_t>(i), node, pci);
      } else {
        add_devices(i, to);
      }
    }
    if (parent >= 0) return;
    // Without a slot: on the CPU that the topology has put them on.
    for (std::uint32_t g = 0; g < topology_.gpus.size(); ++g) {
      const host::GpuPlace& place = machine_.places.gpus[topology_.gpus[g].device];
      if (!place.slot && topology_.local_cpu(g) == node) add_gpu(g, 0, 0, to);
    }
    for (std::uint32_t n = 0; n < topology_.nets.size() && node == 0; ++n) {
      if (!machine_.nics[topology_.nets[n].nics.front()].slot) add_nic(n, 0, 0, to);
    }
  }

  void add_devices(std::uint32_t slot, XmlElement& to) {
    const host::PcieSlot& place = machine_.layout.slots[slot];
    for (std::uint32_t g = 0; g < topology_.gpus.size(); ++g) {
      if (machine_.places.gpus[topology_.gpus[g].device].slot == slot) add_gpu(g, place.generation, place.lanes, to);
    }
    for (std::uint32_t n = 0; n < topology_.nets.size(); ++n) {
      if (machine_.nics[topology_.nets[n].nics.front()].slot == slot) add_nic(n, place.generation, place.lanes, to);
    }
  }

  static std::uint32_t lesser(std::uint32_t of_slot, std::uint32_t of_card) {
    return of_slot == 0 ? of_card : of_card == 0 ? of_slot : std::min(of_slot, of_card);
  }

  void add_gpu(std::uint32_t index, std::uint32_t generation, std::uint32_t lanes, XmlElement& to) {
    const TopologyGpu& gpu = topology_.gpus[index];
    const host::GpuModel& model = machine_.places.gpus[gpu.device].model;
    XmlElement& pci = to.add("pci");
    set_pci(gpu_bus_id(gpu.device), "0x030200", lesser(generation, model.pcie_generation),
            lesser(lanes, model.pcie_lanes), pci);
    XmlElement& element = pci.add("gpu");
    element.set("dev", std::to_string(gpu.device));
    element.set("sm", std::to_string(gpu.compute_capability));
    element.set("rank", std::to_string(node_.ranks[index]));
    element.set("gdr", gpu.gdr ? "1" : "0");
    for (std::uint32_t id : topology_.nodes[gpu.node].links) {
      const TopologyLink& link = topology_.links[id];
      if (link.type != PathType::kNvl) continue;
      const TopologyNode& other = topology_.nodes[link.to];
      const bool hub = other.kind == NodeKind::kNvSwitch;
      XmlElement& nvlink = element.add("nvlink");
      nvlink.set("target", hub ? "fffffff:ffff:ff" : bus_id_text(other.id));
      nvlink.set("count", fmt::format("{:.0f}", link.bandwidth_GBps / gpu.link_GBps));
      nvlink.set("tclass", hub ? "0x068000" : "0x030200");
    }
  }

  void add_nic(std::uint32_t index, std::uint32_t generation, std::uint32_t lanes, XmlElement& to) {
    const NetDevice& net = topology_.nets[index];
    const std::uint32_t first = net.nics.front();
    const Nic& nic = machine_.nics[first];
    XmlElement& pci = to.add("pci");
    set_pci(nic_bus_id(machine_, first), "0x020000", lesser(generation, nic.pcie_generation),
            lesser(lanes, nic.pcie_lanes), pci);
    XmlElement& element = pci.add("nic").add("net");
    element.set("name", net.name);
    element.set("dev", std::to_string(index));
    element.set("latency", "0");
    element.set("speed", fmt::format("{:.0f}", net.bandwidth_GBps * 8000));
    element.set("port", std::to_string(net.port));
    element.set("guid", fmt::format("0x{:x}", net.guid));
    element.set("maxconn", net.socket ? "65536" : "131072");
    element.set("gdr", net.gdr ? "1" : "0");
  }

  const Machine& machine_;
  const Node& node_;
  const Topology& topology_;
  std::uint32_t switches_ = 0;
};

}  // namespace

std::string topology_xml(const Cluster& cluster, const Communicator& communicator, std::uint32_t rank) {
  const Node& node = communicator.nodes()[communicator.node_of(rank)];
  return write_xml(Exporter(cluster.machines[node.machine], node).system());
}

}  // namespace weft::nccl
