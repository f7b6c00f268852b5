// Unreliable datagrams: one packet, nothing comes back (IBTA vol 1, 9.8.3).
#include <algorithm>
#include <array>

#include "base/check.h"
#include "nic/receive.h"
#include "nic/record/message_trace.h"
#include "nic/transmit.h"
#include "nic/transports/psn.h"
#include "nic/transports/recovery.h"
#include "nic/transports/reply.h"
#include "nic/transports/requester.h"
#include "nic/transports/responder.h"
#include "nic/transports/roce_packet.h"
#include "nic/transports/transport.h"

namespace weft::nic {

using engine::kPayloadMask;
using engine::kPortMask;
using engine::Packet;
using fabric::Fate;
using wire::Opcode;

namespace {

// Complete as soon as it is on the wire.
bool send_datagram(Port& port, QueuePair& qp, SendWqe& wqe, Time_ps now_ps) {
  const SendRequest& request = wqe.request;
  WEFT_DCHECK(wqe.packets == 1 && qp.req.tx == qp.req.head, "a datagram of several packets, or not the oldest");
  if (!request.inline_data && !fetch_payload(port, qp, request.length_B, now_ps)) return false;
  Opcode opcode = request.opcode == WrOpcode::kSendImm ? Opcode::kUdSendOnlyImm : Opcode::kUdSendOnly;
  Packet packet = new_packet(qp, opcode, wqe.first_psn);
  if (request.to_group) [[unlikely]] {
    packet.dst = packet.src;
    packet.endpoint = kMulticastQpn;
  } else {
    packet.dst = port.config.turns_round(request.dest_port) ? packet.src : request.dest_port & kPortMask;
    if (needs_router(port, packet.src, request.dest_port)) packet.flags |= Packet::kRouted;
    packet.endpoint = request.dest_qp & kPsnMask;
  }
  if (request.has_class) [[unlikely]] {
    packet.tos = request.tos;
    packet.priority = port.classes.to_send(request.tos, request.priority) & 7;
  }
  packet.payload_B = request.length_B & kPayloadMask;
  if (request.solicited) packet.word |= kSolicited;
  engine::Cold& cold = add_cold(port, packet);
  RoceExtension& headers = extension_of(cold);
  if (request.to_group) {
    headers.set_group(request.group());
    cold.group = group_key(request.group());
  }
  headers.qkey = request.qkey;
  headers.src_qp = qp.qpn == port.shared.general_services_qpn ? kGeneralServicesQpn : qp.qpn;
  headers.imm = request.imm;
  if (!add_payload(port, packet, request.lkey, request.local_va)) [[unlikely]] {
    drop_unsent(port, packet);
    fail_sending(port, qp, WcStatus::kLocalProtectionError, now_ps);
    return false;
  }
  put(port, packet, now_ps);
  qp.req.una_psn = qp.req.high_psn = psn_add(wqe.first_psn, 1);
  qp.req.next_wqe();
  finish_head(port, qp, WcStatus::kSuccess, port.schedule.free_ps(), 0);
  return true;
}

// GRH and payload in one write. False: the receive does not name memory that may be written.
bool place_datagram(Port& port, const ReceiveRequest& receive, const Packet& packet, Time_ps left_ps) {
  MemoryRegion* region = port.memory.find(receive.lkey);
  bool allowed =
      region != nullptr && region->covers(receive.va, kGrh_B + packet.payload_B) && region->access.local_write;
  if (!allowed || !region->has_bytes()) return allowed;
  std::span<const std::uint8_t> payload = port.completions.payload_of(packet);
  if (port.config.host.make_grh == nullptr)
    return port.completions.store(*region, receive.va + kGrh_B, payload, left_ps, port.functions[0]);
  std::array<std::uint8_t, kGrh_B + engine::kPayloadSlot_B> bytes;
  const GroupGid group = headers_of(port, packet).group();
  const bool is_to_group = cold_of(port, packet).group != 0;
  port.config.host.make_grh(port.config.host.self, packet, is_to_group ? &group : nullptr,
                            std::span(bytes).first<kGrh_B>());
  std::copy(payload.begin(), payload.end(), bytes.begin() + kGrh_B);
  return port.completions.store(*region, receive.va, std::span(bytes).first(kGrh_B + payload.size()), left_ps,
                                port.functions[0]);
}

}  // namespace

const Transport kUdTransport = {.name = "UD",
                                .number = kUdNumber,
                                .connected = false,
                                .reliable = false,
                                .one_packet = true,
                                .operations = operation_bits(WrOpcode::kSend, WrOpcode::kSendImm),
                                .state_B = 0,
                                .format = &kRoceFormat,
                                .send = &send_datagram,
                                .send_reply = nullptr,
                                .receive = &receive_datagram,
                                .on_timer = nullptr};

Fate receive_datagram(Port& port, QueuePair& qp, Packet& packet, Time_ps now_ps) {
  Responder& resp = qp.resp;
  bool can_receive = qp.state >= QpState::kRtr && qp.state <= QpState::kSqe;
  const RoceExtension& headers = headers_of(port, packet);
  bool datagram = wire::has_deth(opcode_of(packet));
  if (!can_receive || !datagram || headers.qkey != qp.attributes.qkey) return Fate::kUnknownQp;
  if (!has_receive(port, qp, now_ps)) {
    ++port.counters.out_of_buffer;
    return Fate::kNotReady;
  }
  const ReceiveRequest& receive = resp.receives[resp.head & resp.mask];
  std::uint32_t size_B = packet.payload_B + static_cast<std::uint32_t>(kGrh_B);
  if (size_B > receive.length_B) {
    ++port.counters.resp_local_length_error;
    fail_receive(port, qp, WcStatus::kLocalLengthError, now_ps);
    return Fate::kAccepted;
  }
  Time_ps left_ps = port.functions[qp.function].write(size_B + kCqe_B, now_ps);
  if (!place_datagram(port, receive, packet, left_ps)) {
    fail_receive(port, qp, WcStatus::kLocalProtectionError, now_ps);
    enter_error(port, qp, now_ps);
    return Fate::kAccepted;
  }
  Completion completion;
  completion.wr_id = receive.wr_id;
  completion.opcode = WcOpcode::kReceive;
  completion.byte_len = size_B;
  completion.src_qp = headers.src_qp;
  completion.with_imm = wire::has_imm(opcode_of(packet));
  completion.imm = headers.imm;
  completion.solicited = (packet.word & kSolicited) != 0;
  completion.visible_ps = port.completions.visible_ps(left_ps, port.functions[qp.function]);
  if (port.config.host.trace != nullptr) [[unlikely]]
    port.config.host.trace->delivered(port.device, qp, psn_of(packet), now_ps, left_ps,
                                      port.functions[qp.function].link_ps(size_B + kCqe_B));
  ++resp.head;
  push_receive_completion(port, qp, completion);
  return Fate::kAccepted;
}

}  // namespace weft::nic
