// Requests on the wire: packets of SENDs and WRITEs of RC, UC, XRC and selective repeat, and READ and atomic requests.
#include "base/check.h"
#include "nic/congestion/reaction_point.h"
#include "nic/transmit.h"
#include "nic/transports/psn.h"
#include "nic/transports/recovery.h"
#include "nic/transports/reliable_transport.h"
#include "nic/transports/roce_packet.h"
#include "nic/transports/selective_repeat.h"
#include "nic/transports/transport.h"

namespace weft::nic {

using engine::Packet;
using wire::Opcode;

namespace {

// Opcode of a data packet by operation and place in its message: first, middle, last, only.
constexpr Opcode kDataOpcode[5][4] = {
    {Opcode::kWriteFirst, Opcode::kWriteMiddle, Opcode::kWriteLast, Opcode::kWriteOnly},        // kWrite
    {Opcode::kWriteFirst, Opcode::kWriteMiddle, Opcode::kWriteLastImm, Opcode::kWriteOnlyImm},  // kWriteImm
    {Opcode::kSendFirst, Opcode::kSendMiddle, Opcode::kSendLast, Opcode::kSendOnly},            // kSend
    {Opcode::kSendFirst, Opcode::kSendMiddle, Opcode::kSendLastImm, Opcode::kSendOnlyImm},      // kSendImm
    {Opcode::kSendFirst, Opcode::kSendMiddle, Opcode::kSendLastInv, Opcode::kSendOnlyInv},      // kSendInv
};

// Every request of XRC names the shared receive queue of its message.
void add_xrc_eth(Packet& packet, engine::Cold& cold, std::uint32_t srq) {
  extension_of(cold).srq = srq & kPsnMask;
  packet.header_words = static_cast<std::uint8_t>(packet.header_words + wire::kXrcEthSize_B / 4);
}

// RETH, immediate and IETH; the opcode says which of them there are.
void fill_extension(RoceExtension& headers, const SendRequest& request, Opcode opcode) {
  headers.va = request.remote_va;
  headers.rkey = wire::has_ieth(opcode) ? request.imm : request.rkey;
  headers.dma_len = request.length_B;
  headers.imm = request.imm;
}

// A packet of a SEND or WRITE, of RC, UC or XRC. With selective repeat each packet of a WRITE is one of its own.
template <bool kReliable, bool kExtended, bool kSelective = false>
bool send_data(Port& port, QueuePair& qp, SendWqe& wqe, Time_ps now_ps) {
  Requester& req = qp.req;
  const SendRequest& request = wqe.request;
  std::uint32_t offset_B = req.tx_packet * qp.attributes.path_mtu_B;
  WEFT_DCHECK(req.tx_packet < wqe.packets && offset_B <= request.length_B, "a message is sent beyond its end");
  std::uint32_t left_B = request.length_B - offset_B;
  std::uint32_t chunk_B = std::min(left_B, qp.attributes.path_mtu_B);
  if (!request.inline_data && !fetch_now(port, qp, request.function, chunk_B, now_ps)) return false;
  bool first = req.tx_packet == 0;
  bool last = chunk_B == left_B;
  Opcode opcode = kDataOpcode[static_cast<int>(request.opcode)][first ? (last ? 3 : 0) : (last ? 2 : 1)];
  const bool own = kSelective && request.opcode <= WrOpcode::kWriteImm;
  if (own) opcode = last && request.opcode == WrOpcode::kWriteImm ? Opcode::kWriteOnlyImm : Opcode::kWriteOnly;
  std::uint32_t psn = psn_add(wqe.first_psn, req.tx_packet);
  Packet packet = new_packet(qp, opcode, psn);
  packet.payload_B = chunk_B & engine::kPayloadMask;
  // A window opens with ACKs: one that shrank below what a NIC coalesces would wait for its timeout.
  if (last || qp.congestion.window_B != CongestionState::kNoWindow_B) packet.word |= kAckReq;
  if (kSelective && own_state<SelectiveState>(qp).asks_for_ack) packet.word |= kAckReq;
  if (last && request.solicited) packet.word |= kSolicited;
  if (wire::has_reth(opcode) || wire::has_imm(opcode) || wire::has_ieth(opcode)) {
    RoceExtension& headers = extension_of(add_cold(port, packet));
    fill_extension(headers, request, opcode);
    if (own) {
      headers.va += offset_B;
      headers.dma_len = chunk_B;
      headers.set_selective(!last, request.length_B);
    }
  }
  if constexpr (kExtended) add_xrc_eth(packet, add_cold(port, packet), request.dest_qp);
  if (port.carry_payload && !add_payload(port, packet, request.lkey, request.local_va + offset_B)) [[unlikely]] {
    drop_unsent(port, packet);
    fail_sending(port, qp, WcStatus::kLocalProtectionError, now_ps);
    return false;
  }
  WEFT_DCHECK(psn_distance(psn, req.una_psn) < kMaxOutstandingPsns, "more PSNs outstanding than order allows");
  std::uint32_t next_psn = psn_add(psn, 1);
  if (psn_before(psn, req.high_psn)) {
    packet.flags |= Packet::kRetransmission;
    ++port.counters.retransmitted_packets;
    ++qp.retransmitted_packets;
    if (port.records) port.recorder->sends_again(qp, psn, now_ps);
  } else {
    WEFT_DCHECK(psn == req.high_psn, "a new packet leaves out a PSN");
    req.high_psn = next_psn;
    if (qp.flags & QueuePair::kTimesPackets) [[unlikely]]
      time_packet(qp, packet, now_ps);
  }
  if (qp.flags & QueuePair::kAsksForTelemetry) [[unlikely]]
    ask_for_telemetry(port, qp, packet);
  if constexpr (!kReliable) packet.word &= ~std::uint32_t{kAckReq};
  const std::uint32_t line_bytes = fabric::line_B(packet);
  if (port.cc != nullptr) pace(port, qp, line_bytes, now_ps);
  put_line(port, packet, line_bytes, now_ps);
  if constexpr (kReliable) {
    if (last) {
      req.next_wqe();
    } else {
      ++req.tx_packet;
    }
    if (req.deadline_ps == kNever_ps) {
      req.last_ack_ps = now_ps;
      arm_timer(port, qp, now_ps);
    }
  } else {
    finish_unreliable(port, qp, last);
  }
  return true;
}

// READ and atomics: one request packet. A READ that goes back asks only for what is missing.
template <bool kExtended>
void send_response_request(Port& port, QueuePair& qp, SendWqe& wqe, Time_ps now_ps) {
  Requester& req = qp.req;
  const SendRequest& request = wqe.request;
  bool read = request.opcode == WrOpcode::kRead;
  Opcode opcode =
      read ? Opcode::kReadRequest : (request.opcode == WrOpcode::kFetchAdd ? Opcode::kFetchAdd : Opcode::kCompareSwap);
  std::uint32_t offset_B = req.tx_packet * qp.attributes.path_mtu_B;
  std::uint32_t psn = psn_add(wqe.first_psn, req.tx_packet);
  WEFT_DCHECK(req.tx_packet < wqe.packets && offset_B <= request.length_B, "a READ is asked for beyond its end");
  WEFT_CHECK(psn_distance(psn, req.una_psn) <= psn_distance(req.high_psn, req.una_psn), "a request leaves out a PSN");
  Packet packet = new_packet(qp, opcode, psn);
  packet.word |= kAckReq;
  RoceExtension& headers = extension_of(add_cold(port, packet));
  headers.va = request.remote_va + offset_B;
  headers.rkey = request.rkey;
  headers.dma_len = request.length_B - offset_B;
  headers.swap_add = request.swap_add;
  headers.compare = request.compare;
  if constexpr (kExtended) add_xrc_eth(packet, add_cold(port, packet), request.dest_qp);
  std::uint32_t next_psn = psn_add(wqe.first_psn, wqe.packets);
  if (psn_before(psn, req.high_psn)) {
    packet.flags |= Packet::kRetransmission;
    ++port.counters.retransmitted_packets;
    if (port.records) port.recorder->sends_again(qp, psn, now_ps);
  }
  if (psn_before(req.high_psn, next_psn)) req.high_psn = next_psn;
  put(port, packet, now_ps);
  ++req.responses_due;
  WEFT_CHECK(req.responses_due <= req.tail - req.head, "more responses due than work requests outstanding");
  req.next_wqe();
  if (req.deadline_ps == kNever_ps) {
    req.last_ack_ps = now_ps;
    arm_timer(port, qp, now_ps);
  }
}

}  // namespace

bool send_rc(Port& port, QueuePair& qp, SendWqe& wqe, Time_ps now_ps) {
  if (!needs_response(wqe.request.opcode)) return send_data<true, false>(port, qp, wqe, now_ps);
  send_response_request<false>(port, qp, wqe, now_ps);
  return true;
}
bool send_uc(Port& port, QueuePair& qp, SendWqe& wqe, Time_ps now_ps) {
  return send_data<false, false>(port, qp, wqe, now_ps);
}
bool send_xrc(Port& port, QueuePair& qp, SendWqe& wqe, Time_ps now_ps) {
  if (!needs_response(wqe.request.opcode)) return send_data<true, true>(port, qp, wqe, now_ps);
  send_response_request<true>(port, qp, wqe, now_ps);
  return true;
}

bool SelectiveRepeat::send_data(Port& port, QueuePair& qp, SendWqe& wqe, Time_ps now_ps) {
  return nic::send_data<true, false, true>(port, qp, wqe, now_ps);
}

}  // namespace weft::nic
