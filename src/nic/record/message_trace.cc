#include "nic/record/message_trace.h"

#include <algorithm>
#include <utility>

#include "nic/device.h"
#include "nic/transports/psn.h"
#include "nic/transports/roce_packet.h"

namespace weft::nic {

namespace {

Stage stage_of(Wait wait) {
  switch (wait) {
    case Wait::kPace:
      return Stage::kPace;
    case Wait::kPause:
      return Stage::kPaused;
    case Wait::kRecovery:
      return Stage::kRecovery;
    case Wait::kMessageRate:
    case Wait::kContext:
      return Stage::kMessageRate;
    case Wait::kPost:
    case Wait::kRoundTrip:
      return Stage::kSendQueue;
    default:
      return Stage::kPcie;
  }
}

}  // namespace

void MessageTrace::begin(Time_ps now_ps) {
  spans_.clear();
  begin_ps_ = until_ps_ = now_ps;
  phase_ = Phase::kIdle;
  way_ = 0;
}

void MessageTrace::expect_post(bool client) {
  sender_ = client ? 0 : 1;
  way_ = client ? 0 : 1;
  phase_ = Phase::kExpected;
  has_ack_ = false;
}

void MessageTrace::add(Stage stage, Time_ps until_ps, std::uint32_t from, std::uint32_t to) {
  if (until_ps == until_ps_) return;
  spans_.push_back({stage, way_, from, to, until_ps - until_ps_});
  until_ps_ = until_ps;
}

PathDelays MessageTrace::take_delays() {
  return std::exchange(delays_, {});
}

void MessageTrace::add_delays(PathDelays delays) {
  const auto after = [&](Stage stage, Time_ps time_ps) { add(stage, until_ps_ + time_ps); };
  after(Stage::kNumaHops, delays.numa_ps);
  after(Stage::kNumaBusy, delays.busy_ps);
  after(Stage::kPcieSwitches, delays.switch_ps);
  after(Stage::kGpuMemory, delays.gpu_ps);
  after(Stage::kIommu, delays.iommu_ps);
  after(Stage::kCopy, delays.copy_ps);
}

bool MessageTrace::is_from(std::size_t end, const Device& device, const QueuePair& qp) const {
  return &device == ends_[end].device && qp.qpn == ends_[end].qpn;
}

void MessageTrace::posted(const Device& device, const QueuePair& qp, const SendWqe& wqe, const Post& post) {
  const PathDelays delays = take_delays();
  if (phase_ != Phase::kExpected || !is_from(sender_, device, qp)) return;
  phase_ = Phase::kRequest;
  first_psn_ = wqe.first_psn;
  needs_response_ = needs_response(wqe.request.opcode);
  last_psn_ = psn_add(wqe.first_psn, wqe.packets - 1);
  settle(post.doorbell_ps);
  add(Stage::kDoorbell, until_ps_ + post.mmio_ps);
  add(Stage::kTransmit, until_ps_ + post.transmit_ps);
  add(Stage::kPayloadRead, until_ps_ + post.read_ps);
  add(Stage::kPayloadBurst, until_ps_ + post.burst_ps);
  add_delays(delays);
  settle(wqe.ready_ps);
  port_free_ps_ = until_ps_;
  all_sent_ = false;
}

void MessageTrace::answered(const Device& device, const QueuePair& qp, std::uint32_t psn, const Answer& answer) {
  const PathDelays delays = take_delays();
  if (phase_ != Phase::kRequest || !needs_response_ || !is_from(1 - sender_, device, qp) || psn != first_psn_) return;
  settle(answer.now_ps);
  way_ = 1;
  add(Stage::kUnitBusy, answer.start_ps);
  add(Stage::kResponse, until_ps_ + answer.occupied_ps + answer.response_ps);
  add(Stage::kPayloadRead, until_ps_ + answer.read_ps);
  add(Stage::kPayloadBurst, until_ps_ + answer.burst_ps);
  add_delays(delays);
  settle(answer.ready_ps);
  port_free_ps_ = until_ps_;
  all_sent_ = false;
  phase_ = Phase::kReply;
}

void MessageTrace::seen_after(Time_ps left_ps, Time_ps memory_ps, Time_ps jitter_ps, Time_ps visible_ps) {
  seen_ = {left_ps, memory_ps, jitter_ps, visible_ps, take_delays()};
}

void MessageTrace::add_seen() {
  add(Stage::kMemory, until_ps_ + seen_.memory_ps);
  add(Stage::kJitter, until_ps_ + seen_.jitter_ps);
  add_delays(seen_.delays);
  settle(seen_.visible_ps);
  phase_ = Phase::kSeen;
}

void MessageTrace::delivered(const Device& device, const QueuePair& qp, std::uint32_t psn, Time_ps now_ps,
                             Time_ps placed_ps, Time_ps link_ps) {
  if (phase_ != Phase::kRequest || needs_response_ || !is_from(1 - sender_, device, qp) || psn != last_psn_) return;
  settle(now_ps);
  if (until_completion_) {
    phase_ = Phase::kReply;
    port_free_ps_ = now_ps;
    return;
  }
  add_write(now_ps, placed_ps, link_ps);
  add(Stage::kEntry, seen_.left_ps);
  add_seen();
}

void MessageTrace::add_write(Time_ps now_ps, Time_ps left_ps, Time_ps link_ps) {
  if (left_ps <= now_ps) return;
  add(Stage::kPayloadWrite, std::min(left_ps, now_ps + link_ps));
  add(Stage::kWriteBacklog, left_ps);
}

void MessageTrace::completed(const Device& device, const QueuePair& qp, const SendWqe& wqe, Time_ps now_ps,
                             Time_ps data_left_ps, const PcieFunction& function) {
  if (phase_ != Phase::kReply || !until_completion_ || !is_from(sender_, device, qp) || wqe.first_psn != first_psn_)
    return;
  settle(now_ps);
  const std::uint32_t last_B = wqe.request.length_B - (wqe.packets - 1) * qp.attributes.path_mtu_B;
  add_write(now_ps, data_left_ps, function.link_ps(std::max<std::uint32_t>(last_B, 8)));
  add(Stage::kEntry, seen_.left_ps);
  add_seen();
}

MessageTrace::Part MessageTrace::part_of(const engine::Packet& packet) {
  const End& from = ends_[sender_];
  const End& to = ends_[1 - sender_];
  const std::uint32_t psn = psn_of(packet);
  const auto is_between = [&](const End& a, const End& b) {
    return packet.src == a.device->port_id() && packet.dst == b.device->port_id() && packet.endpoint == b.qpn &&
           packet.transport == a.device->qp(a.qpn).packet.transport;
  };
  const bool within = psn_distance(psn, first_psn_) <= psn_distance(last_psn_, first_psn_);
  if (phase_ == Phase::kRequest && is_between(from, to) && wire::is_request(operation_of(packet)) && within)
    return needs_response_ || psn == last_psn_ ? Part::kLast : Part::kEarlier;
  if (phase_ != Phase::kReply || !is_between(to, from) || !wire::is_response(operation_of(packet))) return Part::kNone;
  if (needs_response_) return !within ? Part::kNone : psn == last_psn_ ? Part::kLast : Part::kEarlier;
  // The first acknowledgement that covers it; it may cover more.
  if (!has_ack_ && psn_distance(psn, last_psn_) < kPsnHalf) {
    has_ack_ = true;
    ack_psn_ = psn;
  }
  return has_ack_ && psn == ack_psn_ ? Part::kLast : Part::kNone;
}

// From here to the first bit of a packet: the port had others to send, or was idle for a reason that the queue pair
// has.
void MessageTrace::add_wait(const Device& device, std::uint32_t qpn, Time_ps start_ps) {
  if (start_ps <= until_ps_) return;
  const Time_ps idle_from_ps = std::clamp(port_free_ps_, until_ps_, start_ps);
  add(Stage::kSendQueue, idle_from_ps);
  const Wait wait = device.qp(qpn).wait;
  const auto limit = wait < Wait::kPcie ? 0u : static_cast<unsigned>(wait) - static_cast<unsigned>(Wait::kPcie);
  add(stage_of(wait), start_ps, limit, limit);
}

void MessageTrace::sent(const Hop& hop, const engine::Packet& packet, Time_ps start_ps) {
  if (phase_ != Phase::kRequest && phase_ != Phase::kReply) return;
  const End& sender = ends_[phase_ == Phase::kRequest ? sender_ : 1 - sender_];
  const bool first_link = hop.from == sender.device->port_id();
  const Time_ps end_ps = start_ps + Time_ps{fabric::line_B(packet)} * hop.ps_per_byte;
  const Part part = packet.transport == engine::kLinkControl ? Part::kNone : part_of(packet);
  if (part == Part::kLast || (part == Part::kEarlier && first_link)) {
    if (!first_link) {
      add(hop.from_forwarder ? Stage::kForwarder : Stage::kQueue, start_ps, hop.from, hop.to);
    } else if (phase_ == Phase::kReply && !needs_response_) {
      way_ = 1;
      add(Stage::kResponse, std::min(start_ps, until_ps_ + sender.device->model().response_latency_ps));
      add(Stage::kReplyPort, start_ps);
    } else {
      add_wait(*sender.device, sender.qpn, start_ps);
    }
    if (part == Part::kEarlier) add(Stage::kSerialisation, end_ps, hop.from, hop.to);
    if (part == Part::kLast && first_link) all_sent_ = true;
  } else if (first_link && !all_sent_ && (phase_ == Phase::kRequest || needs_response_)) {
    add_wait(*sender.device, sender.qpn, start_ps);
  }
  if (first_link) port_free_ps_ = end_ps;
}

void MessageTrace::arrived(const Hop& hop, const engine::Packet& packet, Time_ps first_bit_ps) {
  if ((phase_ != Phase::kRequest && phase_ != Phase::kReply) || packet.transport == engine::kLinkControl) return;
  if (part_of(packet) != Part::kLast) return;
  std::uint32_t waited_B = fabric::line_B(packet);
  if (hop.cut_through_B > 0) waited_B = std::min(waited_B, hop.cut_through_B);
  const Time_ps left_ps = until_ps_;
  add(Stage::kPropagation, left_ps + hop.propagation_ps, hop.from, hop.to);
  add(Stage::kFec, left_ps + hop.propagation_ps + hop.fec_ps, hop.from, hop.to);
  add(Stage::kPhy, left_ps + hop.flight_ps, hop.from, hop.to);
  add(Stage::kHeldBack, first_bit_ps, hop.from, hop.to);
  add(Stage::kSerialisation, until_ps_ + Time_ps{waited_B} * hop.ps_per_byte, hop.from, hop.to);
  add(hop.to_switch ? Stage::kSwitch : Stage::kReceive, packet.time_ps, hop.from, hop.to);
}

}  // namespace weft::nic
