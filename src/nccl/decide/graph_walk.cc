#include "nccl/decide/graph_walk.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace weft::nccl {

namespace {

bool is_tree(Pattern pattern) {
  return pattern == Pattern::kBalancedTree || pattern == Pattern::kSplitTree || pattern == Pattern::kTree;
}

// The search counts in MB/s: no rounding errors add up.
std::int64_t in_MBps(double GBps) {
  return std::llround(GBps * 1000.0);
}

}  // namespace

GraphWalk::GraphWalk(const Topology& topology, const Environment& environment, std::uint32_t max_channels)
    : topology_(topology), environment_(environment), used_(topology.gpus.size()) {
  for (const TopologyLink& link : topology.links) left_.push_back(in_MBps(link.bandwidth_GBps));
  for (const NetDevice& net : topology.nets) net_left_.push_back(net.bandwidth_GBps);
  for (std::uint32_t net = 0; net < topology.nets.size(); ++net) nearest_gpus_.push_back(topology.nearest_gpus(net));
  channels_.resize(max_channels + 1);
  for (GraphChannel& channel : channels_) channel.gpus.resize(topology.gpus.size());
  net_lists_.resize((topology.gpus.size() + 1) * (static_cast<std::size_t>(PathType::kDis) + 1));
}

std::int32_t GraphWalk::run(const Graph& wanted, std::int32_t steps, Graph& best) {
  wanted_ = wanted;
  wanted_.hops = 0;
  best_ = &best;
  steps_ = steps;
  count_ = 0;
  next_channel();
  return steps_;
}

// Follows `links` of the path and takes bandwidth from each; `done` says how many had enough.
bool GraphWalk::take(const Path& way, std::uint32_t from, std::size_t links, std::int64_t MBps, std::size_t& done) {
  const bool from_gpu = topology_.nodes[from].kind == NodeKind::kGpu;
  // GPUs that talk through the root complex of an Intel CPU use packets of 64 bytes: six bytes of link for five.
  const bool small_packets = way.type == PathType::kPhb && from_gpu && topology_.cpu.vendor == CpuVendor::kIntel;
  for (done = 0; done < links; ++done) {
    const std::uint32_t id = way.links[done];
    const TopologyLink& link = topology_.links[id];
    const std::int64_t need = small_packets && link.type == PathType::kPix ? MBps * 6 / 5 : MBps;
    // Before Ampere, what a NIC writes to a GPU costs an eighth of it the other way.
    const TopologyNode& to = topology_.nodes[link.to];
    const bool answers = to.kind == NodeKind::kGpu && !from_gpu && topology_.gpus[to.index].compute_capability < 80;
    const std::int64_t back = answers ? need / 8 : 0;
    if (left_[id] < need || (back != 0 && left_[id ^ 1] < back)) return false;
    left_[id] -= need;
    left_[id ^ 1] -= back;
  }
  return true;
}

// One leg of a channel. `share`: of the channel's bandwidth; negative gives it back.
bool GraphWalk::go(std::uint32_t from, std::uint32_t to, double share) {
  const auto inside = [&](std::uint32_t node) {
    const NodeKind kind = topology_.nodes[node].kind;
    return kind == NodeKind::kGpu || kind == NodeKind::kNvSwitch;
  };
  const bool intra = inside(from) && inside(to);
  const PathType farthest = intra ? wanted_.intra_type : wanted_.inter_type;
  const Path& way = topology_.path(from, to);
  if (way.type >= PathType::kDis) return false;
  if (share > 0 && share <= 1) {
    if (way.type > farthest) return false;
    if (is_tree(wanted_.pattern) && topology_.path(to, from).type > farthest) return false;
  }
  const std::int64_t MBps = in_MBps((intra ? wanted_.intra_GBps : wanted_.inter_GBps) * share);
  std::size_t done = 0;
  if (!take(way, from, way.links.size(), MBps, done)) {
    std::size_t undone = 0;
    take(way, from, done, -MBps, undone);
    return false;
  }
  wanted_.hops += (share > 0 ? 1 : -1) * static_cast<std::int32_t>(way.links.size());
  return true;
}

void GraphWalk::next_channel() {
  const auto last = static_cast<std::int32_t>(topology_.gpus.size()) - 1;
  Turns turns;
  if (topology_.inter) {
    turns.to_net = wanted_.pattern == Pattern::kRing ? last : wanted_.pattern == Pattern::kSplitTree ? 1 : 0;
    from_network(turns);
  } else {
    if (wanted_.pattern == Pattern::kRing) turns.to_first = last;
    from_gpus(turns);
  }
}

void GraphWalk::from_network(Turns turns) {
  const std::vector<std::uint32_t>& nets = nets_for({}, wanted_.inter_type);
  const double whole_GBps = std::trunc(wanted_.inter_GBps);
  bool found_head = false;
  for (std::size_t i = 0; i < nets.size() && steps_ > 0; ++i) {
    if (wanted_.pattern == Pattern::kNvls && found_head) break;
    const std::uint32_t net = nets[(count_ + i) % nets.size()];
    if (net_left_[net] < whole_GBps) continue;
    // Rings in pairs that swap their ends: the second begins where the first ended.
    if (wanted_.pattern == Pattern::kRing && wanted_.cross_nic == 2 && (count_ & 1) != 0 &&
        static_cast<std::int32_t>(net) != channels_[count_ - 1].nets[1])
      continue;
    current().nets[0] = static_cast<std::int32_t>(net);
    net_left_[net] -= whole_GBps;
    if (wanted_.pattern == Pattern::kNvls) {
      const std::int32_t gpu = topology_.nets[net].local_gpu;
      bool is_head = gpu < 0 || count_ >= nets.size();
      for (std::uint32_t c = 0; c < count_; ++c) is_head |= static_cast<std::int32_t>(channels_[c].gpus[0]) == gpu;
      if (!is_head) {
        try_gpu(topology_.nets[net].node, static_cast<std::uint32_t>(gpu), 0, turns, Order::kFree);
        found_head = true;
      }
    } else {
      from_net(net, turns);
    }
    net_left_[net] += whole_GBps;
  }
}

void GraphWalk::from_net(std::uint32_t net, Turns turns) {
  const std::uint32_t node = topology_.nets[net].node;
  if (count_ > 0 && wanted_.same_channels) {
    try_gpu(node, channels_[count_ - 1].gpus[0], 0, turns, Order::kReplay);
    return;
  }
  if (count_ == 0 && topology_.nvswitch < 0) {
    // The plain order first, to have something to compare with; it does not count.
    const std::int32_t steps = std::exchange(steps_, 1 << 10);
    try_gpu(node, 0, 0, turns, Order::kPci);
    if (steps_ != -1) steps_ = steps;
  }
  const std::int32_t local = topology_.nets[net].local_gpu;
  if (local >= 0) try_gpu(node, static_cast<std::uint32_t>(local), 0, turns, Order::kFree);
  for (std::uint32_t gpu : nearest_gpus_[net]) {
    if (static_cast<std::int32_t>(gpu) != local) try_gpu(node, gpu, 0, turns, Order::kFree);
  }
}

void GraphWalk::from_gpus(Turns turns) {
  if (wanted_.pattern == Pattern::kNvls) {
    if (count_ < topology_.gpus.size()) try_gpu({}, count_, 0, turns, Order::kFree);
    return;
  }
  if (count_ == 0) {
    try_gpu({}, 0, 0, turns, Order::kPci);
  } else {
    try_gpu({}, channels_[count_ - 1].gpus[0], 0, turns, Order::kReplay);
  }
  if (wanted_.same_channels && count_ > 0) return;
  for (std::uint32_t gpu = 0; gpu < topology_.gpus.size(); ++gpu) try_gpu({}, gpu, 0, turns, Order::kFree);
}

void GraphWalk::try_gpu(std::optional<std::uint32_t> from, std::uint32_t gpu, std::int32_t step, Turns turns,
                        Order order) {
  const std::uint32_t node = topology_.gpus[gpu].node;
  if (steps_ <= 0 || (from && !go(*from, node, 1))) return;
  const std::uint64_t bit = std::uint64_t{1} << count_;
  used_[gpu] ^= bit;
  visit(gpu, step, turns, order);
  used_[gpu] ^= bit;
  if (from) go(*from, node, -1);
}

void GraphWalk::visit(std::uint32_t gpu, std::int32_t step, Turns turns, Order order) {
  if (steps_ <= 0) return;
  --steps_;
  const auto gpus = static_cast<std::int32_t>(topology_.gpus.size());
  const std::uint32_t node = topology_.gpus[gpu].node;
  current().gpus[static_cast<std::size_t>(step)] = gpu;
  if (step == turns.to_net) {
    back_to_net(gpu, step, turns, order);
  } else if (wanted_.pattern == Pattern::kNvls) {
    nvls_head(gpu);
  } else if (step < gpus - 1) {
    std::vector<std::uint32_t> next;
    const auto following = static_cast<std::uint32_t>(step) + 1;
    if (order == Order::kPci) {
      next = {following};
    } else if (order == Order::kReplay) {
      next = {channels_[count_ - 1].gpus[following]};
    } else {
      next = next_gpus(gpu, turns.to_net == kNever ? 0 : turns.to_net == step + 1 ? 1 : -1);
    }
    for (std::uint32_t other : next) try_gpu(node, other, step + 1, turns, order);
  } else if (step == turns.to_first) {
    const std::uint32_t first = topology_.gpus[current().gpus[0]].node;
    if (go(node, first, 1)) {
      finish_channel();
      go(node, first, -1);
    }
  } else {
    finish_channel();
  }
}

void GraphWalk::back_to_net(std::uint32_t gpu, std::int32_t step, Turns turns, Order order) {
  const bool balanced = wanted_.pattern == Pattern::kBalancedTree;
  const double share = balanced ? 0.5 : 1;  // half of a balanced tree's traffic is at each of the first two GPUs
  const std::uint32_t node = topology_.gpus[gpu].node;
  Turns rest = turns;
  rest.to_net = balanced && step == 0 ? 1 : kNever;
  for (std::uint32_t net : nets_for(gpu, wanted_.inter_type)) {
    if (!net_allowed(net, step)) continue;
    if (!go(node, topology_.nets[net].node, share)) continue;
    const std::int32_t before = std::exchange(current().nets[1], static_cast<std::int32_t>(net));
    visit(gpu, step, rest, order);
    current().nets[1] = before;
    go(node, topology_.nets[net].node, -share);
  }
}

bool GraphWalk::net_allowed(std::uint32_t net, std::int32_t step) const {
  const auto id = static_cast<std::int32_t>(net);
  const std::int32_t first = current().nets[0];
  if (wanted_.pattern == Pattern::kTree && id != first) return false;
  if (wanted_.pattern == Pattern::kRing && wanted_.cross_nic == 2) {
    if ((count_ & 1) != 0 && id != channels_[count_ - 1].nets[0]) return false;
  } else if (wanted_.cross_nic == 0 && id != first) {
    return false;
  }
  return wanted_.pattern != Pattern::kBalancedTree || step == 0 || id == current().nets[1];
}

// In NVLS each GPU sends to the switch and receives from it; the one that reduces a part does both twice.
void GraphWalk::nvls_head(std::uint32_t gpu) {
  const auto hub = static_cast<std::uint32_t>(topology_.nvswitch);
  std::vector<std::pair<std::uint32_t, bool>> taken;
  bool fits = true;
  for (bool down : {true, false}) {
    for (std::uint32_t other = 0; fits && other < topology_.gpus.size(); ++other) {
      const std::uint32_t node = topology_.gpus[other].node;
      const double share = other == gpu ? 2 : 1;
      fits = down ? go(hub, node, share) : go(node, hub, share);
      if (fits) taken.emplace_back(other, down);
    }
  }
  if (fits) finish_channel();
  for (const auto& each : taken) {
    const std::uint32_t node = topology_.gpus[each.first].node;
    const double share = each.first == gpu ? -2 : -1;
    if (each.second) {
      go(hub, node, share);
    } else {
      go(node, hub, share);
    }
  }
}

void GraphWalk::finish_channel() {
  if (steps_ <= 0) return;
  --steps_;
  ++count_;
  if (is_better()) {
    *best_ = wanted_;
    best_->channels.assign(channels_.begin(), channels_.begin() + count_);
    if (count_ == wanted_.max_channels) steps_ = -1;
  }
  if (count_ < wanted_.max_channels) next_channel();
  --count_;
}

bool GraphWalk::is_better() const {
  if (count_ < wanted_.min_channels) return false;
  const auto known = static_cast<std::uint32_t>(best_->channels.size());
  if (wanted_.pattern == Pattern::kNvls) {
    return (count_ > known && count_ <= topology_.gpus.size()) ||
           count_ * wanted_.inter_GBps > known * best_->inter_GBps;
  }
  const double total = count_ * wanted_.intra_GBps, best_total = known * best_->intra_GBps;
  if (total != best_total) return total > best_total;
  return wanted_.pattern == best_->pattern && wanted_.cross_nic == best_->cross_nic && wanted_.hops < best_->hops;
}

}  // namespace weft::nccl
