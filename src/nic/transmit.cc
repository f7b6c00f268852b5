#include "nic/transmit.h"

#include "base/check.h"
#include "nic/congestion/reaction_point.h"
#include "nic/pcie/path.h"
#include "nic/queues/drain.h"
#include "nic/transports/psn.h"
#include "nic/transports/recovery.h"
#include "nic/transports/requester.h"
#include "nic/transports/transport.h"
#include "wire/flow.h"

namespace weft::nic {

using engine::kPortMask;
using engine::Packet;

void put(Port& port, Packet& packet, Time_ps now_ps) {
  put_line(port, packet, fabric::line_B(packet), now_ps);
}

void make_template(const Port& port, QueuePair& qp) {
  qp.packet = {};
  const std::uint32_t local = qp.attributes.local_port == kDevicePort ? port.address_id() : qp.attributes.local_port;
  qp.packet.src = local & kPortMask;
  qp.packet.dst = qp.attributes.remote_port & kPortMask;
  if (port.config.turns_round(qp.attributes.remote_port))
    qp.packet.src = qp.packet.dst = port.config.port_id & kPortMask;
  qp.packet.tos = qp.attributes.tos;
  qp.packet.priority = port.classes.to_send(qp.attributes.tos, qp.attributes.priority) & 7;
  qp.packet.header_words = port.config.extra_words;
  bool connected = qp.transport->connected;
  qp.packet.udp_src_port = wire::udp_source_port(qp.qpn, connected ? qp.attributes.remote_qpn : qp.qpn);
  qp.packet.endpoint = qp.attributes.remote_qpn & engine::kEndpointMask;
  qp.packet.transport = qp.transport->number & (engine::kTransports - 1);
  qp.packet.word = port.config.model.mig_req ? kMigReq : 0u;
  if (connected && needs_router(port, local, qp.attributes.remote_port)) qp.packet.flags |= Packet::kRouted;
}

bool needs_router(const Port& port, std::uint32_t local_port, std::uint32_t remote_port) {
  return port.config.subnets != nullptr && (*port.config.subnets)[local_port] != (*port.config.subnets)[remote_port];
}

engine::Cold& add_cold(Port& port, Packet& packet) {
  engine::Domain& domain = port.schedule.wire().source();
  if ((packet.flags & Packet::kHasCold) == 0) {
    std::uint32_t aux = packet.aux;
    packet.aux = domain.cold.take();
    packet.flags |= Packet::kHasCold;
    domain.cold[packet.aux] = {};
    domain.cold[packet.aux].aux = aux;
  }
  return domain.cold[packet.aux];
}

bool add_payload(Port& port, Packet& packet, std::uint32_t key, std::uint64_t va) {
  if (!port.carry_payload || packet.payload_B == 0) return true;
  const MemoryRegion* region = port.memory.find(key);
  if (region == nullptr || !region->covers(va, packet.payload_B)) return false;
  engine::Domain& domain = port.schedule.wire().source();
  const RegionAccess* elsewhere = region->elsewhere;
  if (elsewhere != nullptr && elsewhere->take != nullptr) {
    const std::uint32_t taken = elsewhere->take(elsewhere->self, va, packet.payload_B, domain.payload);
    add_cold(port, packet).payload = taken;
    return taken != engine::kNoSlot;
  }
  WEFT_DCHECK(packet.payload_B <= engine::kPayloadSlot_B, "a payload is larger than its slot");
  std::uint32_t slot = domain.payload.take();
  add_cold(port, packet).payload = slot;
  return MemoryTable::read(*region, va, std::span(domain.payload[slot]).first(packet.payload_B));
}

void drop_unsent(Port& port, const Packet& packet) {
  if (packet.flags & Packet::kHasCold) port.schedule.wire().source().free_cold(packet.aux);
}

namespace {

// A READ takes the PSNs of its response with its request (IBTA vol 1, 9.7.3.1: at most 2^23 outstanding).
bool has_psns_left(const QueuePair& qp, const SendWqe& wqe) {
  const Requester& req = qp.req;
  std::uint32_t outstanding = psn_distance(psn_add(wqe.first_psn, req.tx_packet), req.una_psn);
  std::uint32_t takes = needs_response(wqe.request.opcode) ? wqe.packets - req.tx_packet : 1;
  return outstanding + takes <= kMaxOutstandingPsns;
}

bool message_may_start(Port& port, QueuePair& qp, Time_ps now_ps, Time_ps& at_ps) {
  at_ps = std::max(qp.req.next_message_ps, port.card.message_free_ps);
  if (at_ps > now_ps) {
    qp.wait = Wait::kMessageRate;
    return false;
  }
  // A queue pair with work outstanding has its context in the NIC.
  if (port.card.contexts.binds() && qp.req.tx == qp.req.head && !qp.req.has_context) [[unlikely]] {
    at_ps = port.card.contexts.use(port.context_key(qp), now_ps);
    qp.req.has_context = true;
    if (at_ps > now_ps) {
      qp.wait = Wait::kContext;
      return false;
    }
  }
  qp.req.has_context = false;
  qp.req.next_message_ps = now_ps + port.config.model.wqe_interval_ps;
  WEFT_DCHECK(port.card.message_free_ps <= now_ps, "two messages at once on one card");
  port.card.message_free_ps = now_ps + port.message_interval_ps;
  return true;
}

[[gnu::always_inline]] inline bool send_next(Port& port, QueuePair& qp, Time_ps now_ps) {
  Requester& req = qp.req;
  WEFT_DCHECK(req.tail - req.head <= req.mask + 1, "a send queue has more entries than places");
  WEFT_DCHECK(req.tx - req.head <= req.tail - req.head, "a requester sends outside of its send queue");
  if (req.tx == req.tail) return false;
  SendWqe& wqe = req.at(req.tx);
  Time_ps at_ps = std::max(std::max(wqe.ready_ps, req.hold_until_ps), qp.pace_ps);
  if (at_ps > now_ps) {
    if (at_ps == qp.pace_ps) qp.wait = Wait::kPace;
    queue_request(port, qp, at_ps);
    return false;
  }
  if (!may_send(port, qp, now_ps)) {
    qp.wait = Wait::kPace;
    queue_request(port, qp, qp.pace_ps);
    return false;
  }
  const SendRequest& request = wqe.request;
  if (!req.started) {
    std::uint32_t longest_B = qp.transport->one_packet ? qp.attributes.path_mtu_B : kMaxMessage_B;
    if (request.length_B > longest_B) [[unlikely]] {
      fail_sending(port, qp, WcStatus::kLocalLengthError, now_ps);
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
    if (!message_may_start(port, qp, now_ps, at_ps)) {
      queue_request(port, qp, at_ps);
      return false;
    }
    if ((qp.transport->operations >> static_cast<unsigned>(request.opcode) & 1) == 0) [[unlikely]]
      return send_local(port, qp, request, now_ps);
    if (request.length_B > 0 && !request.inline_data) {
      const MemoryRegion* region = port.memory.find(request.lkey);
      bool writes = needs_response(request.opcode);
      if (region == nullptr || !region->covers(request.local_va, request.length_B) ||
          (writes && !region->access.local_write)) {
        fail_sending(port, qp, WcStatus::kLocalProtectionError, now_ps);
        return false;
      }
    }
    req.started = true;
  }
  if (!qp.transport->send(port, qp, wqe, now_ps)) return false;
  if (req.tx != req.tail) {
    // A context that is ready before the port is free again needs no place in the waiting list.
    Time_ps next_ps = std::max(req.at(req.tx).ready_ps, qp.pace_ps);
    if (next_ps <= port.schedule.free_ps()) {
      req.queued_ps = kInRing_ps;
      port.schedule.push_ready(port.qps.context_of(qp));
    } else {
      qp.wait = next_ps == qp.pace_ps ? Wait::kPace : Wait::kPost;
      queue_request(port, qp, next_ps);
    }
  }
  return true;
}

}  // namespace

bool send_request(Port& port, QueuePair& qp, Time_ps now_ps) {
  WEFT_DCHECK(qp.req.queued_ps == kInRing_ps, "a requester has a turn that it was not queued for");
  qp.req.queued_ps = kNever_ps;
  if (qp.state == QpState::kRts) [[likely]]
    return send_next(port, qp, now_ps);
  if (qp.state != QpState::kSqd || qp.req.tx == qp.req.drain_end) return false;
  bool sent = send_next(port, qp, now_ps);
  check_drained(port, qp, now_ps);
  return sent;
}

bool fetch_payload(Port& port, QueuePair& qp, std::uint32_t payload_B, Time_ps now_ps) {
  return fetch_now(port, qp, qp.function, payload_B, now_ps);
}

}  // namespace weft::nic
