// A switch that is a software forwarder: packets wait in RX rings for a CPU, which puts them into the qdisc of their
// egress port; what the byte queue limit lets through goes to the port's own queues, here the NIC's TX ring.
#include <algorithm>

#include "fabric/forwarder.h"
#include "fabric/switch.h"

namespace weft::fabric {

using engine::Packet;
using engine::PacketBody;

namespace {

constexpr std::uint32_t kFcs_B = 4;  // no part of what the kernel handles
constexpr std::uint32_t kRssSeed = 0x6d5a56da;

std::uint32_t kernel_length_B(const PacketBody& packet) {
  return line_B(packet) - kLineGap_B - kFcs_B;
}

}  // namespace

void Switch::make_forwarder() {
  if (!setup_.forwarder) return;
  std::vector<std::uint32_t> ids;
  for (const SwitchPortConfig& port : setup_.ports) ids.push_back(port.port_id);
  forwarder_ = std::make_unique<Forwarder>(*setup_.forwarder, ids, setup_.seed);
}

void Switch::receive_in_ring(std::uint32_t in, const Packet& packet, Time_ps now_ps) {
  const std::uint32_t cores = forwarder_->cores();
  const std::uint32_t core =
      cores == 1 ? 0 : pick(ecmp_hash(packet, ways_.destinations, false, ecmp_seed(kRssSeed)), cores);
  Time_ps interrupt_ps = kNever_ps;
  if (!forwarder_->receive(in, core, packet, now_ps, interrupt_ps)) {
    drop(packet, in, kNothing, 0, Fate::kRxRingFull, now_ps);
  } else if (interrupt_ps != kNever_ps) {
    add_timer(interrupt_ps, TimerKind::kInterrupt, forwarder_->queue(in, core));
  }
}

void Switch::run_interrupt(std::uint32_t queue, Time_ps now_ps) {
  const Time_ps done_ps = forwarder_->on_interrupt(queue, now_ps);
  if (done_ps != kNever_ps) add_timer(done_ps, TimerKind::kSoftirq, queue % forwarder_->cores());
}

void Switch::run_softirq(std::uint32_t core, Time_ps now_ps) {
  Packet packet;
  std::uint32_t in = 0;
  const Time_ps done_ps = forwarder_->on_packet(core, packet, in, now_ps);
  if (done_ps != kNever_ps) add_timer(done_ps, TimerKind::kSoftirq, core);
  dispatch(in, packet, now_ps);
}

// Of a packet whose egress port is known and takes its size.
void Switch::send_by_qdisc(std::uint32_t in, std::uint32_t out, PacketBody& packet, Time_ps now_ps) {
  if (ports_[out].reject != 0) {
    drop(packet, in, out, 0, Fate::kPortDown, now_ps);
    return;
  }
  Forwarder::TxPort& tx = forwarder_->tx(out);
  switch (tx.qdisc.enqueue(packet, in, kernel_length_B(packet), now_ps)) {
    case Qdisc::Verdict::kQueued:
      run_qdisc(out, now_ps);
      break;
    case Qdisc::Verdict::kEarlyDrop:
      drop(packet, in, out, 0, Fate::kWred, now_ps);
      break;
    case Qdisc::Verdict::kOverLimit:
      drop(packet, in, out, 0, Fate::kTailDrop, now_ps);
      break;
  }
}

void Switch::run_qdisc(std::uint32_t out, Time_ps now_ps) {
  Forwarder::TxPort& tx = forwarder_->tx(out);
  while (!tx.qdisc.empty()) {
    if (tx.limit.full()) {
      // The packet is out of the queue already when the kernel finds the port stopped, and goes back.
      if (tx.is_stopped) return;
      tx.qdisc.requeued();
      ++tx.stopped;
      tx.is_stopped = true;
      return;
    }
    Packet packet = tx.qdisc.front();
    const auto in = static_cast<std::uint32_t>(packet.time_ps);
    const std::uint32_t length_B = kernel_length_B(packet);
    tx.qdisc.pop(length_B, now_ps);
    tx.limit.queued(length_B + kFcs_B);
    tx.posted_B += length_B + kFcs_B;
    hand_to_port(in, out, packet, now_ps);
    if (tx.completion_ps != kNever_ps) continue;
    tx.completion_ps = forwarder_->completion_ps(tx, std::max(now_ps, ports_[out].free_ps));
    add_timer(tx.completion_ps, TimerKind::kTxCompletion, out);
  }
}

// Everything that has left the TX ring is completed at once.
void Switch::complete_transmission(std::uint32_t out, Time_ps now_ps) {
  Forwarder::TxPort& tx = forwarder_->tx(out);
  std::uint64_t waiting_B = 0;
  for (const Lane& lane : ports_[out].lanes) waiting_B += lane.queue.bytes;
  const std::uint64_t done_B = tx.posted_B - waiting_B;
  tx.completion_ps = kNever_ps;
  tx.limit.completed(done_B - tx.completed_B, now_ps);
  tx.completed_B = done_B;
  tx.max_limit_B = std::max(tx.max_limit_B, tx.limit.limit_B());
  if (!tx.limit.full()) tx.is_stopped = false;
  run_qdisc(out, now_ps);
  if (tx.completion_ps == kNever_ps && tx.limit.in_flight_B() > 0) {
    tx.completion_ps = forwarder_->completion_ps(tx, std::max(now_ps, ports_[out].free_ps));
    add_timer(tx.completion_ps, TimerKind::kTxCompletion, out);
  }
}

}  // namespace weft::fabric
