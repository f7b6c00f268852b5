// A transport that is in no NIC: WRITEs over a path that loses packets, where every packet says where its payload goes,
// the receiver takes what comes in any order and reports it in a bitmap, and only what is missing is retransmitted. It
// exists to show that a transport is a table: nothing in engine, fabric or observe knows of it.
#pragma once

#include <algorithm>
#include <bit>

#include "nic/receive.h"
#include "nic/transmit.h"
#include "nic/transports/psn.h"
#include "nic/transports/recovery.h"
#include "nic/transports/reply.h"
#include "nic/transports/requester.h"
#include "nic/transports/responder.h"
#include "nic/transports/transport.h"

namespace weft::support::selective_repeat {

using engine::Packet;
using fabric::Fate;

inline constexpr std::uint8_t kNumber = 2;
inline constexpr std::uint32_t kWindow = 64;  // packets, as bits of a map
inline constexpr std::uint8_t kDataHeader_words = 6, kAckHeader_words = 4;

// Packet::word is sequence << 8 | kind.
enum Kind : std::uint32_t { kData = 1, kAck = 2 };
inline std::uint32_t sequence_of(const Packet& packet) {
  return packet.word >> 8;
}
inline Kind kind_of(const Packet& packet) {
  return static_cast<Kind>(packet.word & 0xff);
}
// On the cold side: of data, and of an acknowledgement, which also has the next sequence number due as its own.
struct Where {
  std::uint64_t va;
  std::uint32_t rkey;
};
struct Map {
  std::uint64_t arrived;  // bit n: that number plus n
};

struct State {
  std::uint64_t acked;     // sender; bit n: una_psn + n has arrived …
  std::uint64_t resend;    // … has to be retransmitted …
  std::uint64_t repeated;  // … was retransmitted
  std::uint64_t arrived;   // receiver; bit n: expected_psn + n
};

inline std::uint64_t shifted(std::uint64_t map, std::uint32_t by) {
  return by >= 64 ? 0 : map >> by;
}

inline bool send(nic::Port& port, nic::QueuePair& qp, nic::SendWqe& wqe, Time_ps now_ps) {
  nic::Requester& req = qp.req;
  State& state = nic::own_state<State>(qp);
  std::uint32_t psn = nic::psn_add(wqe.first_psn, req.tx_packet);
  std::uint32_t ahead = nic::psn_distance(psn, req.una_psn);
  if (ahead >= kWindow) return false;  // the next acknowledgement resumes
  std::uint32_t offset_B = req.tx_packet * qp.attributes.path_mtu_B;
  std::uint32_t left_B = wqe.request.length_B - offset_B;
  std::uint32_t chunk_B = std::min(left_B, qp.attributes.path_mtu_B);
  if (!fetch_payload(port, qp, chunk_B, now_ps)) return false;
  Packet packet = qp.packet;
  packet.word = psn << 8 | kData;
  packet.header_words = static_cast<std::uint8_t>(packet.header_words + kDataHeader_words);
  packet.payload_B = chunk_B & engine::kPayloadMask;
  engine::own_words<Where>(add_cold(port, packet)) = {wqe.request.remote_va + offset_B, wqe.request.rkey};
  if (!add_payload(port, packet, wqe.request.lkey, wqe.request.local_va + offset_B)) {
    drop_unsent(port, packet);
    fail_send_queue(port, qp, nic::WcStatus::kLocalProtectionError, now_ps);
    return false;
  }
  bool again = nic::psn_before(psn, req.high_psn);
  if (again) {
    packet.flags |= Packet::kRetransmission;
    state.resend &= ~(std::uint64_t{1} << ahead);
  } else {
    req.high_psn = nic::psn_add(psn, 1);
  }
  put(port, packet, now_ps);
  if (req.deadline_ps == kNever_ps) arm_timer(port, qp, now_ps);
  if (again || state.resend != 0) {
    auto first = static_cast<std::uint32_t>(std::countr_zero(state.resend));
    go_back(port, qp, state.resend == 0 ? req.high_psn : nic::psn_add(req.una_psn, first), now_ps);
  } else if (chunk_B == left_B) {
    req.next_wqe();
  } else {
    ++req.tx_packet;
  }
  return true;
}

inline bool send_reply(nic::Port& port, nic::QueuePair& qp, nic::Reply&, Time_ps now_ps) {
  Packet packet = qp.packet;
  packet.word = qp.resp.expected_psn << 8 | kAck;
  packet.header_words = static_cast<std::uint8_t>(packet.header_words + kAckHeader_words);
  engine::own_words<Map>(add_cold(port, packet)) = {nic::own_state<State>(qp).arrived};
  put(port, packet, now_ps);
  return true;
}

inline Fate receive_data(nic::Port& port, nic::QueuePair& qp, Packet& packet, Time_ps now_ps) {
  nic::Responder& resp = qp.resp;
  std::uint64_t& arrived = nic::own_state<State>(qp).arrived;
  std::uint32_t ahead = nic::psn_distance(sequence_of(packet), resp.expected_psn);
  bool known = ahead >= nic::kPsnHalf || (shifted(arrived, ahead) & 1) != 0;
  if (!known && ahead >= kWindow) return Fate::kOutOfSequence;
  if (!known) {
    const Where& where = engine::own_words<Where>(cold_of(port, packet));
    resp.is_write = true;
    resp.aim(where.va, where.rkey, packet.payload_B);
    if (place_payload(port, qp, packet, now_ps) != nic::Placed::kDone) {
      enter_error(port, qp, now_ps);
      return Fate::kRefused;
    }
    arrived |= std::uint64_t{1} << ahead;
    auto whole = static_cast<std::uint32_t>(std::countr_one(arrived));
    arrived = shifted(arrived, whole);
    resp.expected_psn = nic::psn_add(resp.expected_psn, whole);
  }
  nic::Reply reply;
  reply.ready_ps = now_ps;
  if (resp.reply_head == resp.reply_tail) push_reply(port, qp, reply);
  return known ? Fate::kDuplicate : Fate::kAccepted;
}

inline Fate receive_ack(nic::Port& port, nic::QueuePair& qp, const Packet& packet, Time_ps now_ps) {
  nic::Requester& req = qp.req;
  State& state = nic::own_state<State>(qp);
  std::uint32_t next_psn = sequence_of(packet);
  std::uint32_t moved = nic::psn_distance(next_psn, req.una_psn);
  if (moved > nic::psn_distance(req.high_psn, req.una_psn)) return Fate::kStaleResponse;
  acknowledge(port, qp, next_psn, now_ps);
  state.acked = shifted(state.acked, moved) | engine::own_words<Map>(cold_of(port, packet)).arrived;
  state.repeated = shifted(state.repeated, moved);
  // What has not arrived though something behind it has, is lost.
  std::uint64_t behind = state.acked == 0 ? 0 : std::bit_floor(state.acked) - 1;
  std::uint64_t lost = behind & ~state.acked & ~state.repeated;
  state.repeated |= lost;
  state.resend = (shifted(state.resend, moved) | lost) & ~state.acked;
  if (state.resend != 0) {
    auto first = static_cast<std::uint32_t>(std::countr_zero(state.resend));
    go_back(port, qp, nic::psn_add(req.una_psn, first), now_ps);
  } else if (req.tx != req.tail) {
    queue_request(port, qp, now_ps);
  }
  return Fate::kAccepted;
}

inline Fate receive(nic::Port& port, nic::QueuePair& qp, Packet& packet, Time_ps now_ps) {
  if (qp.state != nic::QpState::kRts) return Fate::kUnknownQp;
  return kind_of(packet) == kData ? receive_data(port, qp, packet, now_ps) : receive_ack(port, qp, packet, now_ps);
}

// Nothing has moved for the ACK timeout: a packet that was retransmitted was lost again, or every acknowledgement was.
inline void on_timer(nic::Port& port, nic::QueuePair& qp, Time_ps now_ps) {
  if (!timer_is_due(port, qp, now_ps)) return;
  nic::own_state<State>(qp).resend |= 1;
  go_back(port, qp, qp.req.una_psn, now_ps);
  arm_timer(port, qp, now_ps);
}

inline engine::PacketDescription describe(const Packet& packet) {
  engine::PacketRole role = kind_of(packet) == kData ? engine::PacketRole::kRequest : engine::PacketRole::kResponse;
  return {role, sequence_of(packet), nic::kPsnMask, static_cast<std::uint8_t>(kind_of(packet))};
}

// An EtherType for local experiments, kind and sequence number, and the payload.
inline std::size_t frame(const Packet& packet, const engine::Cold&, std::span<const std::uint8_t> payload,
                         const engine::FrameAddresses& addresses, std::span<std::uint8_t> out) {
  auto at = std::copy(addresses.dst_mac.begin(), addresses.dst_mac.end(), out.begin());
  at = std::copy(addresses.src_mac.begin(), addresses.src_mac.end(), at);
  for (unsigned byte : {0x88u, 0xb5u, packet.word & 0xff, packet.word >> 24, packet.word >> 16, packet.word >> 8})
    *at++ = static_cast<std::uint8_t>(byte);
  at = std::copy(payload.begin(), payload.end(), at);
  return static_cast<std::size_t>(at - out.begin());
}

inline constexpr engine::PacketFormat kFormat = {"selective repeat", &describe, &frame};
inline constexpr nic::Transport kTransport = {
    .name = "selective repeat",
    .number = kNumber,
    .connected = true,
    .reliable = true,
    .one_packet = false,
    .operations = nic::operation_bits(nic::WrOpcode::kWrite, nic::WrOpcode::kWrite),
    .state_B = sizeof(State),
    .format = &kFormat,
    .send = &send,
    .send_reply = &send_reply,
    .receive = &receive,
    .on_timer = &on_timer};

// Those of the NIC and this one.
inline const engine::PacketFormats& formats() {
  static const engine::PacketFormats kAll = [] {
    engine::PacketFormats all = nic::packet_formats();
    all.formats[kNumber] = &kFormat;
    return all;
  }();
  return kAll;
}

}  // namespace weft::support::selective_repeat
