// Names, and ids made from them in one call: what the synchronous programs use.
#include <netdb.h>
#include <netinet/in.h>

#include <cstring>

#include "verbs/rdmacm/objects.h"

namespace weft::verbs::cm {
namespace {

sockaddr* copy_address(const sockaddr* from, socklen_t length) {
  if (from == nullptr || length == 0) return nullptr;
  auto* copy = static_cast<sockaddr*>(std::calloc(1, sizeof(sockaddr_storage)));
  if (copy != nullptr) std::memcpy(copy, from, length < sizeof(sockaddr_storage) ? length : sizeof(sockaddr_storage));
  return copy;
}

addrinfo hints_of(const rdma_addrinfo& hints) {
  addrinfo out{};
  if ((hints.ai_flags & RAI_PASSIVE) != 0) out.ai_flags |= AI_PASSIVE;
  if ((hints.ai_flags & RAI_NUMERICHOST) != 0) out.ai_flags |= AI_NUMERICHOST;
  out.ai_family = (hints.ai_flags & RAI_FAMILY) != 0 || hints.ai_family != 0 ? hints.ai_family : AF_UNSPEC;
  const bool datagram = hints.ai_qp_type == IBV_QPT_UD || hints.ai_port_space == RDMA_PS_UDP;
  out.ai_socktype = datagram ? SOCK_DGRAM : SOCK_STREAM;
  out.ai_protocol = datagram ? IPPROTO_UDP : IPPROTO_TCP;
  return out;
}

// A name becomes the local end of who listens and the far end of who connects. 0 or an error of getaddrinfo.
int look_up(const char* node, const char* service, const rdma_addrinfo& hints, rdma_addrinfo& out) {
  const addrinfo wanted = hints_of(hints);
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(node, service, &wanted, &found); error != 0) return error;
  const bool passive = (hints.ai_flags & RAI_PASSIVE) != 0;
  out.ai_family = found->ai_family;
  (passive ? out.ai_src_addr : out.ai_dst_addr) = copy_address(found->ai_addr, found->ai_addrlen);
  (passive ? out.ai_src_len : out.ai_dst_len) = found->ai_addrlen;
  freeaddrinfo(found);
  return 0;
}

}  // namespace
}  // namespace weft::verbs::cm

using namespace weft::verbs;
using namespace weft::verbs::cm;

int rdma_getaddrinfo(const char* node, const char* service, const rdma_addrinfo* hints, rdma_addrinfo** res) {
  if (node == nullptr && service == nullptr && hints == nullptr) return result(EINVAL);
  static constexpr rdma_addrinfo kNoHints{};
  if (hints == nullptr) hints = &kNoHints;
  auto* out = make<rdma_addrinfo>();
  if (out == nullptr) return result(ENOMEM);
  out->ai_flags = hints->ai_flags;
  out->ai_family = hints->ai_family;
  out->ai_port_space = hints->ai_port_space;
  if (out->ai_port_space == 0) out->ai_port_space = hints->ai_qp_type == IBV_QPT_UD ? RDMA_PS_UDP : RDMA_PS_TCP;
  out->ai_qp_type = hints->ai_qp_type;
  if (out->ai_qp_type == 0) out->ai_qp_type = out->ai_port_space == RDMA_PS_UDP ? IBV_QPT_UD : IBV_QPT_RC;
  if (node != nullptr || service != nullptr) {
    if (const int error = look_up(node, service, *hints, *out); error != 0) {
      rdma_freeaddrinfo(out);
      return error;
    }
  }
  if (out->ai_src_len == 0 && hints->ai_src_len != 0) {
    out->ai_src_addr = copy_address(hints->ai_src_addr, hints->ai_src_len);
    out->ai_src_len = hints->ai_src_len;
  }
  if (out->ai_dst_len == 0 && hints->ai_dst_len != 0) {
    out->ai_dst_addr = copy_address(hints->ai_dst_addr, hints->ai_dst_len);
    out->ai_dst_len = hints->ai_dst_len;
  }
  *res = out;
  return 0;
}

void rdma_freeaddrinfo(rdma_addrinfo* res) {
  while (res != nullptr) {
    rdma_addrinfo* next = res->ai_next;
    std::free(res->ai_src_addr);
    std::free(res->ai_dst_addr);
    std::free(res);
    res = next;
  }
}

int rdma_create_ep(rdma_cm_id** out, rdma_addrinfo* res, ibv_pd* pd, ibv_qp_init_attr* init) {
  auto* id =
      create_sync_id(static_cast<rdma_port_space>(res->ai_port_space), static_cast<ibv_qp_type>(res->ai_qp_type));
  if (id == nullptr) return -1;
  int status = 0;
  if ((res->ai_flags & RAI_PASSIVE) != 0) {
    status = rdma_bind_addr(id, res->ai_src_addr);
    if (status == 0 && pd != nullptr) id->pd = pd;
    if (status == 0 && init != nullptr) {
      auto* copy = static_cast<ibv_qp_init_attr*>(std::malloc(sizeof *init));
      status = copy == nullptr ? result(ENOMEM) : 0;
      if (copy != nullptr) *copy = *init;
      if (copy != nullptr) copy->qp_type = static_cast<ibv_qp_type>(res->ai_qp_type);
      id_of(id).qp_attr = copy;
    }
  } else {
    status = rdma_resolve_addr(id, res->ai_src_addr, res->ai_dst_addr, kResolveTimeout_ms);
    if (status == 0) status = rdma_resolve_route(id, kResolveTimeout_ms);
    if (status == 0 && init != nullptr) {
      init->qp_type = static_cast<ibv_qp_type>(res->ai_qp_type);
      status = rdma_create_qp(id, pd, init);
    }
  }
  if (status != 0) {
    const int error = errno;
    rdma_destroy_ep(id);
    return result(error);
  }
  *out = id;
  return 0;
}

void rdma_destroy_ep(rdma_cm_id* id) {
  if (id->qp != nullptr) rdma_destroy_qp(id);
  if (id->srq != nullptr) rdma_destroy_srq(id);
  rdma_destroy_id(id);
}

int rdma_get_request(rdma_cm_id* listen, rdma_cm_id** out) {
  Id& listener = id_of(listen);
  if (!listener.sync) return result(EINVAL);
  if (listener.event != nullptr) {
    rdma_ack_cm_event(listener.event);
    listener.event = nullptr;
  }
  rdma_cm_event* event = nullptr;
  if (rdma_get_cm_event(listener.channel, &event) != 0) return -1;
  int error = event->status < 0 ? -event->status : event->status;
  if (error == 0 && event->event != RDMA_CM_EVENT_CONNECT_REQUEST) error = EINVAL;
  if (error == 0 && listener.qp_attr != nullptr) {
    // The attributes are used again for the next one; a PD of another device cannot be.
    ibv_qp_init_attr init = *listener.qp_attr;
    ibv_pd* pd = listener.pd != nullptr && listener.pd->context == event->id->verbs ? listener.pd : nullptr;
    if (rdma_create_qp(event->id, pd, &init) != 0) error = errno;
  }
  if (error != 0) {
    listener.event = event;
    return result(error);
  }
  *out = event->id;
  (*out)->event = event;
  return 0;
}
