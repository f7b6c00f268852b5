#include "nccl/communicator.h"

#include <algorithm>
#include <numeric>

namespace weft::nccl {

Communicator::Communicator(const Cluster& cluster, std::vector<RankPlace> ranks) : ranks_(std::move(ranks)) {
  channels_.resize(2);
  for (Channel& channel : channels_) {
    channel.ring.resize(ranks_.size());
    std::iota(channel.ring.begin(), channel.ring.end(), 0);
    channel.tree.resize(ranks_.size());
    channel.nic.resize(cluster.machines.size());
  }
}

Route Communicator::route(std::uint32_t, std::uint32_t from, std::uint32_t to) const {
  Route route;
  route.proxy_rank = from;
  if (ranks_[from].machine != ranks_[to].machine) {
    route.transport = Transport::kIb;
    route.send_gdr = route.receive_gdr = true;
  }
  return route;
}

Choice Communicator::choose(Collective, std::uint64_t) const {
  return {.channels = static_cast<std::uint32_t>(channels_.size())};
}

}  // namespace weft::nccl
