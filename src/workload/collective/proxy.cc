// The proxy threads: they post what blocks have written when the receiver has room for it, say what they have room for,
// and pass on what has come (NCCL's src/transport/net.cc and net_ib, [nccl]). CPU time is the host model's.
#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "workload/collective/host.h"
#include "workload/collective/socket.h"

namespace weft::workload {

namespace {

constexpr std::uint32_t kFifoElements = 256;  // NCCL_NET_MAX_REQUESTS x 8
constexpr std::uint64_t kSplitAlign_B = 128;  // parts of a message that is split over queue pairs
constexpr std::uint64_t kSignalEvery = 16;    // an element of the FIFO asks for a completion
constexpr std::uint64_t kOfferId = std::uint64_t{1} << 62, kReceiveId = std::uint64_t{1} << 61;

}  // namespace

bool CollectiveHost::proxy_is_busy(std::uint32_t proxy, const Event& event) {
  if (proxy_free_ps_[proxy] <= now_ps_) return false;
  EventKind kind = event.kind == EventKind::kSlotFree ? EventKind::kOffer : event.kind;
  add_event(proxy_free_ps_[proxy], kind, event.index, 0);
  return true;
}

void CollectiveHost::progress_send(std::uint32_t index, const Event& event) {
  CollectiveSendHalf& half = sends_[index];
  half.seen += static_cast<std::uint64_t>(event.value);
  if (half.way == CollectiveWay::kSocket) {
    for (; half.posted < half.seen; ++half.posted)
      half.socket->send(half.messages[half.posted % kMostMessages].size_B, now_ps_);
    return;
  }
  if (half.posted >= std::min(half.seen, half.offered) || proxy_is_busy(half.proxy, event)) return;
  Time_ps free_ps = host_.cpu_ps(now_ps_, program_);
  while (half.posted < std::min(half.seen, half.offered)) free_ps = post_message(half, free_ps);
  proxy_free_ps_[half.proxy] = free_ps;
}

// What a proxy is busy for with one message, besides what others wait for: its lists, tests, counters. NCCL counts
// three times as much for a step of Simple, which in a ring is two messages each way.
Time_ps CollectiveHost::proxy_message_ps(nccl::Protocol protocol) const {
  return protocol == nccl::Protocol::kSimple ? proxy_step_ps_ * 3 / 4 : proxy_step_ps_ / 2;
}

// One message, on one queue pair in turn or a part of it on each.
Time_ps CollectiveHost::post_message(CollectiveSendHalf& half, Time_ps now_ps) {
  const host::HostModel& cpu = host_.model();
  const Time_ps began_ps = now_ps;
  CollectiveSendHalf::Message& message = half.messages[half.posted % kMostMessages];
  const std::uint32_t parts = half.split ? half.qps : 1;
  const std::uint64_t part_B =
      (message.size_B / parts + (message.size_B % parts != 0) + kSplitAlign_B - 1) / kSplitAlign_B * kSplitAlign_B;
  message.parts = static_cast<std::uint8_t>(parts);
  const bool in_host = half.in_host_memory(message.protocol);
  // The NIC reads it from host memory, and before it the CPU its flags: those of LL are in each 8 bytes, those of LL128
  // in each second cache line.
  if (in_host) pass_uplink(half.nic_uplink, false, message.size_B, now_ps);
  if (in_host && message.protocol != nccl::Protocol::kSimple) {
    const std::int64_t read_B = message.protocol == nccl::Protocol::kLl ? message.size_B : message.size_B / 2;
    now_ps += read_B * kSecond_ps / gpus_[half.gpu].model.flags_Bps;
  }
  const std::uint64_t slot = half.slots_posted % nccl::kBufferSteps * half.slot_B;
  for (std::uint32_t i = 0; i < parts; ++i) {
    const std::uint64_t begin_B = std::min<std::uint64_t>(part_B * i, message.size_B);
    nic::SendRequest request;
    request.wr_id = static_cast<std::uint64_t>(&half - sends_.data());
    request.opcode = nic::WrOpcode::kWriteImm;
    request.length_B = static_cast<std::uint32_t>(std::min<std::uint64_t>(part_B, message.size_B - begin_B));
    request.local_va = half.local_va + slot + begin_B;
    request.lkey = half.lkey;
    if (in_host) request.function = half.host_function;
    request.remote_va = half.remote_va + slot + begin_B;
    request.rkey = half.rkey;
    request.imm = __builtin_bswap32(message.size_B);  // NCCL leaves it in the order of the CPU
    const Time_ps doorbell_ps = now_ps + cpu.post_wqe_ps + cpu.doorbell_ps;
    const std::uint64_t qp = half.split ? i : half.posted % half.qps;
    const bool taken = half.device->post_send(half.qpn[qp], request, doorbell_ps);
    WEFT_CHECK(taken || !failure_.empty(), "a send queue has room for all slots of its connection");
    now_ps = doorbell_ps + cpu.post_loop_ps;
  }
  ++half.posted;
  half.slots_posted += message.steps;
  return std::max(now_ps, began_ps + proxy_message_ps(message.protocol));
}

// Of PAT a rank receives from each peer what it sends to its own.
void CollectiveHost::announce(std::uint32_t index, const nccl::Lane& lane, std::uint32_t peer,
                              std::uint32_t element_B) {
  CollectiveReceiveHalf& half = receives_[index];
  if (half.way != CollectiveWay::kNet && half.way != CollectiveWay::kSocket) return;
  nccl::Lane copy = lane;
  nccl::Primitive primitive;
  std::uint64_t messages = 0;
  while (copy.next(primitive)) {
    const bool pat = lane.kind == nccl::LaneKind::kPat;
    if (primitive.takes_from(peer) && primitive.frees) messages += lane.slices;
    if (half.socket == nullptr || !(pat ? primitive.gives_to(peer) && primitive.posts : primitive.receives)) continue;
    for (std::uint32_t i = 0; i < lane.slices; ++i)
      half.socket->expect(lane.line_B(nccl::message_count(lane, primitive, i) * element_B));
  }
  if (messages == 0) return;
  half.expected.push_back({messages, lane.slice_steps, lane.protocol});
  add_event(now_ps_ + gpus_[half.gpu].model.proxy_ps / 2, EventKind::kOffer, index, 0);
}

void CollectiveHost::progress_offers(std::uint32_t index, const Event& event) {
  CollectiveReceiveHalf& half = receives_[index];
  const auto has_room = [&] {
    return !half.expected.empty() && half.steps_out + half.expected.front().steps <= nccl::kBufferSteps;
  };
  if (!has_room()) return;
  if (half.way == CollectiveWay::kNet && proxy_is_busy(half.proxy, event)) return;
  Time_ps free_ps = host_.cpu_ps(now_ps_, program_);
  while (has_room()) {
    CollectiveReceiveHalf::Expected& expected = half.expected.front();
    half.protocol[half.offered % kMostMessages] = expected.protocol;
    if (half.way == CollectiveWay::kSocket) {
      half.socket->add_room(now_ps_);
    } else {
      free_ps = post_offer(half, free_ps);
    }
    ++half.offered;
    half.steps_out += expected.steps;
    if (--expected.messages == 0) half.expected.pop_front();
  }
  if (half.way == CollectiveWay::kNet) proxy_free_ps_[half.proxy] = free_ps;
}

// A receive for the immediate data, and an element of the sender's FIFO.
Time_ps CollectiveHost::post_offer(CollectiveReceiveHalf& half, Time_ps now_ps) {
  const host::HostModel& cpu = host_.model();
  const auto index = static_cast<std::uint64_t>(&half - receives_.data());
  const std::uint32_t parts = half.split ? half.qps : 1;
  half.parts[half.offered % kMostMessages] = static_cast<std::uint8_t>(parts);
  half.size_B[half.offered % kMostMessages] = 0;
  for (std::uint32_t i = 0; i < parts; ++i) {
    const std::uint64_t qp = half.split ? i : half.offered % half.qps;
    nic::ReceiveRequest receive{kReceiveId | half.offered % kMostMessages << 32 | index, 0, half.lkey, 0};
    const bool taken = half.device->post_receive(half.qpn[qp], receive);
    WEFT_CHECK(taken || !failure_.empty(), "a receive queue has room for all slots of its connection");
    now_ps += cpu.post_recv_ps;
  }
  nic::SendRequest request;
  request.wr_id = kOfferId | index;
  request.opcode = nic::WrOpcode::kWrite;
  request.signaled = half.offered % kSignalEvery == 0;
  request.length_B = kCollectiveOffer_B;
  request.local_va = 0x7fe000000000;
  request.lkey = half.lkey;
  request.function = half.host_function;
  request.remote_va = half.fifo_va + half.offered % kFifoElements * kCollectiveOffer_B;
  request.rkey = half.fifo_rkey;
  const Time_ps doorbell_ps = now_ps + cpu.post_wqe_ps + cpu.doorbell_ps;
  const bool posted = half.device->post_send(half.qpn[0], request, doorbell_ps);
  WEFT_CHECK(posted || !failure_.empty(), "a send queue has room for all elements of the FIFO");
  return doorbell_ps + cpu.post_loop_ps;
}

void CollectiveHost::take(nic::Device& device, const nic::Completion& completion) {
  if (completion.status != nic::WcStatus::kSuccess) return fail(device, completion);
  if ((completion.wr_id & kOfferId) != 0) return;
  const auto index = static_cast<std::uint32_t>(completion.wr_id);
  if ((completion.wr_id & kReceiveId) == 0) {
    CollectiveSendHalf& half = sends_[index];
    // Of several queue pairs a later message may be done first: slots are given back in order, one for each.
    CollectiveSendHalf::Message& message = half.messages[half.sent % kMostMessages];
    if (--message.parts > 0) return;
    return message_sent(index);
  }
  CollectiveReceiveHalf& half = receives_[index];
  if (half.staged) pass_uplink(half.nic_uplink, true, completion.byte_len, now_ps_);
  --half.parts[(completion.wr_id >> 32) % kMostMessages];
  half.size_B[(completion.wr_id >> 32) % kMostMessages] += completion.byte_len;
  while (half.received < half.offered && half.parts[half.received % kMostMessages] == 0) message_received(index);
}

// The slot is free again: the block hears of it.
void CollectiveHost::message_sent(std::uint32_t index) {
  CollectiveSendHalf& half = sends_[index];
  const nccl::KernelModel& model = gpus_[half.gpu].model;
  const std::uint8_t steps = half.messages[half.sent++ % kMostMessages].steps;
  Time_ps& free_ps = proxy_free_ps_[half.proxy];
  free_ps = std::max(free_ps, now_ps_) + host_.model().poll_hit_ps;
  add_event(free_ps + model.proxy_ps / 2 + model.from_host_ps, EventKind::kCredit, index, steps);
}

// A read through the NIC's own port, behind what was written: NIC, PCIe and GPU once there and back.
Time_ps CollectiveHost::flush_ps(const CollectiveReceiveHalf& half) const {
  if (!half.flush) return 0;
  const host::HostModel& cpu = host_.model();
  const nic::NicModel& nic = half.device->model();
  const host::GpuModel& gpu = engine_.cluster().machines[machine_].places.gpus[half.gpu].model;
  return cpu.post_wqe_ps + cpu.doorbell_ps + cpu.mmio_write_ps + nic.tx_latency_ps + nic.rx_latency_ps +
         cpu.dma_read_ps + gpu.peer_latency_ps + cpu.dma_write_ps;
}

void CollectiveHost::message_received(std::uint32_t index) {
  CollectiveReceiveHalf& half = receives_[index];
  const nccl::KernelModel& model = gpus_[half.gpu].model;
  const std::uint64_t slot = half.received++ % kMostMessages;
  const nccl::Protocol protocol = half.protocol[slot];
  Time_ps& free_ps = proxy_free_ps_[half.proxy];
  free_ps = std::max(free_ps, now_ps_) + host_.model().poll_hit_ps;
  // The flags of LL are in the data: no proxy passes it on.
  Time_ps seen_ps = now_ps_ + (half.staged ? model.from_host_ps : model.poll_ps);
  if (protocol == nccl::Protocol::kSimple) seen_ps = free_ps + model.proxy_ps / 2 + flush_ps(half) + model.from_host_ps;
  // Room for it was made before, which is a part of the proxy's time.
  const host::HostModel& cpu = host_.model();
  const Time_ps room_ps = cpu.post_recv_ps + cpu.post_wqe_ps + cpu.doorbell_ps + cpu.post_loop_ps + cpu.poll_hit_ps;
  free_ps += std::max<Time_ps>(proxy_message_ps(protocol) - room_ps, 0);
  half.first_ps[slot] = seen_ps;
  if (half.device != nullptr)
    half.first_ps[slot] -= half.size_B[slot] * (8 * kSecond_ps / (half.device->model().line_rate_bps / 1000)) / 1000;
  add_event(seen_ps, EventKind::kData, index, seen_ps);
}

void CollectiveHost::fail(const nic::Device& device, const nic::Completion& completion) {
  if (!failure_.empty() || completion.status == nic::WcStatus::kFlushError) return;
  failure_ =
      fmt::format("NET/IB: Got completion with status={} ({}) vendor_err={} hca {}", nic::name(completion.status),
                  static_cast<int>(completion.status), completion.vendor_error, device.name());
}

}  // namespace weft::workload
