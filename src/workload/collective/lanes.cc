// Blocks of kernels: lane by lane, primitive by primitive, slice by slice.
#include <algorithm>

#include "base/check.h"
#include "workload/collective/host.h"

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
  item.blocks = 0;
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
    for (std::uint8_t i = 0; i < lane.receives; ++i) announce(lane.receive[i], schedule, i, item.element_B);
    if (item.lanes.empty() || item.lanes.back().schedule.channel != schedule.channel) ++item.blocks;
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
  for (std::uint8_t i = 0; i < lane.sends; ++i) {
    if (!lane.now.gives_to(i)) continue;
    CollectiveSendHalf& half = sends_[lane.send[i]];
    if (half.used + lane.now.to_ahead + lane.schedule.slice_steps <= nccl::kBufferSteps) continue;
    half.waiting = self;
    return;
  }
  lane.ready_ps = std::min(lane.ready_ps, now_ps_);
  for (std::uint8_t i = 0; i < lane.receives; ++i) {
    if (!lane.now.takes_from(i)) continue;
    CollectiveReceiveHalf& half = receives_[lane.receive[i]];
    if (half.available > lane.now.from_ahead) continue;
    half.waiting = self;
    return;
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
Time_ps CollectiveHost::pass_link(CollectiveSendHalf& half, Protocol protocol, std::uint64_t size_B, Time_ps from_ps) {
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
      if (half.in_host_memory(protocol))
        return std::max(gpu.pcie_up.pass(from_ps, size_B, gpu.model.pcie_Bps),
                        pass_uplink(gpu.uplink, true, size_B, from_ps));
      // PXN: the buffer is that of another GPU.
      if (half.peer_gpu != half.gpu && half.pair_Bps != 0)
        return pair_links_[half.gpu * gpus_.size() + half.peer_gpu].pass(from_ps, size_B, half.pair_Bps);
      if (half.peer_gpu != half.gpu) return through(gpu.egress, gpu.model.link_Bps, peer.ingress, peer.model.link_Bps);
  }
  return from_ps;
}

// What a block takes longer for a slice that crosses PCIe to or from host memory.
std::int64_t CollectiveHost::host_permille(const nccl::KernelModel& model, const RunningLane& lane) const {
  if (lane.schedule.protocol == Protocol::kLl) return 0;
  std::int64_t permille = 0;
  for (std::uint8_t i = 0; i < lane.sends; ++i) {
    if (!lane.now.gives_to(i)) continue;
    const CollectiveSendHalf& half = sends_[lane.send[i]];
    if (half.staged || half.way == CollectiveWay::kShared) permille = model.host_write_permille;
  }
  for (std::uint8_t i = 0; i < lane.receives; ++i) {
    if (!lane.now.takes_from(i)) continue;
    const CollectiveReceiveHalf& half = receives_[lane.receive[i]];
    if (half.staged || half.way == CollectiveWay::kShared) return permille + model.host_read_permille;
  }
  return permille;
}

// The warps of a block are shared by the lanes that are at work, or each has its own.
std::int64_t CollectiveHost::block_Bps(const nccl::KernelModel& model, const RunningLane& lane,
                                       std::int64_t busy) const {
  std::int64_t rate_Bps = model.block_Bps[at(lane.schedule.protocol)];
  if (lane.schedule.protocol == Protocol::kLl) {
    bool network = true;
    for (std::uint8_t i = 0; i < lane.sends; ++i)
      network = network && (!lane.now.gives_to(i) || sends_[lane.send[i]].way == CollectiveWay::kNet);
    for (std::uint8_t i = 0; i < lane.receives; ++i)
      network = network && (!lane.now.takes_from(i) || receives_[lane.receive[i]].way == CollectiveWay::kNet);
    if (network) rate_Bps = model.net_ll_Bps;
  }
  return lane.schedule.share_percent == 0 ? rate_Bps / busy : rate_Bps / 100 * lane.schedule.share_percent;
}

// What the lane's threads take for a slice when nothing else holds them up.
Time_ps CollectiveHost::block_work_ps(const nccl::KernelModel& model, const RunningLane& lane, std::uint64_t size_B,
                                      std::int64_t busy) const {
  const auto size = static_cast<Time_ps>(size_B);
  if (lane.at_switch >= 0) return size * kSecond_ps / (model.warp_Bps * lane.schedule.warps);
  if (lane.schedule.kind == nccl::LaneKind::kCopy) return 0;
  const Time_ps own_ps = size * kSecond_ps / block_Bps(model, lane, busy);
  return own_ps + own_ps / 1000 * host_permille(model, lane);
}

// Whether what a block sends or receives over the network lies in host memory, for want of GPUDirect.
bool CollectiveHost::is_staged(const RunningLane& lane) const {
  for (std::uint8_t i = 0; i < lane.sends; ++i) {
    if (lane.now.gives_to(i) && sends_[lane.send[i]].staged) return true;
  }
  for (std::uint8_t i = 0; i < lane.receives; ++i) {
    if (lane.now.takes_from(i) && receives_[lane.receive[i]].staged) return true;
  }
  return false;
}

void CollectiveHost::add_use(CollectiveUse& use) const {
  for (const CollectiveSendHalf& half : sends_) {
    const bool socket = half.way == CollectiveWay::kSocket;
    if (half.way != CollectiveWay::kNet && !socket) continue;
    ++use.connections;
    use.staged += half.staged ? 1 : 0;
    use.sockets += socket ? 1 : 0;
  }
  use.working_ps = std::max(use.working_ps, working_ps_);
  use.blocks_ps += blocks_ps_;
  use.host_memory_ps += host_memory_ps_;
}

bool CollectiveHost::posts_to_network(const RunningLane& lane) const {
  for (std::uint8_t i = 0; i < lane.sends; ++i) {
    if (lane.now.posts && lane.now.gives_to(i) && sends_[lane.send[i]].way == CollectiveWay::kNet) return true;
  }
  return false;
}

// With flags in every line a block works on what has come of a message while the rest is on its way. What it makes of
// it leaves in one message, not before all is there: so it is enough to say so when that has come.
Time_ps CollectiveHost::slice_begin_ps(const RunningLane& lane) const {
  if (!cuts_through(lane.schedule.protocol) || !lane.now.receives) return now_ps_;
  Time_ps begin_ps = lane.ready_ps;
  for (std::uint8_t i = 0; i < lane.receives; ++i) {
    if (!lane.now.takes_from(i)) continue;
    const CollectiveReceiveHalf& half = receives_[lane.receive[i]];
    if (half.way != CollectiveWay::kNet) return now_ps_;
    begin_ps = std::max(begin_ps, half.first_ps[half.consumed % kMostMessages]);
  }
  return std::min(begin_ps, now_ps_);
}

void CollectiveHost::begin_slice(std::uint32_t item, RunningLane& lane, std::uint32_t index) {
  const Protocol protocol = lane.schedule.protocol;
  const std::uint64_t size_B = lane.schedule.slice_count(lane.now, lane.slice) * items_[item].element_B;
  const std::uint64_t line_B = lane.schedule.line_B(size_B);
  Gpu& gpu = gpus_[streams_[items_[item].stream].place.gpu];
  const Time_ps begin_ps = slice_begin_ps(lane) + (lane.now.is_beside ? 0 : gpu.model.slice_ps[at(protocol)]);
  lane.ready_ps = kNever_ps;
  Time_ps end_ps = begin_ps;
  const std::int64_t busy = ++items_[item].groups[lane.group].busy;
  const Time_ps work_ps = block_work_ps(gpu.model, lane, size_B, busy);
  lane.work_ps += work_ps;
  end_ps += work_ps;
  if (lane.at_switch >= 0) end_ps = std::max(end_ps, pass_switch(lane, size_B, begin_ps));
  // Reads of its own input and of what came, writes of the output and of what leaves from here.
  std::uint64_t touched = lane.now.reduces || !lane.now.receives ? 1 : 0;
  touched += lane.now.copies ? 1 : 0;
  for (std::uint8_t i = 0; i < lane.sends; ++i) {
    if (!lane.now.gives_to(i)) continue;
    CollectiveSendHalf& half = sends_[lane.send[i]];
    end_ps = std::max(end_ps, pass_link(half, protocol, line_B, begin_ps));
    if (half.way == CollectiveWay::kNet && !half.in_host_memory(protocol)) ++touched;
  }
  for (std::uint8_t i = 0; i < lane.receives; ++i) touched += lane.now.takes_from(i) ? 1 : 0;
  if (lane.at_switch < 0) end_ps = std::max(end_ps, gpu.memory.pass(begin_ps, touched * size_B, gpu.model.memory_Bps));
  for (std::uint8_t i = 0; i < lane.receives; ++i) {
    if (!lane.now.takes_from(i)) continue;
    CollectiveReceiveHalf& half = receives_[lane.receive[i]];
    if (half.staged) {
      end_ps = std::max(end_ps, gpu.pcie_down.pass(begin_ps, line_B, gpu.model.pcie_Bps));
      end_ps = std::max(end_ps, pass_uplink(gpu.uplink, false, line_B, begin_ps));
    }
    const Time_ps complete_ps = half.complete_ps[(half.consumed + lane.now.from_ahead) % kMostMessages];
    end_ps = std::max(end_ps, complete_ps + gpu.model.slice_ps[at(protocol)]);
  }
  if (lane.now.sends && cuts_through(protocol)) {
    for (std::uint8_t i = 0; i < lane.sends; ++i) {
      const CollectiveSendHalf& half = sends_[lane.send[i]];
      if (half.way > CollectiveWay::kShared) continue;
      const Time_ps way_ps = hop_ps(half, protocol);
      add_event(begin_ps + way_ps, EventKind::kData, half.peer, end_ps + way_ps);
    }
  }
  // In LL128 all warps wait for the fence; in Simple one thread does it beside the next slice; LL has none.
  if (protocol == Protocol::kLl128 && posts_to_network(lane)) end_ps += gpu.model.fence_ps;
  blocks_ps_ += end_ps - begin_ps;
  if (is_staged(lane)) host_memory_ps_ += end_ps - begin_ps;
  add_event(end_ps, EventKind::kSlice, item, index);
}

void CollectiveHost::end_slice(std::uint32_t item, std::uint32_t index) {
  RunningLane& lane = items_[item].lanes[index];
  --items_[item].groups[lane.group].busy;
  const Protocol protocol = lane.schedule.protocol;
  const std::uint32_t steps = lane.schedule.slice_steps;
  const nccl::KernelModel& model = gpus_[streams_[items_[item].stream].place.gpu].model;
  if (lane.at_switch >= 0) leave_slice_of_switch(lane);
  if (lane.now.frees) {
    for (std::uint8_t i = 0; i < lane.receives; ++i) {
      if (!lane.now.takes_from(i)) continue;
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
  if (lane.now.posts) {
    const std::uint64_t size_B = nccl::message_count(lane.schedule, lane.now, lane.slice) * items_[item].element_B;
    for (std::uint8_t i = 0; i < lane.sends; ++i) {
      if (!lane.now.gives_to(i)) continue;
      CollectiveSendHalf& half = sends_[lane.send[i]];
      half.used += steps;
      if (half.way == CollectiveWay::kNet || half.way == CollectiveWay::kSocket) {
        half.messages[half.written++ % kMostMessages] = {static_cast<std::uint32_t>(lane.schedule.line_B(size_B)),
                                                         static_cast<std::uint8_t>(steps), 0, protocol};
        const Time_ps fence_ps = protocol == Protocol::kSimple ? model.fence_ps : 0;
        add_event(now_ps_ + fence_ps + model.to_host_ps + model.proxy_ps / 2, EventKind::kProxy, lane.send[i], 1);
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
    add_event(now_ps_ + model.end_ps[at(lane.schedule.protocol)], EventKind::kEnd, index, 0);
  }
  if (next) start_group(index, item.groups[lane.group + 1]);
}

}  // namespace weft::workload
