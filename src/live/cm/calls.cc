// Requests to the communication manager before and around a connection: channels, ids, addresses, events.
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "live/cm/cm.h"
#include "verbs/address.h"

namespace weft::live {

using verbs::Op;

namespace {

constexpr verbs::Address kAny4 = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0}};

// 0.0.0.0 and :: mean any.
wire::Gid cm_address(const verbs::Address& address) {
  wire::Gid gid{};
  if (!verbs::is_any(address)) std::memcpy(gid.data(), address.bytes, gid.size());
  return gid;
}

bool is_datagram(const CmId& id) {
  return id.port_space == RDMA_PS_UDP || id.qp_type == IBV_QPT_UD;
}

}  // namespace

std::optional<Reply> CommunicationManager::answer(Process& process, const Request& request, Time_ps now_ps) {
  switch (request.op) {
    case Op::kCmCreateChannel:
      return create_channel(process);
    case Op::kCmDestroyChannel:
      return destroy_channel(process, request, now_ps);
    case Op::kCmCreateId:
      return create_id(process, request);
    case Op::kCmBind:
      return bind(process, request);
    case Op::kCmListen:
      return listen(process, request, now_ps);
    case Op::kCmResolveAddress:
      return resolve_address(process, request, now_ps);
    case Op::kCmResolveRoute:
      return resolve_route(process, request, now_ps);
    case Op::kCmConnect:
      return connect(process, request, now_ps);
    case Op::kCmAccept:
      return accept(process, request, now_ps);
    case Op::kCmReject:
      return reject(process, request, now_ps);
    case Op::kCmDisconnect:
      return disconnect(process, request, now_ps);
    case Op::kCmNotify:
      return notify(process, request, now_ps);
    case Op::kCmInitQpAttr:
      return init_qp_attr(process, request);
    case Op::kCmSetOption:
      return set_option(process, request);
    case Op::kCmMigrate:
      return migrate(process, request, now_ps);
    case Op::kCmGetEvent:
      return get_event(process, request);
    case Op::kCmJoin:
      return join(process, request, now_ps);
    case Op::kCmLeave:
      return leave(process, request);
    default:
      break;
  }
  verbs::Handle ask;
  std::shared_ptr<CmId> id = request.read(ask) ? find_id(process, ask.handle) : nullptr;
  if (!id) return Reply::failed(EINVAL);
  if (request.op == Op::kCmQuery) return Reply::of(describe(*id));
  destroy(id, now_ps);
  return Reply{};
}

Reply CommunicationManager::create_channel(Process& process) {
  if (process.cm_channels.size() >= kMaxCmChannels) return Reply::failed(ENOMEM);
  auto channel = std::make_shared<CmChannel>();
  channel->eventfd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
  if (channel->eventfd < 0) return Reply::failed(EMFILE);
  std::uint32_t handle = process.new_handle();
  Reply reply = Reply::of(verbs::Handle{handle});
  reply.fds[0] = channel->eventfd;
  channel->holders.push_back(process.weak_from_this());
  process.cm_channels[handle] = std::move(channel);
  return reply;
}

Reply CommunicationManager::destroy_channel(Process& process, const Request& request, Time_ps now_ps) {
  verbs::Handle ask;
  if (!request.read(ask)) return Reply::failed(EINVAL);
  if (!process.cm_channels.contains(ask.handle)) return Reply::failed(EINVAL);
  drop(process, ask.handle, now_ps);
  return {};
}

std::shared_ptr<CmId> CommunicationManager::make_id(Process& process) {
  auto id = std::make_shared<CmId>();
  id->process = &process;
  id->handle = process.new_handle();
  id->number = next_number_++;
  do {
    id->comm_id = static_cast<std::uint32_t>(random_.next());
  } while (id->comm_id == 0 || comm_ids_.contains(id->comm_id));
  id->rq_psn = static_cast<std::uint32_t>(random_.below(1 << 24));
  ids_[id->number] = id;
  comm_ids_[id->comm_id] = id->number;
  process.cm_ids[id->handle] = id;
  return id;
}

Reply CommunicationManager::create_id(Process& process, const Request& request) {
  verbs::CmCreateId ask;
  if (!request.read(ask) || ask.cookie == 0) return Reply::failed(EINVAL);
  auto channel = process.cm_channels.find(ask.channel);
  if (channel == process.cm_channels.end()) return Reply::failed(EINVAL);
  if (ask.port_space != RDMA_PS_TCP && ask.port_space != RDMA_PS_UDP && ask.port_space != RDMA_PS_IB)
    return Reply::failed(EPROTONOSUPPORT);
  if (process.cm_ids.size() >= kMaxCmIds) return Reply::failed(ENOMEM);
  std::shared_ptr<CmId> id = make_id(process);
  id->cookie = ask.cookie;
  id->channel = channel->second;
  id->port_space = static_cast<std::uint16_t>(ask.port_space);
  id->qp_type = ask.qp_type;
  return Reply::of(verbs::Handle{id->handle});
}

int CommunicationManager::bind_to(CmId& id, const verbs::Address& asked, std::uint16_t port) {
  if (id.state != CmState::kIdle) return EINVAL;
  wire::Gid address = cm_address(asked);
  const bool ipv6 = is_ipv6(asked.bytes);
  // As in the kernel, localhost is the first device: libfabric asks that way which there are.
  if (verbs::is_loopback(address.data()) && !ports_.empty()) address = world_.book()[ports_[0]->device().port_id()].ip;
  std::uint32_t device = verbs::kNoHandle;
  for (std::uint32_t i = 0; i < ports_.size() && !verbs::is_any(address.data()); ++i) {
    if (world_.book()[ports_[i]->device().port_id()].ip == address) device = i;
  }
  if (!verbs::is_any(address.data()) && device == verbs::kNoHandle) return EADDRNOTAVAIL;
  auto is_taken = [&](std::uint16_t wanted, bool reuse) {
    return std::any_of(ids_.begin(), ids_.end(), [&](const auto& each) {
      const CmId& other = *each.second;
      bool meets = verbs::is_any(other.local.data()) || verbs::is_any(address.data()) || other.local == address;
      meets = meets && !(id.family_only && other.family_only && ipv6 != other.ipv6);
      bool shares = reuse && other.reuse && other.state != CmState::kListening;
      return other.holds_port && other.port_space == id.port_space && other.local_port == wanted && meets && !shares;
    });
  };
  if (port == 0) {
    for (int i = 0; i < 32768 && (port == 0 || is_taken(port, false)); ++i) {
      port = static_cast<std::uint16_t>(next_port_);
      next_port_ = next_port_ == 60999 ? 32768 : next_port_ + 1;
    }
  }
  if (is_taken(port, id.reuse)) return EADDRINUSE;
  id.device = device;
  id.local = address;
  id.ipv6 = ipv6;
  id.local_port = port;
  id.holds_port = true;
  id.state = CmState::kBound;
  return 0;
}

Reply CommunicationManager::bind(Process& process, const Request& request) {
  verbs::CmAddress ask;
  std::shared_ptr<CmId> id = request.read(ask) ? find_id(process, ask.id) : nullptr;
  if (!id || ask.port > 65535) return Reply::failed(EINVAL);
  if (int error = bind_to(*id, ask.address, static_cast<std::uint16_t>(ask.port)); error != 0)
    return Reply::failed(error);
  return Reply::of(describe(*id));
}

Reply CommunicationManager::listen(Process& process, const Request& request, Time_ps now_ps) {
  verbs::CmListen ask;
  std::shared_ptr<CmId> id = request.read(ask) ? find_id(process, ask.id) : nullptr;
  if (!id) return Reply::failed(EINVAL);
  if (id->state == CmState::kIdle) {
    if (int error = bind_to(*id, kAny4, 0); error != 0) return Reply::failed(error);
  }
  if (id->state != CmState::kBound) return Reply::failed(EINVAL);
  id->state = CmState::kListening;
  id->backlog = ask.backlog == 0 || ask.backlog > 1024 ? 1024 : ask.backlog;
  if (!waiting_.empty()) {
    retry_ = true;
    node_.host().wake(program_, now_ps);
  }
  return Reply::of(describe(*id));
}

// The device in the destination's subnet; where there is none, the first, whose router knows the way.
std::optional<std::uint32_t> CommunicationManager::device_towards(const wire::Gid& address) const {
  lab::IpAddress to;
  std::copy(address.begin(), address.end(), to.bytes);
  for (std::uint32_t i = 0; i < ports_.size(); ++i) {
    lab::PortRef ref = verbs_.port_ref(i);
    const lab::PortConfig& port = world_.lab().hosts[ref.host].nics[ref.nic].ports[ref.port];
    to.is_v4 = port.address.is_v4;
    if (lab::same_subnet(port.address, to, port.prefix_bits)) return i;
  }
  if (ports_.empty()) return std::nullopt;
  return 0;
}

Reply CommunicationManager::resolve_address(Process& process, const Request& request, Time_ps now_ps) {
  verbs::CmResolve ask;
  std::shared_ptr<CmId> id = request.read(ask) ? find_id(process, ask.id) : nullptr;
  wire::Gid to = id ? cm_address(ask.address) : wire::Gid{};
  if (!id || ask.port > 65535 || ask.source_port > 65535 || verbs::is_any(to.data())) return Reply::failed(EINVAL);
  if (id->state == CmState::kIdle) {
    int error = bind_to(*id, ask.source, static_cast<std::uint16_t>(ask.source_port));
    if (error != 0) return Reply::failed(error);
  }
  if (id->state != CmState::kBound) return Reply::failed(EINVAL);
  if (id->device == verbs::kNoHandle) {
    auto device = device_towards(to);
    if (!device) return Reply::failed(ENODEV);
    id->device = *device;
    id->local = world_.book()[ports_[*device]->device().port_id()].ip;
  }
  id->remote = id->peer = id->remote_gid = to;
  id->remote_port = static_cast<std::uint16_t>(ask.port);
  auto port = wire::is_multicast(to) ? ports_[id->device]->device().port_id() : verbs_.port_of_gid(to.data());
  if (!port) {
    // An ARP request for it gets no answer.
    id->state = CmState::kResolving;
    id->retries_left = 0;
    set_deadline(*id, now_ps + ms(std::max<std::int64_t>(ask.timeout_ms, 1)));
    return {};
  }
  id->to_port = *port;
  id->state = CmState::kAddressResolved;
  tell(id, RDMA_CM_EVENT_ADDR_RESOLVED, 0, now_ps);
  return {};
}

Reply CommunicationManager::resolve_route(Process& process, const Request& request, Time_ps now_ps) {
  verbs::CmResolve ask;
  std::shared_ptr<CmId> id = request.read(ask) ? find_id(process, ask.id) : nullptr;
  if (!id || id->state != CmState::kAddressResolved) return Reply::failed(EINVAL);
  id->state = CmState::kRouteResolved;
  tell(id, RDMA_CM_EVENT_ROUTE_RESOLVED, 0, now_ps);
  return {};
}

Reply CommunicationManager::set_option(Process& process, const Request& request) {
  verbs::CmOption ask;
  std::shared_ptr<CmId> id = request.read(ask) ? find_id(process, ask.id) : nullptr;
  if (!id) return Reply::failed(EINVAL);
  switch (ask.option) {
    case RDMA_OPTION_ID_TOS:
      id->tos = static_cast<std::uint8_t>(ask.value);
      return {};
    case RDMA_OPTION_ID_REUSEADDR:
      id->reuse = ask.value != 0;
      return {};
    case RDMA_OPTION_ID_ACK_TIMEOUT:
      if (ask.value > 31) return Reply::failed(EINVAL);
      id->wanted_ack_timeout = static_cast<std::uint8_t>(ask.value);
      return {};
    case RDMA_OPTION_ID_AFONLY:
      id->family_only = ask.value != 0;
      return {};
    default:
      return Reply::failed(ENOSYS);
  }
}

Reply CommunicationManager::migrate(Process& process, const Request& request, Time_ps now_ps) {
  verbs::CmOption ask;
  std::shared_ptr<CmId> id = request.read(ask) ? find_id(process, ask.id) : nullptr;
  auto to = id ? process.cm_channels.find(ask.value) : process.cm_channels.end();
  if (to == process.cm_channels.end()) return Reply::failed(EINVAL);
  std::shared_ptr<CmChannel> from = id->channel;
  id->channel = to->second;
  std::deque<CmPendingEvent> stay;
  for (CmPendingEvent& pending : from->events) {
    bool moves = pending.listener ? pending.listener == id : pending.id == id;
    if (moves) {
      lower_event(from->eventfd);
      raise_event(id->channel->eventfd);
    }
    (moves ? id->channel->events : stay).push_back(std::move(pending));
  }
  from->events = std::move(stay);
  node_.tell(process, now_ps);
  return {};
}

// Attributes that rdma_init_qp_attr fills in for each step (ib_cm_init_qp_attr). The receive PSN is this side's choice,
// the send PSN is the peer's.
Reply CommunicationManager::init_qp_attr(Process& process, const Request& request) {
  verbs::CmOption ask;
  std::shared_ptr<CmId> id = request.read(ask) ? find_id(process, ask.id) : nullptr;
  if (!id || id->device == verbs::kNoHandle) return Reply::failed(EINVAL);
  verbs::CmQpAttr out{};
  verbs::QpAttr& attr = out.attr;
  attr.state = ask.value;
  out.mask = IBV_QP_STATE;
  bool datagram = is_datagram(*id);
  bool connecting = id->state >= CmState::kReqSent && id->state <= CmState::kTimeWait;
  switch (ask.value) {
    case IBV_QPS_INIT:
      attr.port = 1;
      out.mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT | (datagram ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
      attr.qkey = RDMA_UDP_QKEY;
      if (connecting) attr.access = IBV_ACCESS_REMOTE_WRITE;
      if (connecting && id->responder_resources > 0) attr.access |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
      break;
    case IBV_QPS_RTR:
      if (datagram) break;
      if (!connecting) return Reply::failed(EINVAL);
      out.mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
      std::copy(id->remote_gid.begin(), id->remote_gid.end(), attr.ah.dgid);
      attr.ah.sgid_index = 3;
      attr.ah.hop_limit = engine::kTtl;
      attr.ah.traffic_class = id->tos;
      attr.port = 1;
      attr.path_mtu = id->path_mtu;
      attr.dest_qpn = id->remote_qpn;
      attr.rq_psn = id->rq_psn;
      if (id->qp_type == IBV_QPT_RC || id->qp_type == IBV_QPT_XRC_RECV) {
        out.mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
        attr.max_dest_rd_atomic = id->responder_resources;
      }
      break;
    case IBV_QPS_RTS:
      if (!datagram && !connecting) return Reply::failed(EINVAL);
      out.mask |= IBV_QP_SQ_PSN;
      attr.sq_psn = id->sq_psn;
      if (datagram || id->qp_type == IBV_QPT_UC) break;
      out.mask |= IBV_QP_TIMEOUT;
      attr.timeout = id->ack_timeout;
      if (id->qp_type == IBV_QPT_XRC_RECV) break;
      out.mask |= IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
      attr.retry_cnt = id->retry_count;
      attr.rnr_retry = id->rnr_retry_count;
      attr.max_rd_atomic = id->initiator_depth;
      break;
    default:
      return Reply::failed(EINVAL);
  }
  return Reply::of(out);
}

std::optional<Reply> CommunicationManager::get_event(Process& process, const Request& request) {
  verbs::CmGetEvent ask;
  if (!request.read(ask)) return Reply::failed(EINVAL);
  auto found = process.cm_channels.find(ask.channel);
  if (found == process.cm_channels.end()) return Reply::failed(EINVAL);
  CmChannel& channel = *found->second;
  if (channel.events.empty()) return ask.wait != 0 ? std::nullopt : std::optional(Reply::failed(EAGAIN));
  CmPendingEvent pending = std::move(channel.events.front());
  channel.events.pop_front();
  lower_event(channel.eventfd);
  if (pending.listener) {
    pending.id->cookie = ask.new_cookie;
    pending.event.listen_cookie = pending.listener->cookie;
    ++pending.listener->backlog;
  }
  pending.event.cookie = pending.id->cookie;
  // A request to a listener that several processes hold belongs to the one that fetches it.
  if (auto known = process.cm_ids.find(pending.id->handle);
      known == process.cm_ids.end() || known->second != pending.id) {
    pending.id->process->cm_ids.erase(pending.id->handle);
    pending.id->process = &process;
    pending.id->handle = pending.event.info.id = process.new_handle();
    process.cm_ids[pending.id->handle] = pending.id;
  }
  return Reply::of(pending.event);
}

}  // namespace weft::live
