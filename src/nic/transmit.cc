// The port's transmitter: when a queue pair has its turn, and the packets that requesters send.
#include "nic/device.h"
#include "nic/pcie_path.h"
#include "nic/psn.h"
#include "nic/roce_packet.h"
#include "nic/selective_repeat.h"
#include "nic/transport.h"
#include "wire/flow.h"

namespace weft::nic {

using engine::kPayloadMask;
using engine::kPortMask;
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

}  // namespace

// A context waits in at most one place; an older, later entry of the waiting list is ignored when it comes up.
void Device::queue_context(Time_ps& queued_ps, std::uint32_t context, Time_ps at_ps) {
  if (queued_ps <= at_ps) return;
  queued_ps = at_ps;
  waiting_.push(at_ps, context);
  service_by(at_ps);
}

void Device::queue_request(QueuePair& qp, Time_ps at_ps) {
  queue_context(qp.req.queued_ps, request_context(qp), at_ps);
}
void Device::queue_reply(QueuePair& qp, Time_ps at_ps) {
  queue_context(qp.resp.queued_ps, request_context(qp) + 1, at_ps);
}

[[gnu::always_inline]] inline void Device::put_line(Packet& packet, std::uint32_t line_bytes, Time_ps now_ps) {
  if (packet.dst == packet.src) [[unlikely]] {
    loop_back(packet, line_bytes, now_ps);
    return;
  }
  free_ps_ = now_ps + out_->send(packet, line_bytes, now_ps);
  release_ps_ = out_->next_release_ps();
  Counters::Traffic& traffic = counters.priorities[packet.priority].tx;
  ++traffic.packets;
  traffic.bytes += line_bytes - fabric::kLineOverhead_B;
}

void Device::put(Packet& packet, Time_ps now_ps) {
  put_line(packet, fabric::line_B(packet), now_ps);
}

void Device::make_template(QueuePair& qp) const {
  qp.packet = {};
  const std::uint32_t local = qp.attributes.local_port == kDevicePort ? address_id() : qp.attributes.local_port;
  qp.packet.src = local & kPortMask;
  qp.packet.dst = qp.attributes.remote_port & kPortMask;
  if (config_.turns_round(qp.attributes.remote_port)) qp.packet.src = qp.packet.dst = config_.port_id & kPortMask;
  qp.packet.tos = qp.attributes.tos;
  qp.packet.priority = class_to_send(qp.attributes.tos, qp.attributes.priority) & 7;
  qp.packet.header_words = config_.extra_words;
  bool connected = qp.transport->connected;
  qp.packet.udp_src_port = wire::udp_source_port(qp.qpn, connected ? qp.attributes.remote_qpn : qp.qpn);
  qp.packet.endpoint = qp.attributes.remote_qpn & engine::kEndpointMask;
  qp.packet.transport = qp.transport->number & (engine::kTransports - 1);
  qp.packet.word = config_.model.mig_req ? kMigReq : 0u;
  if (connected && needs_router(local, qp.attributes.remote_port)) qp.packet.flags |= Packet::kRouted;
}

bool Device::needs_router(std::uint32_t local_port, std::uint32_t remote_port) const {
  return config_.subnets != nullptr && (*config_.subnets)[local_port] != (*config_.subnets)[remote_port];
}

Packet Device::new_packet(const QueuePair& qp, Opcode opcode, std::uint32_t psn) {
  Packet packet = qp.packet;
  add_bth(packet, opcode, psn);
  return packet;
}

engine::Cold& Device::add_cold(Packet& packet) {
  engine::Domain& domain = out_->source();
  if ((packet.flags & Packet::kHasCold) == 0) {
    std::uint32_t aux = packet.aux;
    packet.aux = domain.cold.take();
    packet.flags |= Packet::kHasCold;
    domain.cold[packet.aux] = {};
    domain.cold[packet.aux].aux = aux;
  }
  return domain.cold[packet.aux];
}

bool Device::add_payload(Packet& packet, std::uint32_t key, std::uint64_t va) {
  if (!carry_payload_ || packet.payload_B == 0) return true;
  const MemoryRegion* region = memory_.find(key);
  if (region == nullptr || !region->covers(va, packet.payload_B)) return false;
  engine::Domain& domain = out_->source();
  const RegionAccess* elsewhere = region->elsewhere;
  if (elsewhere != nullptr && elsewhere->take != nullptr) {
    const std::uint32_t taken = elsewhere->take(elsewhere->self, va, packet.payload_B, domain.payload);
    add_cold(packet).payload = taken;
    return taken != engine::kNoSlot;
  }
  std::uint32_t slot = domain.payload.take();
  add_cold(packet).payload = slot;
  return MemoryTable::read(*region, va, std::span(domain.payload[slot]).first(packet.payload_B));
}

void Device::drop_unsent(const Packet& packet) {
  if (packet.flags & Packet::kHasCold) out_->source().free_cold(packet.aux);
}

// A READ takes the PSNs of its response with its request (IBTA vol 1, 9.7.3.1: at most 2^23 outstanding).
bool Device::has_psns_left(const QueuePair& qp, const SendWqe& wqe) {
  const Requester& req = qp.req;
  std::uint32_t outstanding = psn_distance(psn_add(wqe.first_psn, req.tx_packet), req.una_psn);
  std::uint32_t takes = needs_response(wqe.request.opcode) ? wqe.packets - req.tx_packet : 1;
  return outstanding + takes <= kMaxOutstandingPsns;
}

bool Device::message_may_start(QueuePair& qp, Time_ps now_ps, Time_ps& at_ps) {
  at_ps = std::max(qp.req.next_message_ps, card_.message_free_ps);
  if (at_ps > now_ps) {
    qp.wait = Wait::kMessageRate;
    return false;
  }
  // What has work outstanding has its context in the NIC.
  if (card_.contexts.binds() && qp.req.tx == qp.req.head && !qp.req.has_context) [[unlikely]] {
    at_ps = card_.contexts.use(context_key(qp), now_ps);
    qp.req.has_context = true;
    if (at_ps > now_ps) {
      qp.wait = Wait::kContext;
      return false;
    }
  }
  qp.req.has_context = false;
  qp.req.next_message_ps = now_ps + config_.model.wqe_interval_ps;
  card_.message_free_ps = now_ps + message_interval_ps_;
  return true;
}

bool Device::send_request(QueuePair& qp, Time_ps now_ps) {
  qp.req.queued_ps = kNever_ps;
  if (qp.state == QpState::kRts) [[likely]]
    return send_next(qp, now_ps);
  if (qp.state != QpState::kSqd || qp.req.tx == qp.req.drain_end) return false;
  bool sent = send_next(qp, now_ps);
  check_drained(qp, now_ps);
  return sent;
}

[[gnu::always_inline]] inline bool Device::send_next(QueuePair& qp, Time_ps now_ps) {
  Requester& req = qp.req;
  if (req.tx == req.tail) return false;
  SendWqe& wqe = req.at(req.tx);
  Time_ps at_ps = std::max(std::max(wqe.ready_ps, req.hold_until_ps), qp.pace_ps);
  if (at_ps > now_ps) {
    if (at_ps == qp.pace_ps) qp.wait = Wait::kPace;
    queue_request(qp, at_ps);
    return false;
  }
  if (!may_send(qp, now_ps)) {
    qp.wait = Wait::kPace;
    queue_request(qp, qp.pace_ps);
    return false;
  }
  const SendRequest& request = wqe.request;
  if (!req.started) {
    std::uint32_t longest_B = qp.transport->one_packet ? qp.attributes.path_mtu_B : kMaxMessage_B;
    if (request.length_B > longest_B) [[unlikely]] {
      fail_sending(qp, WcStatus::kLocalLengthError, now_ps);
      return false;
    }
  }
  if (window_is_full(qp) || !has_psns_left(qp, wqe)) {
    qp.wait = Wait::kRoundTrip;  // the next ACK resumes
    return false;
  }
  if (!req.started) {
    const bool awaits_response =  // finish_head resumes
        needs_response(request.opcode) && req.responses_due >= qp.attributes.max_rd_atomic;
    const bool awaits_credit =  // the next ACK resumes
        req.limited && req.tx != req.head && consumes_receive(request.opcode) &&
        req.tx - req.head >= psn_distance(req.limit_msn, req.acked_msn);
    if (awaits_response || awaits_credit) {
      qp.wait = Wait::kRoundTrip;
      return false;
    }
    if (!message_may_start(qp, now_ps, at_ps)) {
      queue_request(qp, at_ps);
      return false;
    }
    if ((qp.transport->operations >> static_cast<unsigned>(request.opcode) & 1) == 0) [[unlikely]]
      return send_local(qp, request, now_ps);
    if (request.length_B > 0 && !request.inline_data) {
      const MemoryRegion* region = memory_.find(request.lkey);
      bool writes = needs_response(request.opcode);
      if (region == nullptr || !region->covers(request.local_va, request.length_B) ||
          (writes && !region->access.local_write)) {
        fail_sending(qp, WcStatus::kLocalProtectionError, now_ps);
        return false;
      }
    }
    req.started = true;
  }
  if (!qp.transport->send(*this, qp, wqe, now_ps)) return false;
  if (req.tx != req.tail) {
    // What is ready before the port is free again needs no place in the waiting list.
    Time_ps next_ps = std::max(req.at(req.tx).ready_ps, qp.pace_ps);
    if (next_ps <= free_ps_) {
      req.queued_ps = kInRing_ps;
      ready_.push(request_context(qp));
    } else {
      qp.wait = next_ps == qp.pace_ps ? Wait::kPace : Wait::kPost;
      queue_request(qp, next_ps);
    }
  }
  return true;
}

// Payload comes over PCIe. False when it is not in the NIC yet: the QP is queued for when it is.
bool Device::fetch(QueuePair& qp, std::uint32_t payload_B, Time_ps now_ps) {
  return fetch_now(qp, qp.function, payload_B, now_ps);
}

[[gnu::always_inline]] inline bool Device::fetch_now(QueuePair& qp, std::uint8_t function, std::uint32_t payload_B,
                                                     Time_ps now_ps) {
  if (payload_B == 0) return true;
  PcieFunction& pcie = functions_[function];
  Time_ps available_ps = pcie.read_available_ps(payload_B, now_ps);
  if (available_ps > now_ps) {
    qp.wait = pcie.read_wait();
    queue_request(qp, available_ps);
    return false;
  }
  pcie.take_read(available_ps);
  return true;
}

bool Device::send_rc(Device& device, QueuePair& qp, SendWqe& wqe, Time_ps now_ps) {
  if (!needs_response(wqe.request.opcode)) return device.send_data<true, false>(qp, wqe, now_ps);
  device.send_response_request<false>(qp, wqe, now_ps);
  return true;
}
bool Device::send_uc(Device& device, QueuePair& qp, SendWqe& wqe, Time_ps now_ps) {
  return device.send_data<false, false>(qp, wqe, now_ps);
}
bool Device::send_xrc(Device& device, QueuePair& qp, SendWqe& wqe, Time_ps now_ps) {
  if (!needs_response(wqe.request.opcode)) return device.send_data<true, true>(qp, wqe, now_ps);
  device.send_response_request<true>(qp, wqe, now_ps);
  return true;
}

bool SelectiveRepeat::send_data(Device& device, QueuePair& qp, SendWqe& wqe, Time_ps now_ps) {
  return device.send_data<true, false, true>(qp, wqe, now_ps);
}

namespace {

// Every request of XRC names the shared receive queue of its message.
void add_xrc_eth(Packet& packet, engine::Cold& cold, std::uint32_t srq) {
  extension_of(cold).srq = srq & kPsnMask;
  packet.header_words = static_cast<std::uint8_t>(packet.header_words + wire::kXrcEthSize_B / 4);
}

}  // namespace

// A packet of a SEND or WRITE, of RC, UC or XRC. With selective repeat each packet of a WRITE is one of its own.
template <bool kReliable, bool kExtended, bool kSelective>
bool Device::send_data(QueuePair& qp, SendWqe& wqe, Time_ps now_ps) {
  Requester& req = qp.req;
  const SendRequest& request = wqe.request;
  std::uint32_t offset_B = req.tx_packet * qp.attributes.path_mtu_B;
  std::uint32_t left_B = request.length_B - offset_B;
  std::uint32_t chunk_B = std::min(left_B, qp.attributes.path_mtu_B);
  if (!request.inline_data && !fetch_now(qp, request.function, chunk_B, now_ps)) return false;
  bool first = req.tx_packet == 0;
  bool last = chunk_B == left_B;
  Opcode opcode = kDataOpcode[static_cast<int>(request.opcode)][first ? (last ? 3 : 0) : (last ? 2 : 1)];
  const bool own = kSelective && request.opcode <= WrOpcode::kWriteImm;
  if (own) opcode = last && request.opcode == WrOpcode::kWriteImm ? Opcode::kWriteOnlyImm : Opcode::kWriteOnly;
  std::uint32_t psn = psn_add(wqe.first_psn, req.tx_packet);
  Packet packet = new_packet(qp, opcode, psn);
  packet.payload_B = chunk_B & kPayloadMask;
  // A window opens with ACKs: one that shrank below what a NIC coalesces would wait for its timeout.
  if (last || qp.congestion.window_B != CongestionState::kNoWindow_B) packet.word |= kAckReq;
  if (kSelective && own_state<SelectiveState>(qp).asks_for_ack) packet.word |= kAckReq;
  if (last && request.solicited) packet.word |= kSolicited;
  if (wire::has_reth(opcode) || wire::has_imm(opcode) || wire::has_ieth(opcode)) {
    RoceExtension& headers = extension_of(add_cold(packet));
    headers.va = request.remote_va;
    headers.rkey = wire::has_ieth(opcode) ? request.imm : request.rkey;
    headers.dma_len = request.length_B;
    headers.imm = request.imm;
    if (own) {
      headers.va += offset_B;
      headers.dma_len = chunk_B;
      headers.set_selective(!last, request.length_B);
    }
  }
  if constexpr (kExtended) add_xrc_eth(packet, add_cold(packet), request.dest_qp);
  if (carry_payload_ && !add_payload(packet, request.lkey, request.local_va + offset_B)) [[unlikely]] {
    drop_unsent(packet);
    fail_sending(qp, WcStatus::kLocalProtectionError, now_ps);
    return false;
  }
  std::uint32_t next_psn = psn_add(psn, 1);
  if (psn_before(psn, req.high_psn)) {
    packet.flags |= Packet::kRetransmission;
    ++counters.retransmitted_packets;
    ++qp.retransmitted_packets;
    if (records_) recorder_->sends_again(qp, psn, now_ps);
  } else {
    req.high_psn = next_psn;
    if (qp.flags & QueuePair::kTimesPackets) [[unlikely]]
      time_packet(qp, packet, now_ps);
  }
  if (qp.flags & QueuePair::kAsksForTelemetry) [[unlikely]]
    ask_for_telemetry(qp, packet);
  if constexpr (!kReliable) packet.word &= ~std::uint32_t{kAckReq};
  const std::uint32_t line_bytes = fabric::line_B(packet);
  if (cc_ != nullptr) pace(qp, line_bytes, now_ps);
  put_line(packet, line_bytes, now_ps);
  if constexpr (kReliable) {
    if (last) {
      req.next_wqe();
    } else {
      ++req.tx_packet;
    }
    if (req.deadline_ps == kNever_ps) {
      req.last_ack_ps = now_ps;
      arm_timer(qp, now_ps);
    }
  } else {
    finish_unreliable(qp, last);
  }
  return true;
}

// READ and atomics: one request packet. A READ that goes back asks only for what is missing.
template <bool kExtended>
void Device::send_response_request(QueuePair& qp, SendWqe& wqe, Time_ps now_ps) {
  Requester& req = qp.req;
  const SendRequest& request = wqe.request;
  bool read = request.opcode == WrOpcode::kRead;
  Opcode opcode =
      read ? Opcode::kReadRequest : (request.opcode == WrOpcode::kFetchAdd ? Opcode::kFetchAdd : Opcode::kCompareSwap);
  std::uint32_t offset_B = req.tx_packet * qp.attributes.path_mtu_B;
  std::uint32_t psn = psn_add(wqe.first_psn, req.tx_packet);
  Packet packet = new_packet(qp, opcode, psn);
  packet.word |= kAckReq;
  RoceExtension& headers = extension_of(add_cold(packet));
  headers.va = request.remote_va + offset_B;
  headers.rkey = request.rkey;
  headers.dma_len = request.length_B - offset_B;
  headers.swap_add = request.swap_add;
  headers.compare = request.compare;
  if constexpr (kExtended) add_xrc_eth(packet, add_cold(packet), request.dest_qp);
  std::uint32_t next_psn = psn_add(wqe.first_psn, wqe.packets);
  if (psn_before(psn, req.high_psn)) {
    packet.flags |= Packet::kRetransmission;
    ++counters.retransmitted_packets;
    if (records_) recorder_->sends_again(qp, psn, now_ps);
  }
  if (psn_before(req.high_psn, next_psn)) req.high_psn = next_psn;
  put(packet, now_ps);
  ++req.responses_due;
  req.next_wqe();
  if (req.deadline_ps == kNever_ps) {
    req.last_ack_ps = now_ps;
    arm_timer(qp, now_ps);
  }
}

}  // namespace weft::nic
