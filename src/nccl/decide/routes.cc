// How data goes from rank to rank: peer to peer, shared memory or the network, with which devices and whose proxy.
#include <algorithm>

#include "nccl/decide/channel_builder.h"
#include "nccl/decide/communicator.h"

namespace weft::nccl {

Route Communicator::local_route(std::uint32_t from, std::uint32_t to) const {
  const Topology& topology = *nodes_[node_of_[from]].topology;
  Route route;
  route.proxy_rank = from;
  route.path = topology.gpu_to_gpu(local_of_[from], local_of_[to]).type;
  route.transport = topology.peer_to_peer(local_of_[from], local_of_[to]) ? Transport::kP2p : Transport::kShm;
  return route;
}

void Communicator::finish_route(std::uint32_t from, std::uint32_t to, std::uint32_t send, std::uint32_t receive,
                                Route& route) const {
  const Topology& there = *nodes_[node_of_[to]].topology;
  const Topology& here = *nodes_[node_of_[from]].topology;
  route.path = PathType::kNet;
  route.send_device = send;
  route.receive_device = receive;
  route.send_nic = here.nets[send].nics.front();
  route.receive_nic = there.nets[receive].nics.front();
  route.transport = here.nets[send].socket ? Transport::kSocket : Transport::kIb;
  route.send_gdr = here.gdr(local_of_[from], send, true);
  route.receive_gdr = there.gdr(local_of_[to], receive, false);
  const bool reorders = there.gpus[local_of_[to]].compute_capability < 90;
  route.flush = route.receive_gdr && (reorders || environment_->net_force_flush);
}

std::uint32_t Communicator::ring_net(std::uint32_t channel, std::uint32_t rank, bool send) const {
  const std::uint32_t node = node_of_[rank];
  const std::uint32_t own = ring_channel(*this, node, channel, search_channels_);
  return static_cast<std::uint32_t>(nodes_[node].graphs->ring.channels[own].nets[send ? 1 : 0]);
}

Route Communicator::route(std::uint32_t channel, std::uint32_t from, std::uint32_t to) const {
  if (node_of_[from] == node_of_[to]) return local_route(from, to);
  const std::vector<std::uint32_t>& ring = channels_[channel % channels_.size()].ring;
  const auto at = static_cast<std::size_t>(std::find(ring.begin(), ring.end(), from) - ring.begin());
  const bool in_ring = ring[(at + 1) % ring.size()] == to;
  // A tree's rank uses the device at its end of the chain.
  const auto tree_net = [&](std::uint32_t rank) {
    const Node& node = nodes_[node_of_[rank]];
    const GraphChannel& found = node.graphs->tree.channels[channel % search_channels_];
    return static_cast<std::uint32_t>(found.nets[node.ranks[found.gpus.front()] == rank ? 0 : 1]);
  };
  Route route;
  const std::uint32_t send = in_ring ? ring_net(channel, from, true) : tree_net(from);
  const std::uint32_t receive = in_ring ? ring_net(channel, to, false) : tree_net(to);
  const Node& node = nodes_[node_of_[from]];
  route.proxy_rank = node.ranks[node.topology->intermediate_gpu(local_of_[from], send)];
  finish_route(from, to, send, receive, route);
  return route;
}

Route Communicator::nvls_route(std::uint32_t channel, std::uint32_t from, std::uint32_t to) const {
  // The device with which the search made the rank a head.
  const auto net_of = [&](std::uint32_t rank) {
    const Node& node = nodes_[node_of_[rank]];
    std::vector<std::int32_t> nets;
    for (const GraphChannel& found : node.graphs->nvls.channels) {
      if (node.ranks[found.gpus.front()] == rank) nets.push_back(found.nets[0]);
    }
    return static_cast<std::uint32_t>(nets[channel % nets.size()]);
  };
  Route route;
  const Node& node = nodes_[node_of_[from]];
  const std::uint32_t send = net_of(from);
  route.proxy_rank = node.ranks[node.topology->intermediate_gpu(local_of_[from], send)];
  finish_route(from, to, send, net_of(to), route);
  return route;
}

Route Communicator::p2p_route(std::uint32_t channel, std::uint32_t from, std::uint32_t to) const {
  if (node_of_[from] == node_of_[to]) return local_route(from, to);
  const Node& node = nodes_[node_of_[from]];
  const Topology& here = *node.topology;
  const Topology& there = *nodes_[node_of_[to]].topology;
  const std::uint32_t gpu = local_of_[from];
  Route route;
  route.proxy_rank = from;
  std::uint32_t send = here.local_net(gpu, channel);
  // The peer's rail: the device that the GPU with the peer's number would use here.
  const std::int64_t pxn_level = environment_->pxn_disable ? 0 : environment_->p2p_pxn_level;
  const std::uint32_t device = there.gpus[local_of_[to]].device;
  const auto twin =
      std::find_if(here.gpus.begin(), here.gpus.end(), [&](const TopologyGpu& each) { return each.device == device; });
  if (twin != here.gpus.end() && (environment_->cross_nic == 0 || pxn_level != 0)) {
    const std::uint32_t rail = here.local_net(static_cast<std::uint32_t>(twin - here.gpus.begin()), channel);
    if (environment_->cross_nic == 0) send = rail;
    if (pxn_level == 1 && here.gpu_to_net(gpu, rail).type <= PathType::kPxn) {
      send = rail;
      route.proxy_rank = node.ranks[here.intermediate_gpu(gpu, rail)];
    } else if (const std::int32_t near = here.nets[rail].local_gpu; pxn_level == 2 && near >= 0) {
      const auto peer = static_cast<std::uint32_t>(near);
      if (here.gpu_to_gpu(peer, gpu).type <= PathType::kNvl && here.gpu_to_net(peer, rail).type <= PathType::kP2c &&
          here.gdr(peer, rail, false)) {
        send = rail;
        route.proxy_rank = node.ranks[peer];
      }
    }
  }
  finish_route(from, to, send, there.local_net(local_of_[to], channel), route);
  return route;
}

}  // namespace weft::nccl
