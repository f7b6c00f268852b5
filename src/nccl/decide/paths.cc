// Best paths between the nodes of a machine, and what NCCL decides from them: peer to peer or through the CPU,
// GPUDirect or through host memory, over another GPU (PXN). After NCCL 2.30 graph/paths.cc.
#include <algorithm>
#include <numeric>
#include <utility>

#include "nccl/decide/environment.h"
#include "nccl/decide/topology.h"

namespace weft::nccl {

namespace {

constexpr double kNoLimit_GBps = 5000.0;
constexpr std::uint32_t kMaxChannels = 64;

// The type of a path that goes on over this link.
PathType extended(const Topology& topology, const Path& so_far, const TopologyLink& link) {
  const NodeKind from = topology.nodes[link.from].kind, to = topology.nodes[link.to].kind;
  PathType type = link.type == PathType::kNet ? PathType::kLoc : link.type;
  if (from == NodeKind::kPci && to == NodeKind::kPci) type = PathType::kPxb;
  if (link.type == PathType::kPix && (from == NodeKind::kCpu || to == NodeKind::kCpu)) type = PathType::kPhb;
  if (from == NodeKind::kGpu && so_far.type == PathType::kNvl && type == PathType::kNvl && !so_far.links.empty())
    type = PathType::kNvb;
  return std::max(so_far.type, type);
}

// A GPU forwards for others over NVLink alone, and at most once.
bool passes(const Topology& topology, std::uint32_t base, const Path& so_far, const TopologyLink& link,
            bool nvb_disabled) {
  if (link.from == base || topology.nodes[link.from].kind != NodeKind::kGpu) return true;
  const bool to_gpu = topology.nodes[link.to].kind == NodeKind::kGpu;
  return !nvb_disabled && link.type == PathType::kNvl && to_gpu && so_far.links.size() <= 1;
}

bool better(const Path& candidate, std::size_t hops, const Path& known) {
  if (candidate.type != known.type) return candidate.type < known.type;
  if (candidate.bandwidth_GBps != known.bandwidth_GBps) return candidate.bandwidth_GBps > known.bandwidth_GBps;
  return hops < known.links.size();
}

// Best of equal GPUs or devices: the most bandwidth, and among those the nearest.
template <class PathTo>
std::vector<std::uint32_t> best_of(std::size_t count, PathTo path_to) {
  std::vector<std::uint32_t> best;
  double bandwidth_GBps = 0;
  PathType type = PathType::kDis;
  for (std::uint32_t i = 0; i < count; ++i) {
    const Path& path = path_to(i);
    if (path.bandwidth_GBps > bandwidth_GBps || (path.bandwidth_GBps == bandwidth_GBps && path.type < type)) {
      bandwidth_GBps = path.bandwidth_GBps;
      type = path.type;
      best.clear();
    }
    if (path.bandwidth_GBps == bandwidth_GBps && path.type == type) best.push_back(i);
  }
  return best;
}

std::uint32_t mirrored(std::uint32_t value, std::uint32_t power_of_two) {
  std::uint32_t mirror = 0;
  for (std::uint32_t bit = 1, other = power_of_two >> 1; bit < power_of_two; bit <<= 1, other >>= 1) {
    if ((value & bit) != 0) mirror |= other;
  }
  return mirror;
}

}  // namespace

void Topology::find_paths_to(std::uint32_t base) {
  mutable_path(base, base) = {PathType::kLoc, kNoLimit_GBps, {}};
  std::vector<std::uint32_t> wave{base}, next;
  while (!wave.empty()) {
    next.clear();
    for (std::uint32_t node : wave) {
      for (std::uint32_t id : nodes[node].links) {
        const TopologyLink& link = links[id];
        const Path& here = path(node, base);
        if (!passes(*this, base, here, link, environment_.nvb_disable)) continue;
        Path candidate{extended(*this, here, link), std::min(here.bandwidth_GBps, link.bandwidth_GBps), {}};
        Path& there = mutable_path(link.to, base);
        if (link.to == base || !better(candidate, here.links.size() + 1, there)) continue;
        candidate.links = here.links;
        candidate.links.insert(candidate.links.begin(), id ^ 1);
        there = std::move(candidate);
        if (std::ranges::find(next, link.to) == next.end()) next.push_back(link.to);
      }
    }
    std::swap(wave, next);
  }
}

void Topology::find_paths() {
  paths_.assign(nodes.size() * nodes.size(), {});
  for (std::uint32_t node = 0; node < nodes.size(); ++node) {
    if (nodes[node].kind != NodeKind::kPci && nodes[node].kind != NodeKind::kNic) find_paths_to(node);
  }
  divert_peer_to_peer();
  find_net_paths();
  if (!nets.empty()) {
    std::vector<std::uint32_t> found;
    for (std::uint32_t gpu = 0; gpu < gpus.size(); ++gpu) {
      for (std::uint32_t channel = 0; channel < kMaxChannels; ++channel) found.push_back(find_local_net(gpu, channel));
    }
    local_nets_ = std::move(found);
  }
  for (std::uint32_t net = 0; net < nets.size(); ++net) nets[net].local_gpu = local_gpu(net);
}

void Topology::go_through(std::uint32_t middle, std::uint32_t from, std::uint32_t to, bool pxn) {
  const Path& first = path(from, middle);
  const Path& second = path(middle, to);
  Path whole{pxn ? PathType::kPxn : std::max(first.type, second.type),
             std::min(first.bandwidth_GBps, second.bandwidth_GBps), first.links};
  whole.links.insert(whole.links.end(), second.links.begin(), second.links.end());
  mutable_path(from, to) = std::move(whole);
}

bool Topology::peer_to_peer(std::uint32_t from, std::uint32_t to) const {
  if (from == to) return true;
  PathType level = PathType::kPxb;
  if (cpu.arch == CpuArch::kX86 && cpu.vendor == CpuVendor::kAmd && gpus.size() <= 2) level = PathType::kSys;
  level = environment_.p2p_level.value_or(level);
  const PathType type = gpu_to_gpu(from, to).type;
  if (type > level) return false;
  return type <= PathType::kNvb || (gpus[from].peer_to_peer && gpus[to].peer_to_peer);
}

std::uint32_t Topology::local_cpu(std::uint32_t gpu) const {
  const std::vector<std::uint32_t> near =
      best_of(cpus.size(), [&](std::uint32_t i) -> const Path& { return path(gpus[gpu].node, cpus[i]); });
  std::uint32_t best = near.front();
  for (std::uint32_t i : near) {
    if (path(gpus[gpu].node, cpus[i]).links.size() < path(gpus[gpu].node, cpus[best]).links.size()) best = i;
  }
  return best;
}

void Topology::divert_peer_to_peer() {
  for (std::uint32_t to = 0; to < gpus.size(); ++to) {
    for (std::uint32_t from = 0; from < gpus.size(); ++from) {
      const bool direct = peer_to_peer(from, to);
      if (!direct) go_through(cpus[local_cpu(to)], gpus[from].node, gpus[to].node, false);
      if (from == to) continue;
      if ((!direct && environment_.shm_disable) || network_is_faster(from, to))
        mutable_path(gpus[from].node, gpus[to].node).type = PathType::kNet;
    }
  }
}

// Two GPUs with nothing but the CPUs between them, each with a fast NIC below its own switch.
bool Topology::network_is_faster(std::uint32_t from, std::uint32_t to) const {
  const Path& way = gpu_to_gpu(from, to);
  if (environment_.net_disable_intra || way.type == PathType::kNvb) return false;
  const auto net_GBps = [&](std::uint32_t gpu) {
    double most = 0;
    for (std::uint32_t net = 0; net < nets.size(); ++net) {
      if (gpu_to_net(gpu, net).type <= PathType::kPxb) most = std::max(most, gpu_to_net(gpu, net).bandwidth_GBps);
    }
    return most;
  };
  return net_GBps(from) > way.bandwidth_GBps && net_GBps(to) > way.bandwidth_GBps;
}

std::vector<std::vector<std::uint32_t>> Topology::groups() const {
  std::vector<std::uint32_t> domain(gpus.size());
  std::iota(domain.begin(), domain.end(), 0);
  for (std::uint32_t gpu = 0; gpu < gpus.size(); ++gpu) {
    for (std::uint32_t other = 0; other < gpu; ++other) {
      if (gpu_to_gpu(gpu, other).type < PathType::kNet) domain[gpu] = std::min(domain[gpu], domain[other]);
    }
  }
  std::vector<std::vector<std::uint32_t>> result;
  for (std::uint32_t first = 0; first < gpus.size(); ++first) {
    std::vector<std::uint32_t> group;
    for (std::uint32_t gpu = 0; gpu < gpus.size(); ++gpu) {
      if (domain[gpu] == first) group.push_back(gpus[gpu].device);
    }
    if (!group.empty()) result.push_back(std::move(group));
  }
  return result;
}

bool Topology::gdr(std::uint32_t gpu, std::uint32_t net, bool read) const {
  if (!nets[net].gdr || !gpus[gpu].gdr) return false;
  if (read) {
    if (environment_.net_gdr_read == 0) return false;
    // Before Ampere, reads by a NIC are slow beside other PCIe traffic of the GPU.
    if (environment_.net_gdr_read < 0 && gpus[gpu].compute_capability < 80 && gpus.size() > 1) {
      bool nvlink = false;
      for (std::uint32_t other = 0; other < gpus.size(); ++other)
        nvlink |= other != gpu && gpu_to_gpu(gpu, other).type == PathType::kNvl;
      if (!nvlink) return false;
    }
  }
  const PathType usual = environment_.net_gdr_c2c ? PathType::kP2c : PathType::kPxb;
  const std::uint32_t through = intermediate_gpu(gpu, net);
  return gpu_to_net(through, net).type <= environment_.net_gdr_level.value_or(usual);
}

std::uint32_t Topology::intermediate_gpu(std::uint32_t gpu, std::uint32_t net) const {
  const Path& way = gpu_to_net(gpu, net);
  if (way.type != PathType::kPxn) return gpu;
  for (std::uint32_t id : way.links) {
    const TopologyNode& node = nodes[links[id].to];
    if (node.kind == NodeKind::kGpu) return node.index;
  }
  return gpu;
}

bool Topology::pxn_helps(std::uint32_t gpu, std::uint32_t peer, std::uint32_t net) const {
  const Path& own = gpu_to_net(gpu, net);
  const Path& of_peer = gpu_to_net(peer, net);
  return of_peer.type <= PathType::kP2c && gdr(peer, net, true) && gpu_to_gpu(peer, gpu).type <= PathType::kNvl &&
         (of_peer.bandwidth_GBps > own.bandwidth_GBps || own.type > PathType::kPxn);
}

void Topology::find_net_paths() {
  for (std::uint32_t net = 0; net < nets.size(); ++net) {
    for (std::uint32_t gpu = 0; gpu < gpus.size(); ++gpu) {
      if (!environment_.pxn_disable) {
        const std::int32_t near = local_gpu(net);
        const auto peer = static_cast<std::uint32_t>(near);
        if (near >= 0 && peer != gpu && pxn_helps(gpu, peer, net))
          go_through(gpus[peer].node, gpus[gpu].node, nets[net].node, true);
      }
      if (gpu_to_net(gpu, net).type < PathType::kPhb && !gdr(gpu, net, false)) {
        const std::uint32_t middle = cpus[local_cpu(gpu)];
        go_through(middle, nets[net].node, gpus[gpu].node, false);
        go_through(middle, gpus[gpu].node, nets[net].node, false);
      }
    }
  }
}

std::vector<std::uint32_t> Topology::nearest_nets(std::uint32_t gpu) const {
  return best_of(nets.size(), [&](std::uint32_t net) -> const Path& { return gpu_to_net(gpu, net); });
}

std::vector<std::uint32_t> Topology::nearest_gpus(std::uint32_t net) const {
  return best_of(gpus.size(), [&](std::uint32_t gpu) -> const Path& { return net_to_gpu(net, gpu); });
}

std::uint32_t Topology::local_net(std::uint32_t gpu, std::uint32_t channel) const {
  return local_nets_.empty() ? find_local_net(gpu, channel) : local_nets_[gpu * kMaxChannels + channel % kMaxChannels];
}

std::uint32_t Topology::find_local_net(std::uint32_t gpu, std::uint32_t channel) const {
  const std::vector<std::uint32_t> near = nearest_nets(gpu);
  const auto sharers = static_cast<std::uint32_t>(nearest_gpus(near.front()).size());
  const auto count = static_cast<std::uint32_t>(near.size());
  const std::uint32_t each = (count + sharers - 1) / sharers;
  // The first one differs from GPU to GPU, so that they spread over the devices that are equally near.
  std::uint32_t first = gpus[gpu].device % sharers;
  if ((count & (count - 1)) == 0) first = mirrored(first, count);
  return near[(first + channel % each) % count];
}

std::int32_t Topology::local_gpu(std::uint32_t net) const {
  const std::vector<std::uint32_t> near = nearest_gpus(net);
  for (std::uint32_t channel = 0; channel < kMaxChannels; ++channel) {
    for (std::uint32_t gpu : near) {
      if (local_net(gpu, channel) == net) return static_cast<std::int32_t>(gpu);
    }
  }
  return -1;
}

Topology::LocalNets Topology::local_nets(std::uint32_t gpu) const {
  LocalNets found;
  if (nets.empty()) return found;
  const double gpu_GBps = path(gpus[gpu].node, cpus[local_cpu(gpu)]).bandwidth_GBps;
  const std::uint32_t first = local_net(gpu, 0);
  for (std::uint32_t channel = 0; channel < kMaxChannels; ++channel) {
    const std::uint32_t net = local_net(gpu, channel);
    if (channel > 0 && net == first) break;
    found.bandwidth_GBps += gpu_to_net(gpu, net).bandwidth_GBps;
    ++found.count;
    if (found.bandwidth_GBps >= gpu_GBps) break;
  }
  return found;
}

PathType Topology::nearest_path(bool to_nets) const {
  PathType least = PathType::kSys;
  for (std::uint32_t gpu = 0; gpu < gpus.size(); ++gpu) {
    for (std::uint32_t i = 0; i < (to_nets ? nets.size() : gpus.size()); ++i) {
      if (to_nets || i != gpu) least = std::min(least, to_nets ? gpu_to_net(gpu, i).type : gpu_to_gpu(gpu, i).type);
    }
  }
  return least;
}

PathType Topology::farthest_path(bool to_nets) const {
  PathType most = PathType::kLoc;
  for (std::uint32_t gpu = 0; gpu < gpus.size(); ++gpu) {
    for (std::uint32_t i = 0; i < (to_nets ? nets.size() : gpus.size()); ++i) {
      if (to_nets || i != gpu) most = std::max(most, to_nets ? gpu_to_net(gpu, i).type : gpu_to_gpu(gpu, i).type);
    }
  }
  return most;
}

}  // namespace weft::nccl
