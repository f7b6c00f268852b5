#include "nic/transports/requester.h"

#include <algorithm>
#include <optional>

#include "base/check.h"
#include "nic/congestion/reaction_point.h"
#include "nic/queues/drain.h"
#include "nic/receive.h"
#include "nic/record/message_trace.h"
#include "nic/transmit.h"
#include "nic/transports/psn.h"
#include "nic/transports/recovery.h"
#include "nic/transports/roce_packet.h"
#include "wire/aeth_syndrome.h"

namespace weft::nic {

using engine::Packet;
using fabric::Fate;
using wire::Opcode;

namespace {

// Error of a response at `index` of its WQE. A READ that is asked for again from its middle is answered from
// there with First or Only.
WcStatus response_error(const SendWqe& wqe, std::uint32_t index, std::uint32_t mtu_B, const Packet& packet,
                        std::uint32_t aeth) {
  auto opcode = operation_of(packet);
  bool positive = wire::aeth_kind(static_cast<std::uint8_t>(aeth >> 24)) == wire::AethKind::kAck;
  if (!positive && opcode != Opcode::kReadResponseMiddle) return WcStatus::kBadResponse;
  if (is_atomic(wqe.request.opcode)) return opcode == Opcode::kAtomicAck ? WcStatus::kSuccess : WcStatus::kBadResponse;
  if (wqe.request.opcode != WrOpcode::kRead || opcode == Opcode::kAtomicAck) return WcStatus::kBadResponse;
  if (index == 0 && !wire::is_first(opcode) && !wire::is_only(opcode)) return WcStatus::kBadResponse;
  bool ends = wire::is_last(opcode) || wire::is_only(opcode);
  bool last = index + 1 == wqe.packets;
  std::uint32_t due_B = last ? wqe.request.length_B - index * mtu_B : mtu_B;
  return ends == last && packet.payload_B == due_B ? WcStatus::kSuccess : WcStatus::kLocalLengthError;
}

void push_send_completion(Port& port, QueuePair& qp, const SendWqe& wqe, WcStatus status, Time_ps visible_ps) {
  static constexpr WcOpcode kOpcode[] = {
      WcOpcode::kWrite,      WcOpcode::kWrite,           WcOpcode::kSend, WcOpcode::kSend,     WcOpcode::kSend,
      WcOpcode::kBindWindow, WcOpcode::kLocalInvalidate, WcOpcode::kRead, WcOpcode::kFetchAdd, WcOpcode::kCompareSwap};
  Completion completion;
  completion.wr_id = wqe.request.wr_id;
  completion.visible_ps = visible_ps;
  completion.byte_len = wqe.request.length_B;
  completion.qpn = qp.qpn;
  completion.status = status;
  completion.opcode = kOpcode[static_cast<int>(wqe.request.opcode)];
  completion.vendor_error = mlx5_vendor_error(status);
  completion.freed = qp.req.head + 1;
  port.completions.push(qp.send_cq, completion);
}

fabric::Fate receive_ack(Port& port, QueuePair& qp, const Packet& packet, std::uint32_t aeth_word, Time_ps now_ps) {
  std::uint32_t psn = psn_of(packet);
  std::uint32_t una_psn = qp.req.una_psn;
  auto syndrome = static_cast<std::uint8_t>(aeth_word >> 24);
  wire::AethKind kind = wire::aeth_kind(syndrome);
  bool positive = kind == wire::AethKind::kAck;
  bool reserved = kind == wire::AethKind::kReserved || (kind == wire::AethKind::kNak && !wire::nak_code(syndrome));
  if (reserved) [[unlikely]]
    return Fate::kBadResponse;
  // A NAK acknowledges everything before its PSN.
  bool complete = acknowledge(port, qp, positive ? psn_add(psn, 1) : psn, now_ps);
  signal_ack(port, qp, una_psn, &packet, now_ps);
  if (!complete) {
    if (!qp.req.implied_nak) {
      // The peer acknowledged past a READ or atomic whose response never came.
      ++port.counters.implied_nak_seq_err;
      qp.req.implied_nak = true;
      go_back(port, qp, qp.req.una_psn, now_ps + nak_reaction_ps(port));
    }
    return Fate::kAccepted;
  }
  if (positive) {
    std::optional<std::uint32_t> credits = wire::credits_of_code(wire::aeth_value(syndrome));
    qp.req.limited = credits.has_value();
    qp.req.acked_msn = aeth_word & kPsnMask;
    qp.req.limit_msn = psn_add(qp.req.acked_msn, credits.value_or(0));
  }
  if (kind == wire::AethKind::kRnrNak) return on_rnr(port, qp, wire::aeth_value(syndrome), now_ps);
  if (kind == wire::AethKind::kNak) return on_nak(port, qp, wire::aeth_value(syndrome), now_ps);
  if (qp.req.tx != qp.req.tail) {
    queue_request(port, qp, now_ps);
  }
  return Fate::kAccepted;
}

// A READ response or an atomic ACK: must be the next one due; implicitly acknowledges SENDs and WRITEs before it. One
// that its request does not ask for fails that request: Bad Response for its opcode (IBTA vol 1, 9.9.2), Local Length
// for its length, as NICs with unequal path MTUs report.
fabric::Fate receive_data(Port& port, QueuePair& qp, Packet& packet, Time_ps now_ps) {
  Requester& req = qp.req;
  std::uint32_t psn = psn_of(packet);
  if (!acknowledge(port, qp, psn, now_ps) || req.una_psn != psn) {
    if (!req.implied_nak) {
      ++port.counters.implied_nak_seq_err;
      req.implied_nak = true;
      go_back(port, qp, req.una_psn, now_ps + nak_reaction_ps(port));
    }
    return Fate::kOutOfSequence;
  }
  SendWqe& wqe = req.at(req.head);
  std::uint32_t index = psn_distance(psn, wqe.first_psn);
  WEFT_CHECK(req.head != req.tail && index < wqe.packets, "a response to no outstanding work request");
  std::uint32_t aeth = aux_of(port, packet);
  WcStatus wrong = response_error(wqe, index, qp.attributes.path_mtu_B, packet, aeth);
  if (wrong != WcStatus::kSuccess) [[unlikely]] {
    fail_send_queue(port, qp, wrong, now_ps);
    return Fate::kBadResponse;
  }
  Time_ps left_ps = port.functions[qp.function].write(std::max<std::uint32_t>(packet.payload_B, 8), now_ps);
  MemoryRegion* region = port.memory.find(wqe.request.lkey);
  if (region != nullptr && region->has_bytes()) {
    std::uint64_t va = wqe.request.local_va + std::uint64_t{index} * qp.attributes.path_mtu_B;
    bool stored = false;
    if (is_atomic(wqe.request.opcode)) {
      std::uint8_t original[8];
      std::uint64_t value = headers_of(port, packet).compare;
      for (unsigned i = 0; i < 8; ++i) original[i] = static_cast<std::uint8_t>(value >> (8 * i));
      stored = region->covers(va, sizeof(original)) &&
               port.completions.store(*region, va, original, left_ps, port.functions[0]);
    } else {
      stored = region->covers(va, port.completions.payload_of(packet).size()) &&
               port.completions.store_payload(*region, va, packet, left_ps, port.functions[0]);
    }
    if (!stored) [[unlikely]]
      region = nullptr;
  }
  if (region == nullptr && wqe.request.length_B > 0) [[unlikely]] {
    fail_send_queue(port, qp, WcStatus::kLocalProtectionError, now_ps);
    return Fate::kAccepted;
  }
  req.una_psn = psn_add(psn, 1);
  if (index + 1 == wqe.packets) {
    finish_head(port, qp, WcStatus::kSuccess, now_ps, left_ps);
  } else if (req.tx == req.head) {
    // It was late, and the READ is about to be sent again: only for the rest.
    req.tx_packet = std::max(req.tx_packet, index + 1);
  }
  progress(port, qp, now_ps);
  if (req.tx != req.tail) queue_request(port, qp, now_ps);
  return Fate::kAccepted;
}

[[gnu::always_inline]] inline fabric::Fate process_response(Port& port, QueuePair& qp, Packet& packet, Time_ps now_ps) {
  Requester& req = qp.req;
  // Only PSNs that were sent and are not yet acknowledged mean anything.
  if (psn_distance(psn_of(packet), req.una_psn) >= psn_distance(req.high_psn, req.una_psn)) return Fate::kStaleResponse;
  std::uint32_t una_psn = req.una_psn;
  if (operation_of(packet) != Opcode::kAck) {
    Fate fate = receive_data(port, qp, packet, now_ps);
    signal_ack(port, qp, una_psn, nullptr, now_ps);
    return fate;
  }
  std::uint32_t aeth = aux_of(port, packet);
  return receive_ack(port, qp, packet, aeth, now_ps);
}

}  // namespace

fabric::Fate receive_response(Port& port, QueuePair& qp, Packet& packet, Time_ps now_ps) {
  if (qp.state == QpState::kRts) [[likely]]
    return process_response(port, qp, packet, now_ps);
  if (qp.state != QpState::kSqd) return Fate::kUnknownQp;
  Fate fate = process_response(port, qp, packet, now_ps);
  check_drained(port, qp, now_ps);
  return fate;
}

bool acknowledge(Port& port, QueuePair& qp, std::uint32_t next_una, Time_ps now_ps) {
  Requester& req = qp.req;
  WEFT_DCHECK(!psn_before(req.una_psn, next_una) ||
                  psn_distance(next_una, req.una_psn) <= psn_distance(req.high_psn, req.una_psn),
              "an acknowledgement of what was never sent");
  bool moved = false;
  bool complete = true;
  while (psn_before(req.una_psn, next_una)) {
    SendWqe& wqe = req.at(req.head);
    WEFT_DCHECK(req.head != req.tail, "PSNs are outstanding, and no work request is");
    if (needs_response(wqe.request.opcode)) {
      complete = false;
      break;
    }
    moved = true;
    std::uint32_t end_psn = psn_add(wqe.first_psn, wqe.packets);
    if (psn_before(next_una, end_psn)) {
      req.una_psn = next_una;
      // A late ACK can overtake a retransmission: do not send again what has arrived.
      if (req.tx == req.head) req.tx_packet = std::max(req.tx_packet, psn_distance(next_una, wqe.first_psn));
      break;
    }
    req.una_psn = end_psn;
    finish_head(port, qp, WcStatus::kSuccess, now_ps, 0);
  }
  if (moved) progress(port, qp, now_ps);
  return complete;
}

void finish_head(Port& port, QueuePair& qp, WcStatus status, Time_ps now_ps, Time_ps data_left_ps) {
  Requester& req = qp.req;
  WEFT_CHECK(req.head != req.tail, "a work request ends that was not posted");
  WEFT_DCHECK(req.tx - req.head <= req.tail - req.head, "a requester sends outside of its send queue");
  const SendWqe& wqe = req.at(req.head);
  if (needs_response(wqe.request.opcode) && req.tx != req.head) {
    WEFT_CHECK(req.responses_due > 0, "a response that no request has asked for");
    --req.responses_due;
  }
  Time_ps done_ps = std::max(now_ps, data_left_ps);
  if (wqe.request.signaled || status != WcStatus::kSuccess) {
    Time_ps left_ps = port.functions[qp.function].write_entry(kCqe_B, done_ps);
    done_ps = port.completions.visible_ps(left_ps, port.functions[qp.function]);
    push_send_completion(port, qp, wqe, status, done_ps);
    if (port.config.host.trace != nullptr) [[unlikely]]
      port.config.host.trace->completed(port.device, qp, wqe, now_ps, data_left_ps, port.functions[qp.function]);
  }
  if (port.records && status == WcStatus::kSuccess && !is_local(wqe.request.opcode))
    port.recorder->completed(port.qps.context_of(qp), done_ps - wqe.posted_ps);
  WEFT_DCHECK(done_ps >= wqe.posted_ps || status == WcStatus::kFlushError, "a work request ends before its doorbell");
  if (req.tx == req.head) req.next_wqe();
  ++req.head;
}

}  // namespace weft::nic
