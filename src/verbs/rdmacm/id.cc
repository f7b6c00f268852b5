// Ids: making and ending them, addresses, routes, options.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <unistd.h>

#include <cstring>

#include "verbs/address.h"
#include "verbs/rdmacm/objects.h"

namespace weft::verbs::cm {

int from_socket(const sockaddr* from, Address& address, std::uint32_t& port) {
  address = {};
  port = 0;
  if (from == nullptr) return 0;
  if (from->sa_family == AF_INET) {
    const auto* in = reinterpret_cast<const sockaddr_in*>(from);
    address = mapped(&in->sin_addr);
    port = ntohs(in->sin_port);
    return 0;
  }
  if (from->sa_family != AF_INET6) return EAFNOSUPPORT;
  const auto* in6 = reinterpret_cast<const sockaddr_in6*>(from);
  std::memcpy(address.bytes, &in6->sin6_addr, 16);
  port = ntohs(in6->sin6_port);
  return 0;
}

namespace {

void to_socket(const Address& address, std::uint32_t port, sockaddr* out) {
  const bool v4 = is_same(address, Address{}) ? out->sa_family != AF_INET6 : is_ipv4(address);
  if (v4) {
    auto* in = reinterpret_cast<sockaddr_in*>(out);
    *in = {};
    in->sin_family = AF_INET;
    in->sin_port = htons(static_cast<std::uint16_t>(port));
    std::memcpy(&in->sin_addr, address.bytes + 12, 4);
    return;
  }
  auto* in6 = reinterpret_cast<sockaddr_in6*>(out);
  *in6 = {};
  in6->sin6_family = AF_INET6;
  in6->sin6_port = htons(static_cast<std::uint16_t>(port));
  std::memcpy(&in6->sin6_addr, address.bytes, 16);
}

int create_id(rdma_event_channel* channel, rdma_cm_id** out, void* context, rdma_port_space ps, ibv_qp_type qp_type) {
  rdma_event_channel* own = nullptr;
  if (channel == nullptr) channel = own = rdma_create_event_channel();
  if (channel == nullptr) return -1;
  Id* id = make_id(channel, context, ps, qp_type);
  Handle reply{};
  int error = ENOMEM;
  if (id != nullptr) {
    const CmCreateId request{static_cast<Channel*>(channel)->handle, static_cast<std::uint32_t>(ps),
                             static_cast<std::uint32_t>(qp_type), 0, reinterpret_cast<std::uintptr_t>(id)};
    error = call(Op::kCmCreateId, request, reply);
  }
  if (error != 0) {
    if (id != nullptr) free_id(id);
    if (own != nullptr) rdma_destroy_event_channel(own);
    return result(error);
  }
  id->handle = reply.handle;
  id->sync = own != nullptr;
  *out = id;
  return 0;
}

}  // namespace

rdma_cm_id* create_sync_id(rdma_port_space ps, ibv_qp_type qp_type) {
  rdma_cm_id* id = nullptr;
  return create_id(nullptr, &id, nullptr, ps, qp_type) == 0 ? id : nullptr;
}

Id* make_id(rdma_event_channel* channel, void* context, rdma_port_space ps, ibv_qp_type qp_type) {
  auto* id = make<Id>();
  if (id == nullptr) return fail(ENOMEM);
  id->channel = channel;
  id->context = context;
  id->ps = ps;
  id->qp_type = qp_type;
  id->handle = kNoHandle;
  pthread_mutex_init(&id->mutex, nullptr);
  pthread_cond_init(&id->condition, nullptr);
  return id;
}

void free_id(Id* id) {
  pthread_cond_destroy(&id->condition);
  pthread_mutex_destroy(&id->mutex);
  free_groups(*id);
  std::free(id->qp_attr);
  std::free(id);
}

int apply(Id& id, const CmIdInfo& info) {
  rdma_addr& addr = id.route.addr;
  to_socket(info.local, info.local_port, &addr.src_addr);
  if (info.remote_port != 0) to_socket(info.remote, info.remote_port, &addr.dst_addr);
  std::memcpy(addr.addr.ibaddr.sgid.raw, info.local.bytes, 16);
  std::memcpy(addr.addr.ibaddr.dgid.raw, info.remote.bytes, 16);
  addr.addr.ibaddr.pkey = htons(0xffff);
  id.path.sgid = addr.addr.ibaddr.sgid;
  id.path.dgid = addr.addr.ibaddr.dgid;
  id.path.pkey = addr.addr.ibaddr.pkey;
  id.path.mtu = static_cast<std::uint8_t>(info.mtu);
  id.path.traffic_class = static_cast<std::uint8_t>(info.traffic_class);
  id.path.hop_limit = 64;
  id.path.reversible = 1;
  if (info.device == kNoHandle || id.device != nullptr) return 0;
  id.device = open_device(info.device);
  if (id.device == nullptr) return errno;
  id.verbs = id.device->verbs;
  id.pd = id.device->pd;
  id.port_num = 1;
  return 0;
}

int complete(Id& id) {
  if (!id.sync) return 0;
  if (id.event != nullptr) {
    rdma_ack_cm_event(id.event);
    id.event = nullptr;
  }
  if (rdma_get_cm_event(id.channel, &id.event) != 0) return -1;
  const int status = id.event->status;
  if (status == 0) return 0;
  if (id.event->event == RDMA_CM_EVENT_REJECTED) return result(ECONNREFUSED);
  return result(status < 0 ? -status : EIO);
}

}  // namespace weft::verbs::cm

using namespace weft::verbs;
using namespace weft::verbs::cm;

int rdma_create_id(rdma_event_channel* channel, rdma_cm_id** id, void* context, rdma_port_space ps) {
  const ibv_qp_type qp_type = ps == RDMA_PS_UDP || ps == RDMA_PS_IPOIB ? IBV_QPT_UD : IBV_QPT_RC;
  return create_id(channel, id, context, ps, qp_type);
}

int rdma_destroy_id(rdma_cm_id* base) {
  Id& id = id_of(base);
  if (const int error = call(Op::kCmDestroyId, Handle{id.handle}); error != 0) return result(error);
  if (id.event != nullptr) rdma_ack_cm_event(id.event);
  pthread_mutex_lock(&id.mutex);
  while (id.events_completed != id.events_taken) pthread_cond_wait(&id.condition, &id.mutex);
  pthread_mutex_unlock(&id.mutex);
  if (id.sync) rdma_destroy_event_channel(id.channel);
  free_id(&id);
  return 0;
}

int rdma_bind_addr(rdma_cm_id* base, sockaddr* addr) {
  Id& id = id_of(base);
  CmAddress request{id.handle, 0, {}};
  if (const int error = from_socket(addr, request.address, request.port); error != 0) return result(error);
  if (addr != nullptr) id.route.addr.src_addr.sa_family = addr->sa_family;
  CmIdInfo info;
  int error = call(Op::kCmBind, request, info);
  if (error == 0) error = apply(id, info);
  return result(error);
}

int rdma_listen(rdma_cm_id* base, int backlog) {
  Id& id = id_of(base);
  CmIdInfo info;
  int error = call(Op::kCmListen, CmListen{id.handle, static_cast<std::uint32_t>(backlog < 0 ? 0 : backlog)}, info);
  if (error == 0) error = apply(id, info);
  return result(error);
}

int rdma_resolve_addr(rdma_cm_id* base, sockaddr* src_addr, sockaddr* dst_addr, int timeout_ms) {
  Id& id = id_of(base);
  if (dst_addr == nullptr) return result(EINVAL);
  CmResolve request{};
  request.id = id.handle;
  request.timeout_ms = static_cast<std::uint32_t>(timeout_ms < 0 ? 0 : timeout_ms);
  int error = from_socket(dst_addr, request.address, request.port);
  if (error == 0) error = from_socket(src_addr, request.source, request.source_port);
  if (error == 0) error = call(Op::kCmResolveAddress, request);
  if (error != 0) return result(error);
  to_socket(request.address, request.port, &id.route.addr.dst_addr);
  return complete(id);
}

int rdma_resolve_route(rdma_cm_id* base, int timeout_ms) {
  Id& id = id_of(base);
  CmResolve request{};
  request.id = id.handle;
  request.timeout_ms = static_cast<std::uint32_t>(timeout_ms < 0 ? 0 : timeout_ms);
  if (const int error = call(Op::kCmResolveRoute, request); error != 0) return result(error);
  return complete(id);
}

int rdma_set_option(rdma_cm_id* base, int level, int optname, void* optval, std::size_t optlen) {
  if (level != RDMA_OPTION_ID) return result(EOPNOTSUPP);
  std::uint32_t value = 0;
  if (optlen == sizeof(std::uint8_t)) {
    value = *static_cast<const std::uint8_t*>(optval);
  } else if (optlen == sizeof value) {
    std::memcpy(&value, optval, sizeof value);
  } else {
    return result(EINVAL);
  }
  return result(call(Op::kCmSetOption, CmOption{id_of(base).handle, static_cast<std::uint32_t>(optname), value}));
}

int rdma_migrate_id(rdma_cm_id* base, rdma_event_channel* channel) {
  Id& id = id_of(base);
  const bool sync = channel == nullptr;
  if (sync) channel = rdma_create_event_channel();
  if (channel == nullptr) return -1;
  const int error = call(Op::kCmMigrate, CmOption{id.handle, 0, static_cast<Channel*>(channel)->handle});
  if (error != 0) {
    if (sync) rdma_destroy_event_channel(channel);
    return result(error);
  }
  if (id.sync) {
    if (id.event != nullptr) {
      rdma_ack_cm_event(id.event);
      id.event = nullptr;
    }
    rdma_destroy_event_channel(id.channel);
  }
  id.sync = sync;
  id.channel = channel;
  return 0;
}

namespace {

__be16 port_of(const sockaddr& address) {
  switch (address.sa_family) {
    case AF_INET:
      return reinterpret_cast<const sockaddr_in&>(address).sin_port;
    case AF_INET6:
      return reinterpret_cast<const sockaddr_in6&>(address).sin6_port;
    default:
      return 0;
  }
}

}  // namespace

__be16 rdma_get_src_port(rdma_cm_id* id) {
  return port_of(id->route.addr.src_addr);
}
__be16 rdma_get_dst_port(rdma_cm_id* id) {
  return port_of(id->route.addr.dst_addr);
}
