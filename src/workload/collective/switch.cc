// Lanes of NVLS: when they may go on, what they put on the GPUs' ports, and what the others hear of it.
#include "workload/collective/switch.h"

#include <algorithm>

#include "workload/collective/host.h"

namespace weft::workload {

using nccl::LaneKind;

namespace {

constexpr std::int64_t kPermille = 1000;

bool all_after(const std::vector<std::uint64_t>& counts, std::uint64_t count) {
  return std::ranges::all_of(counts, [&](std::uint64_t each) { return each > count; });
}
// There is a slot that all have done with.
bool all_have_room(const std::vector<std::uint64_t>& counts, std::uint64_t count) {
  return std::ranges::all_of(counts, [&](std::uint64_t each) { return count - each < nccl::kBufferSteps; });
}

}  // namespace

void CollectiveHost::join_switch(const CollectiveItem& item, RunningLane& lane) {
  const nccl::Communicator& communicator = engine_.communicator(item.communicator);
  const nccl::NvlsNode& node = *lane.schedule.nvls;
  const SwitchKey key{item.communicator, lane.schedule.channel, communicator.node_of(item.rank)};
  const auto found = switch_of_.try_emplace(key, static_cast<std::uint32_t>(switches_.size()));
  if (found.second) {
    CollectiveSwitch& made = switches_.emplace_back(node);
    for (std::uint32_t rank : node.ranks) made.gpus.push_back(communicator.ranks()[rank].gpu);
  }
  lane.at_switch = static_cast<std::int32_t>(found.first->second);
  lane.place =
      static_cast<std::uint32_t>(std::find(node.ranks.begin(), node.ranks.end(), item.rank) - node.ranks.begin());
}

bool CollectiveHost::switch_is_ready(const RunningLane& lane, std::uint64_t self) {
  CollectiveSwitch& at = switches_[static_cast<std::size_t>(lane.at_switch)];
  const std::uint32_t head = lane.schedule.head;
  bool ready = true;
  if (lane.schedule.kind == LaneKind::kNvlsScatter) ready = all_have_room(at.reduces_seen, at.scattered[lane.place]);
  if (lane.schedule.kind == LaneKind::kNvlsGather) ready = all_after(at.broadcasts_seen, at.gathered[lane.place]);
  if (lane.schedule.reads_switch) ready = all_after(at.scatters_seen, at.reduced[head]);
  if (lane.schedule.writes_switch) ready = ready && all_have_room(at.gathers_seen, at.broadcast[head]);
  if (!ready) at.waiting.push_back(self);
  return ready;
}

// The switch reads a chunk from every GPU, the head's own too, and sends the sum to the head; and it sends what the
// head writes to every GPU. Its read requests take room in the ports in the other direction.
Time_ps CollectiveHost::pass_switch(const RunningLane& lane, std::uint64_t size_B, Time_ps from_ps) {
  const CollectiveSwitch& at = switches_[static_cast<std::size_t>(lane.at_switch)];
  Gpu& own = gpus_[at.gpus[lane.place]];
  Time_ps end_ps = from_ps;
  const auto pass = [&](Server& server, std::uint64_t bytes, std::int64_t rate_Bps) {
    end_ps = std::max(end_ps, server.pass(from_ps, bytes, rate_Bps));
  };
  if (!lane.schedule.reads_switch && !lane.schedule.writes_switch) {
    pass(own.memory, 2 * size_B, own.model.memory_Bps);  // read and written
    return end_ps;
  }
  if (lane.schedule.reads_switch) {
    const std::uint64_t requests_B = size_B * static_cast<std::uint64_t>(own.model.switch_request_permille) / kPermille;
    for (std::uint32_t gpu : at.gpus) {
      pass(gpus_[gpu].egress, size_B, gpus_[gpu].model.link_Bps);
      pass(gpus_[gpu].ingress, requests_B, gpus_[gpu].model.link_Bps);
      pass(gpus_[gpu].memory, size_B, gpus_[gpu].model.memory_Bps);
    }
    pass(own.ingress, size_B, own.model.link_Bps);
    pass(own.egress, requests_B, own.model.link_Bps);
  }
  if (lane.schedule.writes_switch) {
    pass(own.egress, size_B, own.model.link_Bps);
    for (std::uint32_t gpu : at.gpus) {
      pass(gpus_[gpu].ingress, size_B, gpus_[gpu].model.link_Bps);
      pass(gpus_[gpu].memory, size_B, gpus_[gpu].model.memory_Bps);
    }
  }
  // The rank's own input or output, and what goes to the network or has come from it.
  std::uint64_t touched = lane.schedule.ranks_parts ? 1 : 0;
  if (lane.now.receives) touched += lane.receives;
  if (lane.now.sends) touched += lane.sends;
  pass(own.memory, touched * size_B, own.model.memory_Bps);
  return end_ps;
}

void CollectiveHost::leave_slice_of_switch(const RunningLane& lane) {
  CollectiveSwitch& at = switches_[static_cast<std::size_t>(lane.at_switch)];
  const nccl::KernelModel& model = gpus_[at.gpus[lane.place]].model;
  const auto tell = [&](Time_ps after_ps, SwitchNews news, std::uint32_t who) {
    add_event(now_ps_ + after_ps, EventKind::kSwitch, static_cast<std::uint32_t>(lane.at_switch),
              static_cast<std::int64_t>(news) << 32 | who);
  };
  const Time_ps room_ps = model.nvlink_ps[static_cast<std::size_t>(nccl::Protocol::kLl)];
  if (lane.schedule.kind == LaneKind::kNvlsScatter) {
    ++at.scattered[lane.place];
    tell(model.switch_ps, SwitchNews::kScattered, lane.place);
  }
  if (lane.schedule.kind == LaneKind::kNvlsGather) {
    ++at.gathered[lane.place];
    tell(room_ps, SwitchNews::kGathered, lane.place);
  }
  if (lane.schedule.reads_switch) {
    ++at.reduced[lane.schedule.head];
    tell(room_ps, SwitchNews::kReduced, lane.schedule.head);
  }
  if (lane.schedule.writes_switch) {
    ++at.broadcast[lane.schedule.head];
    tell(model.switch_ps, SwitchNews::kBroadcast, lane.schedule.head);
  }
}

void CollectiveHost::hear_of_switch(const Event& event) {
  CollectiveSwitch& at = switches_[event.index];
  const auto who = static_cast<std::uint32_t>(event.value);
  switch (static_cast<SwitchNews>(event.value >> 32)) {
    case SwitchNews::kScattered:
      ++at.scatters_seen[who];
      break;
    case SwitchNews::kReduced:
      ++at.reduces_seen[who];
      break;
    case SwitchNews::kBroadcast:
      ++at.broadcasts_seen[who];
      break;
    case SwitchNews::kGathered:
      ++at.gathers_seen[who];
      break;
  }
  std::vector<std::uint64_t> waiting;
  waiting.swap(at.waiting);
  for (std::uint64_t lane : waiting) advance(static_cast<std::uint32_t>(lane >> 32), static_cast<std::uint32_t>(lane));
}

}  // namespace weft::workload
