#include "nic/congestion/reaction_point.h"

#include <algorithm>

#include "base/check.h"
#include "nic/transmit.h"
#include "nic/transports/psn.h"
#include "nic/transports/roce_packet.h"

namespace weft::nic {

using engine::Packet;

namespace {

// The pace has changed while a packet waits: what is left of the wait shrinks or grows with it.
void rescale_wait(QueuePair& qp, std::int64_t before_q16, Time_ps now_ps) {
  const CongestionState& state = qp.congestion;
  if (qp.next_send_ps <= now_ps) return;
  if (before_q16 > 0 && state.pace_q16 != before_q16) {
    auto left = static_cast<unsigned __int128>(qp.next_send_ps - now_ps) * static_cast<std::uint64_t>(state.pace_q16);
    qp.next_send_ps = now_ps + static_cast<Time_ps>(left / static_cast<std::uint64_t>(before_q16));
  }
  qp.pace_ps = std::min(qp.next_send_ps, std::max(state.until_ps, now_ps + 1));
}

}  // namespace

CongestionEnvironment environment_of(const Port& port, const QueuePair& qp) {
  return {port.line_rate_bps, qp.attributes.path_mtu_B, port.config.model.slow_restart, port.config.model.mild_restart};
}

void start_congestion_control(Port& port, QueuePair& qp, Time_ps now_ps) {
  qp.congestion = {};
  qp.pace_ps = qp.next_send_ps = 0;
  qp.set_flag(QueuePair::kTimesPackets, false);
  qp.set_flag(QueuePair::kAsksForTelemetry, qp.attributes.telemetry != engine::TelemetryFormat::kNone);
  if (port.cc == nullptr || (port.config.qos.cc_prio_mask >> qp.packet.priority & 1) == 0) return;
  qp.congestion.active = true;
  if (port.cc->wants_rtt) qp.set_flag(QueuePair::kTimesPackets, true);
  if (port.cc->wants_telemetry) qp.set_flag(QueuePair::kAsksForTelemetry, true);
  port.cc->start(qp.congestion, port.config.qos.congestion, environment_of(port, qp), now_ps);
}

// A packet of so many bytes leaves now: the next may when it is paid for at the present pace. Where the pace will
// change before that, it is looked at again then.
void pace(Port& port, QueuePair& qp, std::uint32_t line_bytes, Time_ps now_ps) {
  CongestionState& state = qp.congestion;
  WEFT_DCHECK(now_ps >= qp.last_sent_ps, "packets leave in another order than time");
  qp.last_sent_ps = now_ps;
  state.until_bytes_B -= line_bytes;
  if (now_ps >= state.until_ps || state.until_bytes_B <= 0) [[unlikely]] {
    const std::int64_t before_q16 = state.pace_q16;
    port.cc->settle(state, port.config.qos.congestion, environment_of(port, qp), now_ps);
    if (port.records && state.pace_q16 > before_q16)
      port.recorder->rate_cut(qp, before_q16, port.line_rate_bps, now_ps);
  }
  WEFT_DCHECK(state.pace_q16 >= 0, "a pace below none");
  qp.next_send_ps = now_ps + (static_cast<std::int64_t>(line_bytes) * state.pace_q16 >> 16);
  qp.pace_ps = std::min(qp.next_send_ps, std::max(state.until_ps, now_ps + 1));
}

bool wait_is_over(Port& port, QueuePair& qp, Time_ps now_ps) {
  CongestionState& state = qp.congestion;
  const std::int64_t before_q16 = state.pace_q16;
  if (now_ps >= state.until_ps) port.cc->settle(state, port.config.qos.congestion, environment_of(port, qp), now_ps);
  rescale_wait(qp, before_q16, now_ps);
  if (port.records && state.pace_q16 > before_q16) port.recorder->rate_cut(qp, before_q16, port.line_rate_bps, now_ps);
  return qp.next_send_ps <= now_ps;
}

bool fills_window(const QueuePair& qp) {
  std::uint32_t next_psn = psn_add(qp.req.wqes[qp.req.tx & qp.req.mask].first_psn, qp.req.tx_packet);
  std::uint64_t in_flight_B = std::uint64_t{psn_distance(next_psn, qp.req.una_psn)} * qp.attributes.path_mtu_B;
  return in_flight_B > 0 && in_flight_B + qp.attributes.path_mtu_B > qp.congestion.window_B;
}

void receive_cnp(Port& port, QueuePair& qp, Time_ps now_ps) {
  ++qp.cnps_received;
  if (!qp.congestion.active || port.cc->cnp == nullptr) {
    ++port.counters.rp_cnp_ignored;
    return;
  }
  ++port.counters.rp_cnp_handled;
  const std::int64_t before_q16 = qp.congestion.pace_q16;
  port.cc->cnp(qp.congestion, port.config.qos.congestion, environment_of(port, qp), now_ps);
  rescale_wait(qp, before_q16, now_ps);
  if (port.records) port.recorder->rate_cut(qp, before_q16, port.line_rate_bps, now_ps);
}

void signal_ack(Port& port, QueuePair& qp, std::uint32_t una_before, const Packet* packet, Time_ps now_ps) {
  if (!qp.congestion.active || port.cc->ack == nullptr) return;
  Requester& req = qp.req;
  AckSignal signal;
  signal.now_ps = now_ps;
  signal.acked_B = psn_distance(req.una_psn, una_before) * qp.attributes.path_mtu_B;
  signal.acked_psn = req.una_psn;
  signal.next_psn = req.high_psn;
  if (req.timed_ps != kNever_ps && !psn_before(req.una_psn, req.timed_psn)) {
    signal.rtt_ps = now_ps - req.timed_ps;
    WEFT_CHECK(signal.rtt_ps > 0, "a round trip of no time");
    req.timed_ps = kNever_ps;
  }
  if (packet != nullptr) signal.hops = packet->hops;
  if (packet != nullptr && (packet->flags & Packet::kHasCold) != 0) {
    std::uint32_t slot = port.in.destination().cold[packet->aux].telemetry;
    if (slot != engine::kNoSlot) signal.telemetry = &port.in.destination().telemetry[slot];
  }
  const std::int64_t before_q16 = qp.congestion.pace_q16;
  port.cc->ack(qp.congestion, port.config.qos.congestion, environment_of(port, qp), signal);
  rescale_wait(qp, before_q16, now_ps);
  if (port.records && qp.congestion.pace_q16 > before_q16)
    port.recorder->rate_cut(qp, before_q16, port.line_rate_bps, now_ps);
  if (req.queued_ps != kNever_ps && req.queued_ps > std::max(qp.pace_ps, now_ps))
    queue_request(port, qp, std::max(qp.pace_ps, now_ps));  // the pace rose
}

void signal_loss(Port& port, QueuePair& qp, Loss loss, Time_ps now_ps) {
  qp.req.timed_ps = kNever_ps;
  if (!qp.congestion.active) return;
  if (port.cc->takes_loss_as_cnp && port.config.model.slow_restart) {
    // A CNP of its own, and counted as one: senders handled 2.24 times as many as their peer had sent ([simllm-dcqcn]).
    ++port.counters.roce_slow_restart;
    ++port.counters.rp_cnp_handled;
  }
  const std::int64_t before_q16 = qp.congestion.pace_q16;
  port.cc->lost(qp.congestion, port.config.qos.congestion, environment_of(port, qp), loss, now_ps);
  rescale_wait(qp, before_q16, now_ps);
  if (port.records) port.recorder->rate_cut(qp, before_q16, port.line_rate_bps, now_ps);
}

// A new packet of an algorithm that wants to know the round trip.
void time_packet(QueuePair& qp, Packet& packet, Time_ps now_ps) {
  Requester& req = qp.req;
  if (req.timed_ps != kNever_ps) return;
  req.timed_ps = now_ps;
  req.timed_psn = psn_add(psn_of(packet), 1);
  packet.word |= kAckReq;
}

// Switches will write into this packet what they saw: for an algorithm, or because the workload asks for it.
void ask_for_telemetry(Port& port, const QueuePair& qp, Packet& packet) {
  engine::Cold& cold = add_cold(port, packet);
  cold.telemetry = port.schedule.wire().source().telemetry.take();
  engine::Telemetry& telemetry = port.schedule.wire().source().telemetry[cold.telemetry];
  telemetry = {};
  if (qp.attributes.telemetry != engine::TelemetryFormat::kNone) telemetry.format = qp.attributes.telemetry;
  telemetry.echo = qp.congestion.active && port.cc->wants_telemetry;
  packet.header_words = static_cast<std::uint8_t>(packet.header_words + engine::telemetry_words(telemetry.format));
}

// The responder keeps the latest telemetry for its next acknowledgement, and the worst for whoever looks at the end.
void keep_telemetry(Port& port, QueuePair& qp, const Packet& packet) {
  engine::Domain& domain = port.in.destination();
  std::uint32_t slot = domain.cold[packet.aux].telemetry;
  if (slot == engine::kNoSlot) return;
  if (domain.telemetry[slot].echo) {
    if (qp.resp.telemetry == engine::kNoSlot) qp.resp.telemetry = domain.telemetry.take();
    domain.telemetry[qp.resp.telemetry] = domain.telemetry[slot];
  }
  if (qp.resp.worst_telemetry == engine::kNoSlot) {
    qp.resp.worst_telemetry = domain.telemetry.take();
    domain.telemetry[qp.resp.worst_telemetry] = {};
  }
  const engine::Telemetry& seen = domain.telemetry[slot];
  engine::Telemetry& worst = domain.telemetry[qp.resp.worst_telemetry];
  worst.count = std::max(worst.count, seen.count);
  for (std::size_t i = 0; i < seen.count; ++i) {
    engine::HopRecord hop = seen.hops[i];
    hop.queue_B = std::max(hop.queue_B, worst.hops[i].queue_B);
    hop.left_ps = std::max(hop.left_ps - hop.arrived_ps, worst.hops[i].left_ps);
    hop.arrived_ps = 0;
    worst.hops[i] = hop;
  }
}

void echo_telemetry(Port& port, QueuePair& qp, Packet& packet) {
  if (qp.resp.telemetry == engine::kNoSlot) return;
  engine::Telemetry& telemetry = port.in.destination().telemetry[qp.resp.telemetry];
  telemetry.closed = true;
  packet.header_words = static_cast<std::uint8_t>(packet.header_words + engine::telemetry_words(telemetry.format) +
                                                  telemetry.count * engine::telemetry_hop_words(telemetry.format));
  add_cold(port, packet).telemetry = qp.resp.telemetry;
  qp.resp.telemetry = engine::kNoSlot;
}

}  // namespace weft::nic
