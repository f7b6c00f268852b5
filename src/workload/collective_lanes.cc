// Blocks of kernels: lane by lane, primitive by primitive, slice by slice.
#include <algorithm>

#include "base/check.h"
#include "workload/collective_host.h"

namespace weft::workload {

using nccl::Protocol;

namespace {

std::size_t at(Protocol protocol) {
  return static_cast<std::size_t>(protocol);
}
// Of LL and LL128 each line has its flag: the peer begins before the chunk is complete.
bool cuts_through(Protocol protocol) {
  return protocol != Protocol::kSimple;
}

}  // namespace

void CollectiveHost::make_lanes(Item& item) {
  const nccl::Communicator& communicator = engine_.communicator(item.what.communicator);
  const nccl::Plan plan = nccl::make_plan(communicator, item.what.operation);
  std::vector<nccl::Lane> lanes = nccl::lanes_of(communicator, plan, item.what.rank);
  std::stable_sort(lanes.begin(), lanes.end(), [](const nccl::Lane& a, const nccl::Lane& b) {
    return a.channel != b.channel ? a.channel < b.channel : a.batch < b.batch;
  });
  item.element_B = item.what.operation.element_B;
  item.lanes.clear();
  item.groups.clear();
  for (const nccl::Lane& schedule : lanes) {
    RunningLane lane;
    lane.schedule = schedule;
    for (std::int32_t peer : schedule.from) {
      if (peer == nccl::kNoRank) continue;
      lane.receive[lane.receives++] =
          engine_.receive_half_of({item.what.communicator, schedule.channel, static_cast<std::uint32_t>(peer),
                                   item.what.rank, schedule.point_to_point, schedule.nvls != nullptr});
    }
    for (std::int32_t peer : schedule.to) {
      if (peer == nccl::kNoRank) continue;
      lane.send[lane.sends++] =
          engine_.send_half_of({item.what.communicator, schedule.channel, item.what.rank,
                                static_cast<std::uint32_t>(peer), schedule.point_to_point, schedule.nvls != nullptr});
    }
    if (schedule.nvls != nullptr) join_switch(item.what, lane);
    for (std::uint8_t i = 0; i < lane.receives; ++i) announce(lane.receive[i], schedule, item.element_B);
    const bool fresh = item.lanes.empty() || item.lanes.back().schedule.channel != schedule.channel ||
                       item.lanes.back().schedule.batch != schedule.batch;
    if (fresh) {
      if (!item.lanes.empty() && item.lanes.back().schedule.channel == schedule.channel)
        item.groups.back().has_next = true;
      item.groups.push_back({static_cast<std::uint32_t>(item.lanes.size()), 0, 0, 0, false});
    }
    ++item.groups.back().count;
    ++item.groups.back().left;
    lane.group = static_cast<std::uint32_t>(item.groups.size() - 1);
    item.lanes.push_back(lane);
  }
}

void CollectiveHost::start_group(std::uint32_t item, const Group& group) {
  const std::uint32_t first = group.first, count = group.count;
  for (std::uint32_t i = first; i < first + count; ++i) advance(item, i);
}

void CollectiveHost::advance(std::uint32_t item, std::uint32_t index) {
  RunningLane& lane = items_[item].lanes[index];
  if (!lane.in_primitive) {
    if (!lane.schedule.next(lane.now)) return end_lane(item, lane);
    lane.in_primitive = true;
    lane.slice = 0;
  }
  const std::uint64_t self = std::uint64_t{item} << 32 | index;
  if (lane.now.receives) {
    for (std::uint8_t i = 0; i < lane.receives; ++i) {
      CollectiveReceiveHalf& half = receives_[lane.receive[i]];
      if (half.available > 0) continue;
      half.waiting = self;
      return;
    }
  }
  if (lane.now.sends) {
    for (std::uint8_t i = 0; i < lane.sends; ++i) {
      CollectiveSendHalf& half = sends_[lane.send[i]];
      if (half.used + lane.schedule.slice_steps <= nccl::kBufferSteps) continue;
      half.waiting = self;
      return;
    }
  }
  if (lane.at_switch >= 0 && !switch_is_ready(lane, self)) return;
  begin_slice(item, lane, index);
}

Time_ps CollectiveHost::hop_ps(const CollectiveSendHalf& half, Protocol protocol) const {
  const nccl::KernelModel& model = gpus_[half.gpu].model;
  return half.way == CollectiveWay::kNvlink ? model.nvlink_ps[at(protocol)] : model.pcie_ps[at(protocol)];
}

Time_ps CollectiveHost::pass_uplink(std::int32_t slot, bool up, std::uint64_t size_B, Time_ps from_ps) {
  if (slot < 0) return from_ps;
  Uplink& uplink = uplinks_[static_cast<std::size_t>(slot)];
  return (up ? uplink.up : uplink.down).pass(from_ps, size_B, uplink.rate_Bps);
}

// What leaves a block passes the links of the two GPUs, one after the other, whoever else uses them.
Time_ps CollectiveHost::pass_link(CollectiveSendHalf& half, std::uint64_t size_B, Time_ps from_ps) {
  Gpu& gpu = gpus_[half.gpu];
  Gpu& peer = gpus_[half.peer_gpu];
  const auto through = [&](Server& out, std::int64_t out_Bps, Server& in, std::int64_t in_Bps) {
    const Time_ps begins_ps = std::max(out.free_ps, from_ps);
    const Time_ps left_ps = out.pass(from_ps, size_B, out_Bps);
    return std::max(left_ps, in.pass(begins_ps, size_B, in_Bps));
  };
  switch (half.way) {
    case CollectiveWay::kNvlink: {
      if (half.pair_Bps == 0) return through(gpu.egress, gpu.model.link_Bps, peer.ingress, peer.model.link_Bps);
      return pair_links_[half.gpu * gpus_.size() + half.peer_gpu].pass(from_ps, size_B, half.pair_Bps);
    }
    case CollectiveWay::kPcie:
    case CollectiveWay::kShared:
      return through(gpu.pcie_up, gpu.model.pcie_Bps, peer.pcie_down, peer.model.pcie_Bps);
    case CollectiveWay::kNet:
    case CollectiveWay::kSocket:
      // PXN: the buffer is that of another GPU.
      if (half.peer_gpu != half.gpu) return through(gpu.egress, gpu.model.link_Bps, peer.ingress, peer.model.link_Bps);
      if (!half.staged) return from_ps;
      return std::max(gpu.pcie_up.pass(from_ps, size_B, gpu.model.pcie_Bps),
                      pass_uplink(gpu.uplink, true, size_B, from_ps));
  }
  return from_ps;
}

void CollectiveHost::begin_slice(std::uint32_t item, RunningLane& lane, std::uint32_t index) {
  const Protocol protocol = lane.schedule.protocol;
  const std::uint64_t size_B = lane.schedule.slice_count(lane.now, lane.slice) * items_[item].element_B;
  const std::uint64_t line_B = nccl::line_B(protocol, size_B);
  Gpu& gpu = gpus_[streams_[items_[item].stream].place.gpu];
  const Time_ps begin_ps = now_ps_ + gpu.model.slice_ps[at(protocol)];
  Time_ps end_ps = begin_ps;
  // The warps of a block are shared by the lanes that are at work.
  const std::int64_t lanes = ++items_[item].groups[lane.group].busy;
  if (lane.at_switch >= 0)
    end_ps = pass_switch(lane, size_B, begin_ps);
  else if (lane.schedule.kind != nccl::LaneKind::kCopy)
    end_ps += static_cast<Time_ps>(size_B) * kSecond_ps / (gpu.model.block_Bps[at(protocol)] / lanes);
  // Reads of its own input and of what came, writes of the output and of what leaves from here.
  std::uint64_t touched = lane.now.reduces || !lane.now.receives ? 1 : 0;
  touched += (lane.now.receives ? lane.receives : 0) + (lane.now.copies ? 1 : 0);
  if (lane.now.sends) {
    for (std::uint8_t i = 0; i < lane.sends; ++i) {
      CollectiveSendHalf& half = sends_[lane.send[i]];
      end_ps = std::max(end_ps, pass_link(half, line_B, begin_ps));
      if (half.way == CollectiveWay::kNet && !half.staged) ++touched;
    }
  }
  if (lane.at_switch < 0) end_ps = std::max(end_ps, gpu.memory.pass(begin_ps, touched * size_B, gpu.model.memory_Bps));
  if (lane.now.receives) {
    for (std::uint8_t i = 0; i < lane.receives; ++i) {
      CollectiveReceiveHalf& half = receives_[lane.receive[i]];
      if (half.staged) {
        end_ps = std::max(end_ps, gpu.pcie_down.pass(begin_ps, line_B, gpu.model.pcie_Bps));
        end_ps = std::max(end_ps, pass_uplink(gpu.uplink, false, line_B, begin_ps));
      }
      const Time_ps complete_ps = half.complete_ps[half.consumed % kMostMessages];
      end_ps = std::max(end_ps, complete_ps + gpu.model.slice_ps[at(protocol)]);
    }
  }
  if (lane.now.sends && cuts_through(protocol)) {
    for (std::uint8_t i = 0; i < lane.sends; ++i) {
      const CollectiveSendHalf& half = sends_[lane.send[i]];
      if (half.way > CollectiveWay::kShared) continue;
      const Time_ps way_ps = hop_ps(half, protocol);
      add_event(begin_ps + way_ps, EventKind::kData, half.peer, end_ps + way_ps);
    }
  }
  add_event(end_ps, EventKind::kSlice, item, index);
}

void CollectiveHost::end_slice(std::uint32_t item, std::uint32_t index) {
  RunningLane& lane = items_[item].lanes[index];
  --items_[item].groups[lane.group].busy;
  const Protocol protocol = lane.schedule.protocol;
  const std::uint32_t steps = lane.schedule.slice_steps;
  const nccl::KernelModel& model = gpus_[streams_[items_[item].stream].place.gpu].model;
  if (lane.at_switch >= 0) leave_slice_of_switch(lane);
  if (lane.now.receives) {
    for (std::uint8_t i = 0; i < lane.receives; ++i) {
      CollectiveReceiveHalf& half = receives_[lane.receive[i]];
      --half.available;
      ++half.consumed;
      if (half.way == CollectiveWay::kNet || half.way == CollectiveWay::kSocket) {
        add_event(now_ps_ + model.to_host_ps + model.proxy_ps / 2, EventKind::kSlotFree, lane.receive[i], steps);
      } else {
        add_event(now_ps_ + model.nvlink_ps[at(Protocol::kLl)], EventKind::kCredit, half.peer, steps);
      }
    }
  }
  if (lane.now.sends) {
    const std::uint64_t size_B = lane.schedule.slice_count(lane.now, lane.slice) * items_[item].element_B;
    for (std::uint8_t i = 0; i < lane.sends; ++i) {
      CollectiveSendHalf& half = sends_[lane.send[i]];
      half.used += steps;
      if (half.way == CollectiveWay::kNet || half.way == CollectiveWay::kSocket) {
        half.messages[half.written++ % kMostMessages] = {static_cast<std::uint32_t>(nccl::line_B(protocol, size_B)),
                                                         static_cast<std::uint8_t>(steps), 0};
        add_event(now_ps_ + model.to_host_ps + model.proxy_ps / 2, EventKind::kProxy, lane.send[i], 1);
      } else if (!cuts_through(protocol)) {
        add_event(now_ps_ + hop_ps(half, protocol), EventKind::kData, half.peer, now_ps_);
      }
    }
  }
  if (++lane.slice == lane.schedule.slices) lane.in_primitive = false;
  advance(item, index);
}

void CollectiveHost::end_lane(std::uint32_t index, RunningLane& lane) {
  Item& item = items_[index];
  Group& group = item.groups[lane.group];
  const bool next = --group.left == 0 && group.has_next;
  if (--item.lanes_left == 0) {
    const nccl::KernelModel& model = gpus_[streams_[item.stream].place.gpu].model;
    add_event(now_ps_ + model.end_ps, EventKind::kEnd, index, 0);
  }
  if (next) start_group(index, item.groups[lane.group + 1]);
}

}  // namespace weft::workload
