#include "nccl/decide/topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "nccl/decide/environment.h"
#include "nccl/decide/net_devices.h"

namespace weft::nccl {

namespace {

struct CpuWord {
  std::string_view word;
  CpuKind kind;
};
// Bandwidth between sockets: [nccl] graph/topo.h.
constexpr CpuWord kCpuWords[] = {
    {"intel-broadwell", {CpuArch::kX86, CpuVendor::kIntel, 1, 6.0}},
    {"intel-skylake", {CpuArch::kX86, CpuVendor::kIntel, 2, 10.0}},
    {"intel-sapphire-rapids", {CpuArch::kX86, CpuVendor::kIntel, 3, 22.0}},
    {"intel-emerald-rapids", {CpuArch::kX86, CpuVendor::kIntel, 4, 40.0}},
    {"amd", {CpuArch::kX86, CpuVendor::kAmd, 0, 16.0}},
    {"zhaoxin", {CpuArch::kX86, CpuVendor::kZhaoxin, 0, 6.0}},
    {"power9", {CpuArch::kPower, CpuVendor::kNone, 0, 32.0}},
    {"arm", {CpuArch::kArm, CpuVendor::kNone, 0, 6.0}},
};

constexpr double kOnDieBandwidth_GBps = 5000.0;

}  // namespace

std::string_view to_string(PathType type) {
  constexpr std::string_view kNames[] = {"LOC", "NVL", "NVB", "C2C", "PIX", "PXB",
                                         "P2C", "PXN", "PHB", "SYS", "NET", "DIS"};
  return kNames[static_cast<std::size_t>(type)];
}

bool is_cpu_kind(std::string_view word) {
  return std::ranges::any_of(kCpuWords, [&](const CpuWord& each) { return each.word == word; });
}

CpuKind cpu_kind(std::string_view word) {
  const auto found = std::ranges::find(kCpuWords, word, &CpuWord::word);
  return found == std::end(kCpuWords) ? CpuKind{} : found->kind;
}

GpuFabric gpu_fabric(const Machine& machine) {
  std::string_view word = machine.places.gpu_fabric;
  if (word.empty()) word = machine.gpu_fabric;
  if ((word.empty() || word == "as-gpu") && !machine.places.gpus.empty())
    word = machine.places.gpus.front().model.gpu_fabric;
  if (word == "nvswitch") return GpuFabric::kNvSwitch;
  if (word == "mesh") return GpuFabric::kMesh;
  return word == "pairs" ? GpuFabric::kPairs : GpuFabric::kNone;
}

double pcie_bandwidth_GBps(std::uint32_t generation, std::uint32_t lanes) {
  // In 100 Mb/s for one lane. Where /sys says nothing NCCL takes 3.0 x16.
  constexpr double kLane[] = {60, 15, 30, 60, 120, 240, 480};
  return (lanes == 0 ? 16 : lanes) * kLane[std::min<std::size_t>(generation, 6)] / 80.0;
}

std::uint64_t gpu_bus_id(std::uint32_t device) {
  return std::uint64_t{0x81 + device} << 12;
}

std::string bus_id_text(std::uint64_t id) {
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", id >> 20, (id >> 12) & 0xff, (id >> 4) & 0xff, id & 0xf);
}

Topology::Topology(const Machine& machine, std::vector<std::uint32_t> devices, bool has_peers,
                   const Environment& environment)
    : cpu(cpu_kind(machine.cpu_kind)), inter(has_peers), environment_(environment) {
  add_layout(machine);
  add_gpus(machine, devices);
  add_gpu_links(machine);
  add_nets(machine);
  find_paths();
  set_search_limits();
}

std::uint32_t Topology::add_node(NodeKind kind, std::uint32_t index, std::uint64_t id) {
  nodes.push_back({kind, index, id, {}});
  return static_cast<std::uint32_t>(nodes.size() - 1);
}

void Topology::connect(std::uint32_t a, std::uint32_t b, PathType type, double bandwidth_GBps) {
  const auto first = static_cast<std::uint32_t>(links.size());
  links.push_back({type, a, b, bandwidth_GBps});
  links.push_back({type, b, a, bandwidth_GBps});
  nodes[a].links.push_back(first);
  nodes[b].links.push_back(first + 1);
}

void Topology::add_layout(const Machine& machine) {
  const host::Layout& layout = machine.layout;
  for (std::uint32_t i = 0; i < std::max<std::size_t>(layout.nodes.size(), 1); ++i)
    cpus.push_back(add_node(NodeKind::kCpu, i, i));
  // A slot with a switch in it is a PCI node; what else is plugged into a root port is on the CPU itself.
  slot_node_.resize(layout.slots.size());
  std::uint32_t switches = 0;
  for (std::uint32_t i = 0; i < layout.slots.size(); ++i) {
    const host::PcieSlot& slot = layout.slots[i];
    const std::uint32_t above = slot.parent < 0 ? cpus[std::min<std::size_t>(slot.node, cpus.size() - 1)]
                                                : slot_node_[static_cast<std::size_t>(slot.parent)];
    slot_node_[i] = above;
    if (!layout.is_switch(i)) continue;
    slot_node_[i] = add_node(NodeKind::kPci, switches, std::uint64_t{0x10 + switches} << 12);
    ++switches;
    connect(slot_node_[i], above, PathType::kPix, pcie_bandwidth_GBps(slot.generation, slot.lanes));
  }
}

void Topology::add_gpus(const Machine& machine, const std::vector<std::uint32_t>& devices) {
  const host::Layout& layout = machine.layout;
  for (std::uint32_t device : devices) {
    const host::GpuPlace& place = machine.places.gpus[device];
    const host::GpuModel& model = place.model;
    TopologyGpu gpu;
    gpu.node = add_node(NodeKind::kGpu, static_cast<std::uint32_t>(gpus.size()), gpu_bus_id(device));
    gpu.device = device;
    gpu.compute_capability = model.compute_capability;
    gpu.link_GBps = static_cast<double>(model.nccl_link_rate_bps) / 8e9;
    gpu.gdr = machine.places.gpudirect && (model.peermem || model.dmabuf);
    gpu.peer_to_peer = model.peermem || model.dmabuf;
    std::uint32_t above = cpus.front();
    double bandwidth_GBps = pcie_bandwidth_GBps(model.pcie_generation, model.pcie_lanes);
    if (place.slot) {
      const host::PcieSlot& slot = layout.slots[*place.slot];
      above = slot_node_[*place.slot];
      bandwidth_GBps = std::min(bandwidth_GBps, pcie_bandwidth_GBps(slot.generation, slot.lanes));
    } else if (!machine.nics.empty() && machine.nics.front().slot) {
      above = cpus[std::min<std::size_t>(layout.slots[*machine.nics.front().slot].node, cpus.size() - 1)];
    }
    connect(gpu.node, above, PathType::kPix, bandwidth_GBps);
    gpus.push_back(gpu);
  }
}

void Topology::add_gpu_links(const Machine& machine) {
  const GpuFabric fabric = gpu_fabric(machine);
  const auto links_of = [&](std::size_t gpu) { return machine.places.gpus[gpus[gpu].device].model.links; };
  const bool joined = std::ranges::any_of(
      gpus, [&](const TopologyGpu& gpu) { return machine.places.gpus[gpu.device].model.links > 0; });
  if (!joined) return;
  if (fabric == GpuFabric::kNvSwitch) {
    nvswitch = static_cast<std::int32_t>(add_node(NodeKind::kNvSwitch, 0, 0));
    for (std::size_t i = 0; i < gpus.size(); ++i)
      connect(gpus[i].node, static_cast<std::uint32_t>(nvswitch), PathType::kNvl, links_of(i) * gpus[i].link_GBps);
    return;
  }
  const std::size_t in_machine = machine.places.gpus.size();
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    for (std::size_t j = i + 1; j < gpus.size(); ++j) {
      const std::uint32_t links_each = std::min(links_of(i), links_of(j));
      std::size_t shared = 0;
      if (fabric == GpuFabric::kMesh) shared = links_each / std::max<std::size_t>(in_machine - 1, 1);
      if (fabric == GpuFabric::kPairs && gpus[i].device / 2 == gpus[j].device / 2) shared = links_each;
      if (shared > 0)
        connect(gpus[i].node, gpus[j].node, PathType::kNvl,
                static_cast<double>(shared) * std::min(gpus[i].link_GBps, gpus[j].link_GBps));
    }
  }
}

void Topology::add_nets(const Machine& machine) {
  nets = find_net_devices(machine, environment_);
  const host::Layout& layout = machine.layout;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> cards;  // by bus id without the function
  for (std::uint32_t i = 0; i < nets.size(); ++i) {
    const Nic& nic = machine.nics[nets[i].nics.front()];
    const std::uint64_t card = nic_bus_id(machine, nets[i].nics.front()) & ~std::uint64_t{0xf};
    auto found = std::ranges::find(cards, card, &std::pair<std::uint64_t, std::uint32_t>::first);
    if (found == cards.end()) {
      const std::uint32_t node = add_node(NodeKind::kNic, static_cast<std::uint32_t>(cards.size()), card);
      std::uint32_t above = cpus.front();
      double bandwidth_GBps = pcie_bandwidth_GBps(nic.pcie_generation, nic.pcie_lanes);
      if (nic.slot) {
        const host::PcieSlot& slot = layout.slots[*nic.slot];
        above = slot_node_[*nic.slot];
        const double slot_GBps = pcie_bandwidth_GBps(slot.generation, slot.lanes);
        bandwidth_GBps = nic.pcie_generation == 0 ? slot_GBps : std::min(bandwidth_GBps, slot_GBps);
      }
      connect(node, above, PathType::kPix, bandwidth_GBps);
      cards.emplace_back(card, node);
      found = cards.end() - 1;
    }
    nets[i].node = add_node(NodeKind::kNet, i, i);
    connect(found->second, nets[i].node, PathType::kNet, nets[i].bandwidth_GBps);
  }
  // Sockets join CPUs last, as NCCL does.
  for (std::uint32_t a : cpus) {
    for (std::uint32_t b : cpus) {
      if (a < b) connect(a, b, PathType::kSys, cpu.socket_bandwidth_GBps);
    }
  }
}

void Topology::set_search_limits() {
  if (!inter && gpus.size() == 1) {
    max_bandwidth_GBps = total_bandwidth_GBps = kOnDieBandwidth_GBps;
    return;
  }
  for (std::uint32_t gpu = 0; gpu < gpus.size(); ++gpu) {
    for (std::uint32_t other = 0; other < (inter ? nets.size() : gpus.size()); ++other) {
      if (!inter && other == gpu) continue;
      const Path& way = inter ? gpu_to_net(gpu, other) : gpu_to_gpu(gpu, other);
      max_bandwidth_GBps = std::max(max_bandwidth_GBps, way.bandwidth_GBps);
    }
    double nvlink_GBps = 0, pcie_GBps = 0;
    for (std::uint32_t id : nodes[gpus[gpu].node].links) {
      if (links[id].type == PathType::kNvl) nvlink_GBps += links[id].bandwidth_GBps;
      if (links[id].type == PathType::kPix) pcie_GBps = links[id].bandwidth_GBps;
    }
    total_bandwidth_GBps = std::max(total_bandwidth_GBps, std::max(pcie_GBps, nvlink_GBps));
  }
}

std::uint32_t Topology::min_compute_capability() const {
  std::uint32_t least = 999;
  for (const TopologyGpu& gpu : gpus) least = std::min(least, gpu.compute_capability);
  return least;
}

}  // namespace weft::nccl
