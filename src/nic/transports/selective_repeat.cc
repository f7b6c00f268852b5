// Selective repeat: the requester. What is missing is sent again, ahead of new packets, and a probe behind it.
#include "nic/transports/selective_repeat.h"

#include "base/check.h"
#include "nic/congestion/reaction_point.h"
#include "nic/receive.h"
#include "nic/transmit.h"
#include "nic/transports/recovery.h"
#include "nic/transports/reliable_transport.h"
#include "nic/transports/requester.h"
#include "nic/transports/roce_packet.h"
#include "wire/aeth_syndrome.h"

namespace weft::nic {

using engine::Packet;
using fabric::Fate;
using wire::Opcode;

constinit const Transport kSelectiveRcTransport = {.name = "RC",
                                                   .number = kRcNumber,
                                                   .connected = true,
                                                   .reliable = true,
                                                   .one_packet = false,
                                                   .operations = kReliableOperations,
                                                   .state_B = sizeof(SelectiveState),
                                                   .format = &kRoceFormat,
                                                   .send = &SelectiveRepeat::send,
                                                   .send_reply = &SelectiveRepeat::send_reply,
                                                   .receive = &SelectiveRepeat::receive,
                                                   .on_timer = &SelectiveRepeat::on_timer};

namespace {

// Without progress no more of them: what never arrives is left to the timeout. Estimate.
constexpr std::uint8_t kMostProbes = 8;

// Which WQE has this PSN, of those that were sent and not acknowledged.
std::uint32_t wqe_of(Requester& req, std::uint32_t psn) {
  std::uint32_t index = req.head;
  while (psn_distance(psn, req.at(index).first_psn) >= req.at(index).packets) {
    WEFT_CHECK(index != req.tail, "a PSN of no work request");
    ++index;
  }
  return index;
}

std::uint32_t last_sent_psn(const Requester& req) {
  return psn_add(req.high_psn, kPsnMask);
}

bool wants_probe_now(const SelectiveState& state) {
  return state.wants_probe && !state.probing && state.probes < kMostProbes;
}
bool has_repairs(const SelectiveState& state) {
  return !state.again.empty() || wants_probe_now(state);
}

// The next packet to send again, or the probe behind the last of them.
std::uint32_t next_repair_psn(QueuePair& qp) {
  const SelectiveState& state = own_state<SelectiveState>(qp);
  return state.again.empty() ? last_sent_psn(qp.req) : state.again.first(qp.req.una_psn);
}

void go_to(Requester& req, std::uint32_t psn) {
  req.tx = wqe_of(req, psn);
  req.tx_packet = psn_distance(psn, req.at(req.tx).first_psn);
  req.started = false;
}

// The queue pair goes back as RC does, and what selective repeat had in mind is void.
void forget_repairs(SelectiveState& state) {
  state.again.clear();
  state.after_probe.clear();
  state.repairing = state.has_report = state.probing = state.wants_probe = false;
  state.probes = 0;
}

}  // namespace

void SelectiveRepeat::begin_repair(Port& port, QueuePair& qp, Time_ps at_ps) {
  Requester& req = qp.req;
  SelectiveState& state = own_state<SelectiveState>(qp);
  if (!state.repairing) {
    state.repairing = true;
    state.resume_tx = req.tx;
    state.resume_packet = req.tx_packet;
    state.resume_started = req.started;
  }
  go_to(req, next_repair_psn(qp));
  req.hold_until_ps = std::max(req.hold_until_ps, at_ps);
  qp.wait = Wait::kRecovery;
  if (port.records) port.recorder->recovers(port.qps.context_of(qp), port.schedule.last_event_ps());
  queue_request(port, qp, at_ps);
}

void SelectiveRepeat::end_repair(QueuePair& qp) {
  Requester& req = qp.req;
  SelectiveState& state = own_state<SelectiveState>(qp);
  WEFT_CHECK(state.repairing, "a repair ends that has not begun");
  state.repairing = false;
  req.tx = state.resume_tx;
  req.tx_packet = state.resume_packet;
  req.started = state.resume_started;
  // A queue pair that had gone back was to send again what has been acknowledged since.
  if (req.tx - req.head <= req.tail - req.head) return;
  req.tx = req.head;
  req.tx_packet = req.tx == req.tail ? 0 : psn_distance(req.una_psn, req.at(req.tx).first_psn);
  req.started = false;
}

// Where nothing else would call send(): new packets wait for what is missing, or there are none.
void SelectiveRepeat::nudge(Port& port, QueuePair& qp, Time_ps at_ps) {
  Requester& req = qp.req;
  if (own_state<SelectiveState>(qp).repairing) return;
  const bool stuck = req.tx == req.tail || needs_response(req.at(req.tx).request.opcode) ||
                     qp.congestion.window_B != CongestionState::kNoWindow_B;
  if (stuck) {
    begin_repair(port, qp, at_ps);
  } else {
    queue_request(port, qp, at_ps);
  }
}

bool SelectiveRepeat::send(Port& port, QueuePair& qp, SendWqe& wqe, Time_ps now_ps) {
  Requester& req = qp.req;
  SelectiveState& state = own_state<SelectiveState>(qp);
  if (state.repairing) [[unlikely]]
    return send_again(port, qp, wqe, now_ps);
  const bool repairs = has_repairs(state);
  if (repairs && now_ps >= state.repair_ps) {
    begin_repair(port, qp, now_ps);
    return false;
  }
  if (needs_response(wqe.request.opcode)) return send_rc(port, qp, wqe, now_ps);
  const std::uint32_t window = port.config.model.tx_psn_window;
  const std::uint32_t ahead = psn_distance(psn_add(wqe.first_psn, req.tx_packet), req.una_psn);
  if (ahead >= window) {
    qp.wait = Wait::kRoundTrip;  // the next ACK resumes
    if (repairs) begin_repair(port, qp, state.repair_ps);
    return false;
  }
  state.asks_for_ack = ahead + 1 == window;
  if (!send_data(port, qp, wqe, now_ps)) return false;
  if (repairs && req.tx == req.tail) begin_repair(port, qp, state.repair_ps);
  return true;
}

bool SelectiveRepeat::send_again(Port& port, QueuePair& qp, SendWqe& wqe, Time_ps now_ps) {
  Requester& req = qp.req;
  SelectiveState& state = own_state<SelectiveState>(qp);
  if (req.una_psn == req.high_psn || !has_repairs(state)) {
    end_repair(qp);
    if (req.tx != req.tail) queue_request(port, qp, now_ps);
    return false;
  }
  // An acknowledgement may have moved the place in the send queue meanwhile.
  const std::uint32_t psn = next_repair_psn(qp);
  if (psn_add(wqe.first_psn, req.tx_packet) != psn) {
    go_to(req, psn);
    queue_request(port, qp, now_ps);
    return false;
  }
  const bool probe = state.again.empty();
  if (probe && needs_response(wqe.request.opcode)) {
    state.wants_probe = false;  // a READ or an atomic is no probe: its timeout is
    end_repair(qp);
    if (req.tx != req.tail) queue_request(port, qp, now_ps);
    return false;
  }
  state.asks_for_ack = probe;
  if (!send_data(port, qp, wqe, now_ps)) return false;
  if (probe) {
    state.probing = true;
    ++state.probes;
    state.probe_psn = psn;
    state.wants_probe = false;
    state.after_probe.clear();
  } else {
    state.again.remove(psn);
    if (state.probing) state.after_probe.add(psn);
    state.wants_probe = true;
  }
  if (has_repairs(state)) {
    go_to(req, next_repair_psn(qp));
  } else {
    end_repair(qp);
  }
  return true;
}

// A NAK of selective repeat names a gap: from its PSN to the one in the place of the MSN, which has arrived.
Fate SelectiveRepeat::receive_response(Port& port, QueuePair& qp, Packet& packet, Time_ps now_ps) {
  Requester& req = qp.req;
  const std::uint32_t una_psn = req.una_psn;
  const bool implied_nak = req.implied_nak;
  bool goes_back = false;
  if (operation_of(packet) == Opcode::kAck) {
    const std::uint32_t aeth = aux_of(port, packet);
    const auto syndrome = static_cast<std::uint8_t>(aeth >> 24);
    const bool gap = syndrome == wire::nak_syndrome(wire::NakCode::kPsnSequenceError);
    if (gap && (packet.word & kSolicited) != 0) {
      const bool works = qp.state == QpState::kRts || qp.state == QpState::kSqd;
      return works ? receive_report(port, qp, psn_of(packet), aeth & kPsnMask, now_ps) : Fate::kUnknownQp;
    }
    goes_back = gap || wire::aeth_kind(syndrome) == wire::AethKind::kRnrNak;
  }
  const Fate fate = nic::receive_response(port, qp, packet, now_ps);
  if (goes_back || (!implied_nak && req.implied_nak)) forget_repairs(own_state<SelectiveState>(qp));
  acknowledged(port, qp, una_psn, now_ps);
  return fate;
}

Fate SelectiveRepeat::receive_report(Port& port, QueuePair& qp, std::uint32_t first, std::uint32_t end,
                                     Time_ps now_ps) {
  Requester& req = qp.req;
  SelectiveState& state = own_state<SelectiveState>(qp);
  const std::uint32_t outstanding = psn_distance(req.high_psn, req.una_psn);
  const std::uint32_t from = psn_distance(first, req.una_psn), to = psn_distance(end, req.una_psn);
  // A PSN acknowledged meanwhile is no longer missing; one that was never sent never was.
  if (to == 0 || to > outstanding || (from >= to && from < kPsnHalf)) return Fate::kStaleResponse;
  if (from >= kPsnHalf) first = req.una_psn;
  const std::uint32_t count = psn_distance(end, first);
  bool goes_back = count > PsnSet::kSpan;
  for (std::uint32_t i = wqe_of(req, first); !goes_back && psn_before(req.at(i).first_psn, end); ++i) {
    goes_back = needs_response(req.at(i).request.opcode);
    if (i + 1 == req.tail) break;
  }
  if (goes_back) {  // a READ or an atomic is among them
    forget_repairs(state);
    go_back(port, qp, req.una_psn, now_ps + nak_reaction_ps(port));
    return Fate::kAccepted;
  }
  const bool repeated = state.has_report && psn_before(first, state.reported_psn);
  if (port.records) port.recorder->lost(qp, PortEventKind::kNak, now_ps);
  if (repeated) {
    state.probing = false;  // this is what it was for
  } else if (port.cc != &kDcqcnAlgorithm) {
    signal_loss(port, qp, Loss::kNak, now_ps);
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t psn = psn_add(first, i);
    if (!repeated || !state.after_probe.has(psn)) state.again.add(psn);
  }
  if (!state.has_report || psn_before(state.reported_psn, end)) state.reported_psn = end;
  state.has_report = true;
  if (!has_repairs(state)) return Fate::kAccepted;
  state.repair_ps = now_ps + nak_reaction_ps(port);
  nudge(port, qp, state.repair_ps);
  return Fate::kAccepted;
}

void SelectiveRepeat::acknowledged(Port& port, QueuePair& qp, std::uint32_t una_before, Time_ps now_ps) {
  Requester& req = qp.req;
  SelectiveState& state = own_state<SelectiveState>(qp);
  const std::uint32_t moved = psn_distance(req.una_psn, una_before);
  if (moved > 0) state.probes = 0;
  if (moved == 0 || (!state.has_report && !state.wants_probe && !state.probing && state.again.empty())) return;
  state.again.remove(una_before, moved);
  state.after_probe.remove(una_before, moved);
  if (state.has_report && !psn_before(req.una_psn, state.reported_psn)) state.has_report = false;
  if (state.probing && psn_before(state.probe_psn, req.una_psn)) state.probing = false;
  // Nothing that was sent again is missing any more.
  if (!state.has_report && state.again.empty()) state.wants_probe = false;
  if (has_repairs(state)) nudge(port, qp, std::max(now_ps, state.repair_ps));
}

// Nothing has moved for the ACK timeout: the oldest packet is sent again, and a probe.
void SelectiveRepeat::on_timer(Port& port, QueuePair& qp, Time_ps now_ps) {
  if (!timer_is_due(port, qp, now_ps)) return;
  Requester& req = qp.req;
  SelectiveState& state = own_state<SelectiveState>(qp);
  const bool goes_back = needs_response(req.at(req.head).request.opcode);
  if (state.repairing) end_repair(qp);
  const std::uint32_t tx = req.tx, tx_packet = req.tx_packet, responses_due = req.responses_due;
  const bool started = req.started;
  forget_repairs(state);
  on_ack_timeout(port, qp, now_ps);
  if (goes_back || (qp.state != QpState::kRts && qp.state != QpState::kSqd)) return;
  req.tx = tx;
  req.tx_packet = tx_packet;
  req.started = started;
  req.responses_due = responses_due;
  state.again.add(req.una_psn);
  state.wants_probe = true;
  state.has_report = true;
  state.reported_psn = psn_add(req.una_psn, 1);
  state.repair_ps = now_ps;
  begin_repair(port, qp, now_ps);
}

}  // namespace weft::nic
