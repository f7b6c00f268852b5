// Unreliable datagrams: one packet, nothing comes back (IBTA vol 1, 9.8.3).
#include <algorithm>
#include <array>

#include "nic/device.h"
#include "nic/message_trace.h"
#include "nic/psn.h"
#include "nic/roce_packet.h"
#include "nic/transport.h"

namespace weft::nic {

using engine::kPayloadMask;
using engine::kPortMask;
using engine::Packet;
using fabric::Fate;
using wire::Opcode;

const Transport kUdTransport = {.name = "UD",
                                .number = kUdNumber,
                                .connected = false,
                                .reliable = false,
                                .one_packet = true,
                                .operations = operation_bits(WrOpcode::kSend, WrOpcode::kSendImm),
                                .state_B = 0,
                                .format = &kRoceFormat,
                                .send = &Device::send_ud,
                                .send_reply = nullptr,
                                .receive = &Device::receive_ud,
                                .on_timer = nullptr};

bool Device::send_ud(Device& device, QueuePair& qp, SendWqe& wqe, Time_ps now_ps) {
  return device.send_datagram(qp, wqe, now_ps);
}
Fate Device::receive_ud(Device& device, QueuePair& qp, Packet& packet, Time_ps now_ps) {
  return device.receive_datagram(qp, packet, now_ps);
}

// Complete as soon as it is on the wire.
bool Device::send_datagram(QueuePair& qp, SendWqe& wqe, Time_ps now_ps) {
  const SendRequest& request = wqe.request;
  if (!request.inline_data && !fetch(qp, request.length_B, now_ps)) return false;
  Opcode opcode = request.opcode == WrOpcode::kSendImm ? Opcode::kUdSendOnlyImm : Opcode::kUdSendOnly;
  Packet packet = new_packet(qp, opcode, wqe.first_psn);
  if (request.to_group) [[unlikely]] {
    packet.dst = packet.src;
    packet.endpoint = kMulticastQpn;
  } else {
    packet.dst = config_.turns_round(request.dest_port) ? packet.src : request.dest_port & kPortMask;
    if (needs_router(packet.src, request.dest_port)) packet.flags |= Packet::kRouted;
    packet.endpoint = request.dest_qp & kPsnMask;
  }
  if (request.has_class) [[unlikely]] {
    packet.tos = request.tos;
    packet.priority = class_to_send(request.tos, request.priority) & 7;
  }
  packet.payload_B = request.length_B & kPayloadMask;
  if (request.solicited) packet.word |= kSolicited;
  engine::Cold& cold = add_cold(packet);
  RoceExtension& headers = extension_of(cold);
  if (request.to_group) {
    headers.set_group(request.group());
    cold.group = group_key(request.group());
  }
  headers.qkey = request.qkey;
  headers.src_qp = qp.qpn == shared_.general_services_qpn ? kGeneralServicesQpn : qp.qpn;
  headers.imm = request.imm;
  if (!add_payload(packet, request.lkey, request.local_va)) [[unlikely]] {
    drop_unsent(packet);
    fail_sending(qp, WcStatus::kLocalProtectionError, now_ps);
    return false;
  }
  put(packet, now_ps);
  qp.req.una_psn = qp.req.high_psn = psn_add(wqe.first_psn, 1);
  qp.req.next_wqe();
  finish_head(qp, WcStatus::kSuccess, free_ps_, 0);
  return true;
}

Fate Device::receive_datagram(QueuePair& qp, Packet& packet, Time_ps now_ps) {
  Responder& resp = qp.resp;
  bool can_receive = qp.state >= QpState::kRtr && qp.state <= QpState::kSqe;
  const RoceExtension& headers = headers_of(packet);
  bool datagram = wire::has_deth(opcode_of(packet));
  if (!can_receive || !datagram || headers.qkey != qp.attributes.qkey) return Fate::kUnknownQp;
  if (!has_receive(qp, now_ps)) {
    ++counters.out_of_buffer;
    return Fate::kNotReady;
  }
  const ReceiveRequest& receive = resp.receives[resp.head & resp.mask];
  std::uint32_t size_B = packet.payload_B + static_cast<std::uint32_t>(kGrh_B);
  if (size_B > receive.length_B) {
    ++counters.resp_local_length_error;
    fail_receive(qp, WcStatus::kLocalLengthError, now_ps);
    return Fate::kAccepted;
  }
  Time_ps left_ps = functions_[qp.function].write(size_B + kCqe_B, now_ps);
  if (!place_datagram(receive, packet, left_ps)) {
    fail_receive(qp, WcStatus::kLocalProtectionError, now_ps);
    enter_error(qp, now_ps);
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
  completion.visible_ps = cpu_visible_ps(left_ps, qp.function);
  if (config_.host.trace != nullptr) [[unlikely]]
    config_.host.trace->delivered(*this, qp, psn_of(packet), now_ps, left_ps,
                                  functions_[qp.function].link_ps(size_B + kCqe_B));
  ++resp.head;
  push_receive_completion(qp, completion);
  return Fate::kAccepted;
}

// GRH and payload in one write. False: the receive does not name memory that may be written.
bool Device::place_datagram(const ReceiveRequest& receive, const Packet& packet, Time_ps left_ps) {
  MemoryRegion* region = memory_.find(receive.lkey);
  bool allowed =
      region != nullptr && region->covers(receive.va, kGrh_B + packet.payload_B) && region->access.local_write;
  if (!allowed || !region->has_bytes()) return allowed;
  std::span<const std::uint8_t> payload = payload_of(packet);
  if (config_.host.make_grh == nullptr) return store(*region, receive.va + kGrh_B, payload, left_ps);
  std::array<std::uint8_t, kGrh_B + engine::kPayloadSlot_B> bytes;
  const GroupGid group = headers_of(packet).group();
  const bool is_to_group = cold_of(packet).group != 0;
  config_.host.make_grh(config_.host.self, packet, is_to_group ? &group : nullptr, std::span(bytes).first<kGrh_B>());
  std::copy(payload.begin(), payload.end(), bytes.begin() + kGrh_B);
  return store(*region, receive.va, std::span(bytes).first(kGrh_B + payload.size()), left_ps);
}

}  // namespace weft::nic
