// Unreliable connections: the SENDs and WRITEs of RC, and nothing that comes back (IBTA vol 1, 9.8.2). A message that
// loses a packet is forgotten; the receive that it took waits for the next one.
#include <optional>

#include "nic/congestion/reaction_point.h"
#include "nic/receive.h"
#include "nic/transports/psn.h"
#include "nic/transports/recovery.h"
#include "nic/transports/reliable_transport.h"
#include "nic/transports/requester.h"
#include "nic/transports/responder.h"
#include "nic/transports/roce_packet.h"
#include "nic/transports/transport.h"

namespace weft::nic {

using engine::Packet;
using fabric::Fate;
using wire::Opcode;

namespace {

std::optional<Fate> begin_unreliable(Port& port, QueuePair& qp, const Packet& packet, Time_ps now_ps) {
  Responder& resp = qp.resp;
  resp.is_write = wire::is_write(operation_of(packet));
  if (resp.is_write) {
    ++port.counters.rx_write_requests;
    const RoceExtension& headers = headers_of(port, packet);
    if (!qp.attributes.access.remote_write || headers.dma_len > kMaxMessage_B) return Fate::kRefused;
    resp.aim(headers.va, headers.rkey, headers.dma_len);
  } else {
    if (!has_receive(port, qp, now_ps)) {
      ++port.counters.out_of_buffer;
      return Fate::kNotReady;
    }
    const ReceiveRequest& receive = resp.receives[resp.head & resp.mask];
    resp.aim(receive.va, receive.lkey, receive.length_B);
  }
  resp.in_message = true;
  resp.received_B = 0;
  return std::nullopt;
}

// Packets that do not fit, or may not go where they want to, are dropped in silence. Only a receive that names wrong
// memory is this side's own mistake: it fails, and the queue pair with it.
Fate drop_unreliable(Port& port, QueuePair& qp, Placed why, Time_ps now_ps) {
  qp.resp.in_message = false;
  if (!qp.resp.is_write && why != Placed::kWrongLength) {
    fail_receive(port, qp, WcStatus::kLocalProtectionError, now_ps);
    enter_error(port, qp, now_ps);
  }
  return Fate::kRefused;
}

Fate receive_unreliable(Port& port, QueuePair& qp, Packet& packet, Time_ps now_ps) {
  bool can_receive = qp.state >= QpState::kRtr && qp.state <= QpState::kSqe;
  // UC has its operations under the numbers of RC, and no more.
  if (!can_receive || !wire::is_request(opcode_of(packet))) return Fate::kUnknownQp;
  Opcode opcode = operation_of(packet);
  note_packet(port, qp, now_ps);
  Responder& resp = qp.resp;
  bool begins = wire::is_first(opcode) || wire::is_only(opcode);
  bool ends = wire::is_last(opcode) || wire::is_only(opcode);
  bool expected = psn_of(packet) == resp.expected_psn;
  resp.expected_psn = psn_add(psn_of(packet), 1);
  if (!expected) ++port.counters.out_of_sequence;
  // A gap, a new message before the end of the last, or another kind of message in its middle: the rest is not wanted.
  bool write = wire::is_write(opcode);
  if (!expected || begins || write != resp.is_write) resp.in_message = false;
  if (!begins && !resp.in_message) return Fate::kOutOfSequence;
  if (begins) {
    if (auto fate = begin_unreliable(port, qp, packet, now_ps)) return *fate;
  }
  std::uint32_t mtu_B = qp.attributes.path_mtu_B;
  bool fits = ends ? packet.payload_B <= mtu_B && (begins || packet.payload_B > 0) : packet.payload_B == mtu_B;
  if (!fits || (resp.is_write && ends && packet.payload_B != resp.left_B))
    return drop_unreliable(port, qp, Placed::kWrongLength, now_ps);
  if (resp.is_write && wire::has_imm(opcode) && !has_receive(port, qp, now_ps)) {
    resp.in_message = false;
    ++port.counters.out_of_buffer;
    return Fate::kNotReady;
  }
  if (packet.payload_B > 0) {
    if (Placed placed = place_payload(port, qp, packet, now_ps); placed != Placed::kDone)
      return drop_unreliable(port, qp, placed, now_ps);
  }
  if (packet.flags & Packet::kHasCold) keep_telemetry(port, qp, packet);
  if (ends) end_message(port, qp, packet, now_ps);
  return Fate::kAccepted;
}

}  // namespace

const Transport kUcTransport = {.name = "UC",
                                .number = kUcNumber,
                                .connected = true,
                                .reliable = false,
                                .one_packet = false,
                                .operations = operation_bits(WrOpcode::kWrite, WrOpcode::kSendImm),
                                .state_B = 0,
                                .format = &kRoceFormat,
                                .send = &send_uc,
                                .send_reply = nullptr,
                                .receive = &receive_unreliable,
                                .on_timer = nullptr};

// A packet is on the wire, and done with.
void finish_unreliable(Port& port, QueuePair& qp, bool last) {
  Requester& req = qp.req;
  req.una_psn = req.high_psn;
  if (!last) {
    ++req.tx_packet;
    return;
  }
  req.next_wqe();
  finish_head(port, qp, WcStatus::kSuccess, port.schedule.free_ps(), 0);
}

}  // namespace weft::nic
