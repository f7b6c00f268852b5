// Event channels, and what an event means for the queue pair of its id.
#include <fcntl.h>
#include <unistd.h>

#include <cstring>

#include "verbs/rdmacm/objects.h"

namespace weft::verbs::cm {
namespace {

constexpr std::uint16_t kGroupLid = 0xc000;  // IB_MULTICAST_LID_BASE, which Linux names for each group of RoCE

// Whether a wait blocks is the program's choice, by O_NONBLOCK of the descriptor.
bool is_blocking(int fd) {
  const int flags = fcntl(fd, F_GETFL);
  return flags < 0 || (flags & O_NONBLOCK) == 0;
}

void count_taken(Id& id) {
  const MutexGuard guard(id.mutex);
  ++id.events_taken;
}

void copy_private(const CmConn& conn, Event& event, const void*& data, std::uint8_t& length) {
  const std::size_t size_B = conn.private_B < 255 ? conn.private_B : 255;
  std::memcpy(event.private_data, conn.private_data, size_B);
  data = size_B == 0 ? nullptr : event.private_data;
  length = static_cast<std::uint8_t>(size_B);
}

void copy_conn(const CmEvent& from, Event& event) {
  rdma_conn_param& conn = event.param.conn;
  copy_private(from.conn, event, conn.private_data, conn.private_data_len);
  conn.responder_resources = from.conn.responder_resources;
  conn.initiator_depth = from.conn.initiator_depth;
  conn.flow_control = from.conn.flow_control;
  conn.retry_count = from.conn.retry_count;
  conn.rnr_retry_count = from.conn.rnr_retry_count;
  conn.srq = from.conn.srq;
  conn.qp_num = from.conn.qpn;
}

void copy_datagram(const CmEvent& from, Event& event) {
  rdma_ud_param& ud = event.param.ud;
  copy_private(from.conn, event, ud.private_data, ud.private_data_len);
  ud.qp_num = from.conn.qpn;
  ud.qkey = from.conn.qkey;
  ud.ah_attr.is_global = 1;
  ud.ah_attr.port_num = 1;
  std::memcpy(ud.ah_attr.grh.dgid.raw, from.info.remote.bytes, 16);
  ud.ah_attr.grh.sgid_index = 3;
  ud.ah_attr.grh.hop_limit = 64;
  ud.ah_attr.grh.traffic_class = static_cast<std::uint8_t>(from.info.traffic_class);
}

// A request: `fresh` becomes the id of the connection to be.
int take_request(const CmEvent& from, Event& event, Id& listener, Id& fresh) {
  fresh.handle = from.info.id;
  fresh.ps = listener.ps;
  fresh.qp_type = listener.qp_type;
  fresh.context = listener.context;
  fresh.channel = listener.channel;
  fresh.responder_resources = from.conn.responder_resources;
  fresh.initiator_depth = from.conn.initiator_depth;
  event.listen_id = &listener;
  event.id = &fresh;
  event.concerns = &listener;
  if (const int error = apply(fresh, from.info); error != 0) return error;
  fresh.route.path_rec = &fresh.path;
  fresh.route.num_paths = 1;
  // A synchronous listener waits synchronously for the outcome of its requests too.
  return listener.sync && rdma_migrate_id(&fresh, nullptr) != 0 ? errno : 0;
}

// The peer has accepted: the queue pair becomes ready, and the peer is notified.
void take_response(Id& id, Event& event) {
  if (id.qp == nullptr) return;
  int status = to_rtr(id, id.responder_resources);
  if (status == 0) status = to_rts(id, id.initiator_depth);
  CmConnect request{};
  request.id = id.handle;
  if (status == 0) status = result(call(Op::kCmAccept, request));
  if (status == 0) {
    event.event = RDMA_CM_EVENT_ESTABLISHED;
    return;
  }
  event.status = -errno;
  event.event = RDMA_CM_EVENT_CONNECT_ERROR;
  id.connect_error = true;
  to_error(id);
  call(Op::kCmReject, request);
}

// False: no event for the program.
bool take(const CmEvent& from, Event& event, Id*& fresh) {
  auto& id = *reinterpret_cast<Id*>(from.cookie);
  event.id = &id;
  event.concerns = &id;
  event.event = static_cast<rdma_cm_event_type>(from.type);
  event.status = from.status;
  switch (event.event) {
    case RDMA_CM_EVENT_ADDR_RESOLVED:
      event.status = -apply(id, from.info);
      if (event.status != 0) event.event = RDMA_CM_EVENT_ADDR_ERROR;
      break;
    case RDMA_CM_EVENT_ROUTE_RESOLVED:
      id.route.path_rec = &id.path;
      id.route.num_paths = 1;
      break;
    case RDMA_CM_EVENT_CONNECT_REQUEST: {
      auto& listener = *reinterpret_cast<Id*>(from.listen_cookie);
      fresh = nullptr;  // it is the program's now
      if (listener.qp_type == IBV_QPT_UD) {
        copy_datagram(from, event);
      } else {
        copy_conn(from, event);
      }
      event.status = -take_request(from, event, listener, id);
      break;
    }
    case RDMA_CM_EVENT_CONNECT_RESPONSE:
      copy_conn(from, event);
      take_response(id, event);
      break;
    case RDMA_CM_EVENT_ESTABLISHED:
      if (id.qp_type == IBV_QPT_UD) {
        copy_datagram(from, event);
      } else {
        copy_conn(from, event);
      }
      break;
    case RDMA_CM_EVENT_MULTICAST_JOIN: {
      const auto& group = *reinterpret_cast<const Group*>(from.listen_cookie);
      copy_datagram(from, event);
      event.param.ud.private_data = group.context;
      event.param.ud.ah_attr.dlid = kGroupLid;
      event.status = -attach(id, group);
      if (event.status != 0) event.event = RDMA_CM_EVENT_MULTICAST_ERROR;
      break;
    }
    case RDMA_CM_EVENT_REJECTED:
      if (id.connect_error) return false;
      copy_conn(from, event);
      to_error(id);
      break;
    case RDMA_CM_EVENT_DISCONNECTED:
      if (id.connect_error) return false;
      copy_conn(from, event);
      break;
    default:
      break;
  }
  count_taken(*event.concerns);
  return true;
}

}  // namespace
}  // namespace weft::verbs::cm

using namespace weft::verbs;
using namespace weft::verbs::cm;

rdma_event_channel* rdma_create_event_channel() {
  auto* channel = make<Channel>();
  if (channel == nullptr) return fail(ENOMEM);
  Handle reply{};
  Descriptors descriptors;
  std::size_t reply_B = sizeof reply;
  const int error =
      weft_call(static_cast<std::uint32_t>(Op::kCmCreateChannel), nullptr, 0, &reply, &reply_B, &descriptors);
  if (error != 0 || reply_B != sizeof reply) {
    std::free(channel);
    return fail(error != 0 ? error : EPROTO);
  }
  channel->fd = descriptors.fd[0];
  channel->handle = reply.handle;
  weft_watch_descriptor(channel->fd, WaitItem::kCm, channel->handle);
  return channel;
}

void rdma_destroy_event_channel(rdma_event_channel* base) {
  auto* channel = static_cast<Channel*>(base);
  call(Op::kCmDestroyChannel, Handle{channel->handle});
  close(channel->fd);
  std::free(channel);
}

int rdma_get_cm_event(rdma_event_channel* channel, rdma_cm_event** out) {
  if (out == nullptr) return result(EINVAL);
  auto* event = make<Event>();
  // A request needs an id, and the world its address, before it is known to be one.
  Id* fresh = make_id(channel, nullptr, RDMA_PS_TCP, IBV_QPT_RC);
  if (event == nullptr || fresh == nullptr) {
    std::free(event);
    if (fresh != nullptr) free_id(fresh);
    return result(ENOMEM);
  }
  int error = 0;
  CmEvent from;
  do {
    const CmGetEvent request{static_cast<Channel*>(channel)->handle, is_blocking(channel->fd) ? 1u : 0u,
                             reinterpret_cast<std::uintptr_t>(fresh)};
    error = call(Op::kCmGetEvent, request, from);
  } while (error == 0 && !take(from, *event, fresh));
  if (fresh != nullptr) free_id(fresh);
  if (error != 0) {
    std::free(event);
    return result(error);
  }
  *out = event;
  return 0;
}

int rdma_ack_cm_event(rdma_cm_event* base) {
  if (base == nullptr) return result(EINVAL);
  auto* event = static_cast<Event*>(base);
  Id& id = *event->concerns;
  {
    const MutexGuard guard(id.mutex);
    ++id.events_completed;
    pthread_cond_broadcast(&id.condition);
  }
  std::free(event);
  return 0;
}

const char* rdma_event_str(rdma_cm_event_type event) {
  static constexpr const char* kNames[] = {
      "RDMA_CM_EVENT_ADDR_RESOLVED",  "RDMA_CM_EVENT_ADDR_ERROR",      "RDMA_CM_EVENT_ROUTE_RESOLVED",
      "RDMA_CM_EVENT_ROUTE_ERROR",    "RDMA_CM_EVENT_CONNECT_REQUEST", "RDMA_CM_EVENT_CONNECT_RESPONSE",
      "RDMA_CM_EVENT_CONNECT_ERROR",  "RDMA_CM_EVENT_UNREACHABLE",     "RDMA_CM_EVENT_REJECTED",
      "RDMA_CM_EVENT_ESTABLISHED",    "RDMA_CM_EVENT_DISCONNECTED",    "RDMA_CM_EVENT_DEVICE_REMOVAL",
      "RDMA_CM_EVENT_MULTICAST_JOIN", "RDMA_CM_EVENT_MULTICAST_ERROR", "RDMA_CM_EVENT_ADDR_CHANGE",
      "RDMA_CM_EVENT_TIMEWAIT_EXIT"};
  const auto index = static_cast<std::size_t>(event);
  return index < sizeof kNames / sizeof kNames[0] ? kNames[index] : "UNKNOWN EVENT";
}
