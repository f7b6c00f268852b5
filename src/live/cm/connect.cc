// Connections of programs: ask for one, accept, reject, end.
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "live/cm/cm.h"
#include "verbs/address.h"

namespace weft::live {

namespace {

// Behind `from` comes what the program has to say, as far as there is room.
template <std::size_t kSize>
void put_private(std::array<std::uint8_t, kSize>& to, std::size_t from, const verbs::CmConn& conn) {
  std::size_t size_B = std::min<std::size_t>({conn.private_B, verbs::kMaxCmPrivate_B, kSize - from});
  std::copy_n(conn.private_data, size_B, to.begin() + static_cast<std::ptrdiff_t>(from));
}

template <std::size_t kSize>
bool private_fits(const verbs::CmConn& conn, const std::array<std::uint8_t, kSize>&, std::size_t from = 0) {
  return conn.private_B <= kSize - from;
}

wire::IpCmHeader ip_header(const CmId& id) {
  return {verbs::is_ipv4(id.local.data()), id.local_port, id.local, id.remote};
}

// As Linux names the rate of an Ethernet port in a path record (iboe_get_rate): 40, 20 or 10 Gb/s, or none.
std::uint8_t path_rate(std::int64_t rate_bps) {
  constexpr std::int64_t kGbps = 1'000'000'000;
  if (rate_bps >= 40 * kGbps) return 7;
  if (rate_bps >= 30 * kGbps) return 4;
  if (rate_bps >= 20 * kGbps) return 6;
  return rate_bps >= 10 * kGbps ? 3 : 0;
}

std::uint8_t three_bits(std::uint8_t count) {
  return std::min<std::uint8_t>(count, 7);
}

}  // namespace

Reply CommunicationManager::connect(Process& process, const Request& request, Time_ps now_ps) {
  verbs::CmConnect ask;
  std::shared_ptr<CmId> id = request.read(ask) ? find_id(process, ask.id) : nullptr;
  if (!id || id->state != CmState::kRouteResolved) return Reply::failed(EINVAL);
  bool datagram = id->port_space == RDMA_PS_UDP || id->qp_type == IBV_QPT_UD;
  if (datagram ? !private_fits(ask.conn, wire::CmSidrReq{}.private_data, wire::kIpCmHeader_B)
               : !private_fits(ask.conn, wire::CmReq{}.private_data, wire::kIpCmHeader_B))
    return Reply::failed(EINVAL);
  if (datagram) {
    send_sidr_req(*id, ask.conn, now_ps);
  } else {
    send_req(*id, ask.conn, now_ps);
  }
  return {};
}

void CommunicationManager::send_req(CmId& id, const verbs::CmConn& conn, Time_ps now_ps) {
  std::uint8_t lifetime =
      id.wanted_ack_timeout > 0 ? static_cast<std::uint8_t>(id.wanted_ack_timeout - 1) : kCmPacketLifetime;
  id.qpn = conn.qpn & 0xffffff;
  id.path_mtu = static_cast<std::uint8_t>(verbs_.describe(id.device).active_mtu);
  id.responder_resources = conn.responder_resources;
  id.initiator_depth = conn.initiator_depth;
  id.retry_count = three_bits(conn.retry_count);
  id.rnr_retry_count = three_bits(conn.rnr_retry_count);
  id.ack_timeout = cm_ack_timeout(kCmAckDelay, lifetime);
  id.transaction_id = id.comm_id;
  wire::CmReq req;
  req.local_comm_id = id.comm_id;
  req.service_id = wire::ip_service_id(id.port_space, id.remote_port);
  req.ca_guid = guid(id.device);
  req.qpn = id.qpn;
  // An initiator of XRC answers nothing, and its target retries nothing.
  const bool is_initiator = id.qp_type == IBV_QPT_XRC_SEND;
  req.responder_resources = is_initiator ? 0 : id.responder_resources;
  req.initiator_depth = id.initiator_depth;
  req.remote_response_timeout = req.local_response_timeout = kCmResponseTimeout;
  req.transport = is_initiator ? wire::kCmExtended : id.qp_type == IBV_QPT_UC ? wire::kCmUc : wire::kCmRc;
  req.extended_transport = is_initiator ? wire::kCmXrc : 0;
  req.flow_control = conn.flow_control != 0;
  req.starting_psn = id.rq_psn;
  req.retry_count = is_initiator ? 0 : id.retry_count;
  req.rnr_retry_count = is_initiator ? 0 : id.rnr_retry_count;
  req.path_mtu = id.path_mtu;
  req.max_retries = id.max_retries;
  req.srq = conn.srq != 0 && !is_initiator;
  req.path.local_gid = id.local;
  req.path.remote_gid = id.remote;
  req.path.packet_rate = path_rate(world_.rate_bps(ports_[id.device]->device().port_id()));
  req.path.traffic_class = id.tos;
  req.path.hop_limit = engine::kTtl;
  req.path.ack_timeout = id.ack_timeout;
  wire::write_ip_cm_header(ip_header(id), req.private_data);
  put_private(req.private_data, wire::kIpCmHeader_B, conn);
  id.state = CmState::kReqSent;
  Time_ps wait_ps = 2 * cm_time_ps(lifetime) + cm_time_ps(kCmResponseTimeout);
  send_until_answered(id, {id.transaction_id, req}, wait_ps, now_ps);
}

void CommunicationManager::send_sidr_req(CmId& id, const verbs::CmConn& conn, Time_ps now_ps) {
  wire::CmSidrReq req;
  req.request_id = id.comm_id;
  req.service_id = id.service_id = wire::ip_service_id(id.port_space, id.remote_port);
  wire::write_ip_cm_header(ip_header(id), req.private_data);
  put_private(req.private_data, wire::kIpCmHeader_B, conn);
  id.transaction_id = id.comm_id;
  id.state = CmState::kSidrSent;
  // cma_resolve_ib_udp: 2^(20 - 8) ms.
  send_until_answered(id, {id.transaction_id, req}, cm_time_ps(kCmResponseTimeout), now_ps);
}

Reply CommunicationManager::accept(Process& process, const Request& request, Time_ps now_ps) {
  verbs::CmConnect ask;
  std::shared_ptr<CmId> id = request.read(ask) ? find_id(process, ask.id) : nullptr;
  if (!id) return Reply::failed(EINVAL);
  switch (id->state) {
    case CmState::kReqReceived:
      if (!private_fits(ask.conn, wire::CmRep{}.private_data)) return Reply::failed(EINVAL);
      send_rep(*id, ask.conn, now_ps);
      return {};
    case CmState::kSidrReceived:
      if (!private_fits(ask.conn, wire::CmSidrRep{}.private_data)) return Reply::failed(EINVAL);
      send_sidr_rep(*id, wire::SidrStatus::kValid, ask.conn, now_ps);
      return {};
    case CmState::kRepReceived:
      id->state = CmState::kEstablished;
      send_rtu(*id, now_ps);
      return {};
    default:
      return Reply::failed(EINVAL);
  }
}

void CommunicationManager::send_rep(CmId& id, const verbs::CmConn& conn, Time_ps now_ps) {
  id.qpn = conn.qpn & 0xffffff;
  id.responder_resources = conn.responder_resources;
  id.initiator_depth = conn.initiator_depth;
  wire::CmRep rep;
  rep.local_comm_id = id.comm_id;
  rep.remote_comm_id = id.remote_comm_id;
  const bool is_target = id.qp_type == IBV_QPT_XRC_RECV;
  (is_target ? rep.ee_context : rep.qpn) = id.qpn;
  rep.starting_psn = id.rq_psn;
  rep.responder_resources = id.responder_resources;
  rep.initiator_depth = is_target ? 0 : id.initiator_depth;
  rep.target_ack_delay = kCmAckDelay;
  rep.flow_control = conn.flow_control != 0 && !is_target;
  rep.rnr_retry_count = three_bits(conn.rnr_retry_count);
  rep.srq = conn.srq != 0 || is_target;
  rep.ca_guid = guid(id.device);
  put_private(rep.private_data, 0, conn);
  id.state = CmState::kRepSent;
  send_until_answered(id, {id.transaction_id, rep}, id.wait_ps, now_ps);
}

void CommunicationManager::send_sidr_rep(CmId& id, wire::SidrStatus status, const verbs::CmConn& conn, Time_ps now_ps) {
  wire::CmSidrRep rep;
  rep.request_id = id.remote_comm_id;
  rep.status = static_cast<std::uint8_t>(status);
  rep.service_id = id.service_id;
  if (status == wire::SidrStatus::kValid) {
    rep.qpn = conn.qpn & 0xffffff;
    rep.qkey = conn.qkey != 0 ? conn.qkey : RDMA_UDP_QKEY;
  }
  put_private(rep.private_data, 0, conn);
  id.state = CmState::kDone;
  id.last = wire::build_cm_mad({id.transaction_id, rep});
  ports_[id.device]->send(id.last, id.to_port, now_ps);
}

void CommunicationManager::send_rtu(CmId& id, Time_ps now_ps) {
  wire::CmRtu rtu;
  rtu.local_comm_id = id.comm_id;
  rtu.remote_comm_id = id.remote_comm_id;
  send(id, {id.transaction_id, rtu}, now_ps);
}

void CommunicationManager::send_rej(CmId& id, wire::CmReason reason, wire::CmAnswered answered,
                                    const verbs::CmConn& conn, Time_ps now_ps) {
  wire::CmRej rej;
  rej.local_comm_id = id.comm_id;
  rej.remote_comm_id = id.remote_comm_id;
  rej.answered = answered;
  rej.reason = static_cast<std::uint16_t>(reason);
  if (reason == wire::CmReason::kTimeout) {
    // Whose it is: the peer may not have told its number yet.
    wire::put_be64(rej.info, 0, guid(id.device));
    rej.info_B = 8;
  }
  put_private(rej.private_data, 0, conn);
  send(id, {id.transaction_id, rej}, now_ps);
}

Reply CommunicationManager::reject(Process& process, const Request& request, Time_ps now_ps) {
  verbs::CmConnect ask;
  std::shared_ptr<CmId> id = request.read(ask) ? find_id(process, ask.id) : nullptr;
  if (!id || !private_fits(ask.conn, wire::CmRej{}.private_data)) return Reply::failed(EINVAL);
  switch (id->state) {
    case CmState::kSidrReceived:
      send_sidr_rep(*id, wire::SidrStatus::kRejected, ask.conn, now_ps);
      return {};
    case CmState::kReqReceived:
    case CmState::kRepReceived: {
      bool asked = id->state == CmState::kReqReceived;
      id->state = CmState::kDone;
      send_rej(*id, wire::CmReason::kConsumer, asked ? wire::CmAnswered::kReq : wire::CmAnswered::kRep, ask.conn,
               now_ps);
      return {};
    }
    default:
      return Reply::failed(EINVAL);
  }
}

void CommunicationManager::send_dreq(CmId& id, Time_ps now_ps) {
  wire::CmDreq dreq;
  dreq.local_comm_id = id.comm_id;
  dreq.remote_comm_id = id.remote_comm_id;
  dreq.remote_qpn = id.remote_qpn;
  id.state = CmState::kDreqSent;
  send_until_answered(id, {std::uint64_t{1} << 32 | id.comm_id, dreq}, id.wait_ps, now_ps);
}

void CommunicationManager::send_drep(CmId& id, Time_ps now_ps) {
  wire::CmDrep drep;
  drep.local_comm_id = id.comm_id;
  drep.remote_comm_id = id.remote_comm_id;
  send(id, {id.transaction_id, drep}, now_ps);
}

Reply CommunicationManager::disconnect(Process& process, const Request& request, Time_ps now_ps) {
  verbs::Handle ask;
  std::shared_ptr<CmId> id = request.read(ask) ? find_id(process, ask.handle) : nullptr;
  if (!id || id->state < CmState::kReqSent) return Reply::failed(EINVAL);
  if (id->state == CmState::kEstablished) {
    send_dreq(*id, now_ps);
  } else if (id->state == CmState::kDreqReceived) {
    send_drep(*id, now_ps);
    enter_time_wait(*id, now_ps);
  }
  return {};
}

// The queue pair has seen a packet: the RTU is lost or late, and the connection is there.
Reply CommunicationManager::notify(Process& process, const Request& request, Time_ps now_ps) {
  verbs::CmOption ask;
  std::shared_ptr<CmId> id = request.read(ask) ? find_id(process, ask.id) : nullptr;
  if (!id || ask.value != IBV_EVENT_COMM_EST) return Reply::failed(EINVAL);
  if (id->state == CmState::kEstablished) return Reply::failed(EISCONN);
  if (id->state != CmState::kRepSent) return Reply::failed(EINVAL);
  stop_sending(*id);
  id->state = CmState::kEstablished;
  tell(id, RDMA_CM_EVENT_ESTABLISHED, 0, now_ps);
  return {};
}

// As the kernel's cm_destroy_id: the peer is notified once, without retransmission.
void CommunicationManager::destroy(const std::shared_ptr<CmId>& doomed, Time_ps now_ps) {
  std::shared_ptr<CmId> id = doomed;
  switch (id->state) {
    case CmState::kReqSent:
      send_rej(*id, wire::CmReason::kTimeout, wire::CmAnswered::kReq, {}, now_ps);
      break;
    case CmState::kReqReceived:
      send_rej(*id, wire::CmReason::kConsumer, wire::CmAnswered::kReq, {}, now_ps);
      break;
    case CmState::kRepSent:
    case CmState::kRepReceived:
      send_rej(*id, wire::CmReason::kConsumer, wire::CmAnswered::kRep, {}, now_ps);
      break;
    case CmState::kEstablished:
      send_dreq(*id, now_ps);
      break;
    case CmState::kDreqReceived:
      send_drep(*id, now_ps);
      break;
    case CmState::kSidrReceived:
      send_sidr_rep(*id, wire::SidrStatus::kRejected, {}, now_ps);
      break;
    default:
      break;
  }
  if (id->deadline_ps != kNever_ps) {
    stop_sending(*id);
    node_.host().wake(program_, now_ps);  // so that it does not wait for what has been called off
  }
  // Events of it, and requests to it that its program has not seen.
  std::vector<std::shared_ptr<CmId>> children;
  std::deque<CmPendingEvent> stay;
  for (CmPendingEvent& pending : id->channel->events) {
    if (pending.id != id && pending.listener != id) {
      stay.push_back(std::move(pending));
      continue;
    }
    lower_event(id->channel->eventfd);
    if (pending.listener == id) children.push_back(pending.id);
  }
  id->channel->events = std::move(stay);
  id->state = CmState::kDone;
  comm_ids_.erase(id->comm_id);
  ids_.erase(id->number);
  id->process->cm_ids.erase(id->handle);
  for (const auto& each : id->channel->holders) {
    const std::shared_ptr<Process> holder = each.lock();
    if (!holder) continue;
    if (auto found = holder->cm_ids.find(id->handle); found != holder->cm_ids.end() && found->second == id)
      holder->cm_ids.erase(found);
  }
  for (const auto& child : children) destroy(child, now_ps);
}

}  // namespace weft::live
