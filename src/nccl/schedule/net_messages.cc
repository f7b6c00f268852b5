#include "nccl/schedule/net_messages.h"

#include <optional>
#include <vector>

#include "nccl/schedule/schedule.h"

namespace weft::nccl {

namespace {

// From the rank to a peer of its lane; nothing: not by the network.
std::optional<NetMessage> way_to(const Communicator& ranks, const Lane& lane, std::uint32_t rank, std::uint32_t peer) {
  const Route route = lane.nvls != nullptr  ? ranks.nvls_route(lane.channel, rank, peer)
                      : lane.point_to_point ? ranks.p2p_route(lane.channel, rank, peer)
                                            : ranks.route(lane.channel, rank, peer);
  if (route.transport != Transport::kIb && route.transport != Transport::kSocket) return std::nullopt;
  return NetMessage{
      ranks.ranks()[rank].machine,          route.send_nic, ranks.ranks()[peer].machine, route.receive_nic, 0,
      route.transport == Transport::kSocket};
}

}  // namespace

void NetMessages::add(const Communicator& communicator, std::uint32_t rank, const Operation& operation,
                      std::uint64_t times) {
  const Plan plan = make_plan(communicator, operation);
  for (Lane& lane : lanes_of(communicator, plan, rank)) {
    std::vector<std::optional<NetMessage>> ways;
    for (const std::int32_t peer : lane.to) {
      if (peer != kNoRank) ways.push_back(way_to(communicator, lane, rank, static_cast<std::uint32_t>(peer)));
    }
    Primitive primitive;
    while (lane.next(primitive)) {
      if (!primitive.posts) continue;
      for (std::uint32_t i = 0; i < ways.size(); ++i) {
        if (!ways[i] || !primitive.gives_to(i)) continue;
        for (std::uint32_t slice = 0; slice < lane.slices; ++slice) {
          NetMessage message = *ways[i];
          message.size_B = lane.line_B(message_count(lane, primitive, slice) * operation.element_B);
          counts_[message] += times;
        }
      }
    }
  }
}

}  // namespace weft::nccl
