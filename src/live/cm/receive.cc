// MADs that came, from whomever: each goes to the connection it names, or gets the answer that one without gets.
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "live/cm/cm.h"

namespace weft::live {

namespace {

template <std::size_t kSize>
void take_private(verbs::CmConn& conn, const std::array<std::uint8_t, kSize>& from, std::size_t at = 0) {
  static_assert(kSize <= verbs::kMaxCmPrivate_B);
  conn.private_B = static_cast<std::uint32_t>(kSize - at);
  std::copy(from.begin() + static_cast<std::ptrdiff_t>(at), from.end(), conn.private_data);
}

wire::CmRej rejection(std::uint32_t remote_comm_id, wire::CmReason reason) {
  wire::CmRej rej;
  rej.remote_comm_id = remote_comm_id;
  rej.reason = static_cast<std::uint16_t>(reason);
  return rej;
}

}  // namespace

void CommunicationManager::receive(CmPort& port, const CmPort::Arrival& arrival, Time_ps now_ps) {
  handle({&port, arrival, std::chrono::steady_clock::now() + patience_}, now_ps);
}

void CommunicationManager::handle(const Waiting& waiting, Time_ps now_ps) {
  auto message = wire::parse_cm_mad(waiting.arrival.bytes);
  if (!message) return;
  std::uint32_t device = 0;
  while (ports_[device].get() != waiting.port) ++device;
  const From from{*waiting.port, device, waiting.arrival.source, message->transaction_id};
  if (std::chrono::steady_clock::now() < waiting.until && lacks_listener(*message, from)) {
    // One that is retransmitted is the same one.
    bool known = std::any_of(waiting_.begin(), waiting_.end(), [&](const Waiting& each) {
      return each.port == waiting.port && each.arrival.bytes == waiting.arrival.bytes &&
             each.arrival.source == waiting.arrival.source;
    });
    if (!known && waiting_.size() < kMaxCmIds) waiting_.push_back(waiting);
    return;
  }
  std::visit([&](const auto& body) { on(body, from, now_ps); }, message->body);
}

bool CommunicationManager::lacks_listener(const wire::CmMessage& message, const From& from) const {
  auto lacks = [&](std::uint64_t service_id, std::uint32_t comm_id, wire::Bytes private_data) {
    auto header = wire::parse_ip_cm_header(private_data);
    return header && !find_remote(comm_id, from) && !listener_of(service_id, *header);
  };
  if (const auto* req = std::get_if<wire::CmReq>(&message.body))
    return lacks(req->service_id, req->local_comm_id, req->private_data);
  if (const auto* req = std::get_if<wire::CmSidrReq>(&message.body))
    return lacks(req->service_id, req->request_id, req->private_data);
  return false;
}

void CommunicationManager::retry_waiting(Time_ps now_ps) {
  for (const Waiting& each : std::exchange(waiting_, {})) handle(each, now_ps);
}

bool CommunicationManager::reject_late(Time_ps now_ps) {
  if (waiting_.empty()) return false;
  const auto now = std::chrono::steady_clock::now();
  if (std::any_of(waiting_.begin(), waiting_.end(), [&](const Waiting& each) { return each.until <= now; })) {
    retry_ = true;
    node_.host().wake(program_, now_ps);
  }
  return true;
}

void CommunicationManager::answer_to(const From& from, const wire::CmMessage& message, Time_ps now_ps) {
  if (auto to = verbs_.port_of_gid(from.source.data())) from.port.send(wire::build_cm_mad(message), *to, now_ps);
}

std::shared_ptr<CmId> CommunicationManager::find(std::uint32_t comm_id, std::uint32_t remote_comm_id,
                                                 const From& from) const {
  auto number = comm_ids_.find(comm_id);
  if (number == comm_ids_.end()) return nullptr;
  std::shared_ptr<CmId> id = ids_.at(number->second);
  bool same = id->peer == from.source && id->device == from.device;
  return same && (id->remote_comm_id == 0 || id->remote_comm_id == remote_comm_id) ? id : nullptr;
}

std::shared_ptr<CmId> CommunicationManager::find_remote(std::uint32_t remote_comm_id, const From& from) const {
  for (const auto& [number, id] : ids_) {
    if (id->remote_comm_id == remote_comm_id && id->peer == from.source && id->device == from.device) return id;
  }
  return nullptr;
}

std::shared_ptr<CmId> CommunicationManager::listener_of(std::uint64_t service_id,
                                                        const wire::IpCmHeader& header) const {
  std::shared_ptr<CmId> any;
  for (const auto& [number, id] : ids_) {
    if (id->state != CmState::kListening || wire::ip_service_id(id->port_space, id->local_port) != service_id) continue;
    if (id->local == header.destination) return id;
    if (id->local == wire::Gid{} && !(id->family_only && id->ipv6 != is_ipv6(header.destination))) any = id;
  }
  return any;
}

std::shared_ptr<CmId> CommunicationManager::make_child(const std::shared_ptr<CmId>& listener,
                                                       const wire::IpCmHeader& header, const From& from) {
  --listener->backlog;
  std::shared_ptr<CmId> id = make_id(*listener->process);
  id->channel = listener->channel;
  id->port_space = listener->port_space;
  id->qp_type = listener->qp_type;
  id->tos = listener->tos;
  id->device = from.device;
  id->local = header.destination;
  id->local_port = listener->local_port;
  id->remote = header.source;
  id->remote_port = header.port;
  id->peer = id->remote_gid = from.source;
  id->transaction_id = from.transaction_id;
  return id;
}

void CommunicationManager::on(const wire::CmReq& req, const From& from, Time_ps now_ps) {
  if (auto known = find_remote(req.local_comm_id, from); known && known->state != CmState::kDone) {
    // Retransmitted: the answer is lost, or the program thinks it over.
    if (known->state == CmState::kReqReceived) {
      wire::CmMra mra;
      mra.local_comm_id = known->comm_id;
      mra.remote_comm_id = known->remote_comm_id;
      mra.service_timeout = kCmServiceTimeout;
      send(*known, {known->transaction_id, mra}, now_ps);
    } else if (known->state == CmState::kRepSent) {
      from.port.send(known->last, known->to_port, now_ps);
    } else if (known->state == CmState::kTimeWait) {
      answer_to(from, {from.transaction_id, rejection(req.local_comm_id, wire::CmReason::kStaleConnection)}, now_ps);
    }
    return;
  }
  auto header = wire::parse_ip_cm_header(req.private_data);
  std::shared_ptr<CmId> listener = header ? listener_of(req.service_id, *header) : nullptr;
  auto to_port = verbs_.port_of_gid(from.source.data());
  if (!to_port) return;
  const bool xrc = req.transport == wire::kCmExtended && req.extended_transport == wire::kCmXrc;
  bool full = listener && (listener->backlog == 0 || listener->process->cm_ids.size() >= kMaxCmIds);
  bool other_type = listener && xrc != (listener->qp_type == IBV_QPT_XRC_RECV);
  if (!listener || full || other_type) {
    auto reason = full || other_type ? wire::CmReason::kConsumer : wire::CmReason::kInvalidServiceId;
    answer_to(from, {from.transaction_id, rejection(req.local_comm_id, reason)}, now_ps);
    return;
  }
  std::shared_ptr<CmId> id = make_child(listener, *header, from);
  id->to_port = *to_port;
  id->qp_type = xrc ? IBV_QPT_XRC_RECV : req.transport == wire::kCmUc ? IBV_QPT_UC : IBV_QPT_RC;
  id->remote_gid = req.path.local_gid;
  id->remote_comm_id = req.local_comm_id;
  id->remote_qpn = req.qpn;
  id->sq_psn = req.starting_psn;
  id->path_mtu = req.path_mtu;
  id->responder_resources = req.initiator_depth;
  id->initiator_depth = req.responder_resources;
  id->retry_count = req.retry_count;
  id->rnr_retry_count = req.rnr_retry_count;
  id->ack_timeout = req.path.ack_timeout;
  id->tos = req.path.traffic_class;
  id->max_retries = req.max_retries;
  id->wait_ps = cm_time_ps(req.local_response_timeout);
  id->state = CmState::kReqReceived;
  verbs::CmConn conn{};
  conn.qpn = req.qpn;
  conn.srq = req.srq ? 1 : 0;
  conn.responder_resources = id->responder_resources;
  conn.initiator_depth = id->initiator_depth;
  conn.flow_control = req.flow_control ? 1 : 0;
  conn.retry_count = req.retry_count;
  conn.rnr_retry_count = req.rnr_retry_count;
  take_private(conn, req.private_data, wire::kIpCmHeader_B);
  tell(id, RDMA_CM_EVENT_CONNECT_REQUEST, 0, now_ps, conn, listener);
}

// The peer needs longer: no repetition before that.
void CommunicationManager::on(const wire::CmMra& mra, const From& from, Time_ps now_ps) {
  std::shared_ptr<CmId> id = find(mra.remote_comm_id, mra.local_comm_id, from);
  if (!id || (id->state != CmState::kReqSent && id->state != CmState::kRepSent)) return;
  set_deadline(*id, now_ps + cm_time_ps(mra.service_timeout) + cm_time_ps(id->ack_timeout));
}

void CommunicationManager::on(const wire::CmRej& rej, const From& from, Time_ps now_ps) {
  std::shared_ptr<CmId> id = rej.remote_comm_id != 0 ? find(rej.remote_comm_id, rej.local_comm_id, from)
                                                     : find_remote(rej.local_comm_id, from);
  if (!id || id->state < CmState::kReqSent || id->state > CmState::kEstablished) return;
  stop_sending(*id);
  id->state = CmState::kDone;
  verbs::CmConn conn{};
  take_private(conn, rej.private_data);
  tell(id, RDMA_CM_EVENT_REJECTED, rej.reason, now_ps, conn);
}

void CommunicationManager::on(const wire::CmRep& rep, const From& from, Time_ps now_ps) {
  std::shared_ptr<CmId> id = find(rep.remote_comm_id, rep.local_comm_id, from);
  if (!id) return;
  if (id->state == CmState::kEstablished) {
    send_rtu(*id, now_ps);  // the first one is lost
    return;
  }
  if (id->state == CmState::kRepReceived) {
    wire::CmMra mra;
    mra.local_comm_id = id->comm_id;
    mra.remote_comm_id = id->remote_comm_id;
    mra.answered = wire::CmAnswered::kRep;
    mra.service_timeout = kCmServiceTimeout;
    send(*id, {id->transaction_id, mra}, now_ps);
    return;
  }
  if (id->state != CmState::kReqSent) return;
  stop_sending(*id);
  std::uint8_t lifetime =
      id->wanted_ack_timeout > 0 ? static_cast<std::uint8_t>(id->wanted_ack_timeout - 1) : kCmPacketLifetime;
  id->remote_comm_id = rep.local_comm_id;
  id->remote_qpn = id->qp_type == IBV_QPT_XRC_SEND ? rep.ee_context : rep.qpn;
  id->sq_psn = rep.starting_psn;
  id->responder_resources = rep.initiator_depth;
  id->initiator_depth = rep.responder_resources;
  id->rnr_retry_count = rep.rnr_retry_count;
  id->ack_timeout = cm_ack_timeout(rep.target_ack_delay, lifetime);
  id->state = CmState::kRepReceived;
  verbs::CmConn conn{};
  conn.qpn = id->remote_qpn;
  conn.srq = rep.srq ? 1 : 0;
  conn.responder_resources = id->responder_resources;
  conn.initiator_depth = id->initiator_depth;
  conn.flow_control = rep.flow_control ? 1 : 0;
  conn.rnr_retry_count = rep.rnr_retry_count;
  take_private(conn, rep.private_data);
  tell(id, RDMA_CM_EVENT_CONNECT_RESPONSE, 0, now_ps, conn);
}

void CommunicationManager::on(const wire::CmRtu& rtu, const From& from, Time_ps now_ps) {
  std::shared_ptr<CmId> id = find(rtu.remote_comm_id, rtu.local_comm_id, from);
  if (!id || id->state != CmState::kRepSent) return;
  stop_sending(*id);
  id->state = CmState::kEstablished;
  verbs::CmConn conn{};
  take_private(conn, rtu.private_data);
  tell(id, RDMA_CM_EVENT_ESTABLISHED, 0, now_ps, conn);
}

void CommunicationManager::on(const wire::CmDreq& dreq, const From& from, Time_ps now_ps) {
  std::shared_ptr<CmId> id = find(dreq.remote_comm_id, dreq.local_comm_id, from);
  bool over = !id || id->state == CmState::kTimeWait || id->state == CmState::kDone;
  if (over) {
    wire::CmDrep drep;
    drep.local_comm_id = dreq.remote_comm_id;
    drep.remote_comm_id = dreq.local_comm_id;
    answer_to(from, {from.transaction_id, drep}, now_ps);
    return;
  }
  id->transaction_id = from.transaction_id;
  switch (id->state) {
    case CmState::kDreqSent:
      // Both at once.
      send_drep(*id, now_ps);
      enter_time_wait(*id, now_ps);
      break;
    case CmState::kRepSent:
    case CmState::kEstablished:
      stop_sending(*id);
      id->state = CmState::kDreqReceived;
      break;
    default:
      return;
  }
  tell(id, RDMA_CM_EVENT_DISCONNECTED, 0, now_ps);
}

void CommunicationManager::on(const wire::CmDrep& drep, const From& from, Time_ps now_ps) {
  std::shared_ptr<CmId> id = find(drep.remote_comm_id, drep.local_comm_id, from);
  if (!id || id->state != CmState::kDreqSent) return;
  enter_time_wait(*id, now_ps);
  tell(id, RDMA_CM_EVENT_DISCONNECTED, 0, now_ps);
}

void CommunicationManager::on(const wire::CmSidrReq& req, const From& from, Time_ps now_ps) {
  if (auto known = find_remote(req.request_id, from)) {
    // Only one that was answered has something to say again.
    if (known->state == CmState::kDone) from.port.send(known->last, known->to_port, now_ps);
    return;
  }
  auto header = wire::parse_ip_cm_header(req.private_data);
  std::shared_ptr<CmId> listener = header ? listener_of(req.service_id, *header) : nullptr;
  auto to_port = verbs_.port_of_gid(from.source.data());
  if (!to_port) return;
  if (!listener || listener->backlog == 0 || listener->process->cm_ids.size() >= kMaxCmIds) {
    wire::CmSidrRep rep;
    rep.request_id = req.request_id;
    rep.service_id = req.service_id;
    rep.status = static_cast<std::uint8_t>(listener ? wire::SidrStatus::kNoQp : wire::SidrStatus::kUnsupported);
    answer_to(from, {from.transaction_id, rep}, now_ps);
    return;
  }
  std::shared_ptr<CmId> id = make_child(listener, *header, from);
  id->to_port = *to_port;
  id->qp_type = IBV_QPT_UD;
  id->remote_comm_id = req.request_id;
  id->service_id = req.service_id;
  id->state = CmState::kSidrReceived;
  verbs::CmConn conn{};
  take_private(conn, req.private_data, wire::kIpCmHeader_B);
  tell(id, RDMA_CM_EVENT_CONNECT_REQUEST, 0, now_ps, conn, listener);
}

void CommunicationManager::on(const wire::CmSidrRep& rep, const From& from, Time_ps now_ps) {
  std::shared_ptr<CmId> id = find(rep.request_id, 0, from);
  if (!id || id->state != CmState::kSidrSent) return;
  stop_sending(*id);
  id->state = CmState::kDone;
  verbs::CmConn conn{};
  conn.qpn = rep.qpn;
  conn.qkey = rep.qkey;
  take_private(conn, rep.private_data);
  bool valid = rep.status == static_cast<std::uint8_t>(wire::SidrStatus::kValid);
  tell(id, valid ? RDMA_CM_EVENT_ESTABLISHED : RDMA_CM_EVENT_UNREACHABLE, valid ? 0 : rep.status, now_ps, conn);
}

}  // namespace weft::live
