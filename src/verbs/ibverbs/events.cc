// Events: completion channels, and what a device has to say by itself. A wait is a request that the world answers when
// there is an event. The cookie of an event is the address of the object that it concerns.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "verbs/ibverbs/objects.h"

namespace weft::verbs {

void make_blocking(int fd) {
  const int flags = fcntl(fd, F_GETFL);
  if (flags >= 0) fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
}

bool is_blocking(int fd) {
  const int flags = fcntl(fd, F_GETFL);
  return flags < 0 || (flags & O_NONBLOCK) == 0;
}

namespace {

enum class Concerns { kCq, kQp, kSrq, kPort };

Concerns concern_of(std::uint32_t type) {
  switch (type) {
    case IBV_EVENT_CQ_ERR:
      return Concerns::kCq;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
      return Concerns::kQp;
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
      return Concerns::kSrq;
    default:
      return Concerns::kPort;
  }
}

void acknowledge(pthread_mutex_t& mutex, pthread_cond_t& condition, std::uint32_t& completed, std::uint32_t events) {
  const MutexGuard guard(mutex);
  completed += events;
  pthread_cond_broadcast(&condition);
}

}  // namespace
}  // namespace weft::verbs

using namespace weft::verbs;

ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  auto* channel = make<Channel>();
  if (channel == nullptr) return fail(ENOMEM);
  Handle reply;
  Descriptors descriptors;
  if (const int error = call(Op::kCreateChannel, OnDevice{device_index(context)}, reply, &descriptors); error != 0) {
    std::free(channel);
    return fail(error);
  }
  make_blocking(descriptors.fd[0]);
  weft_watch_descriptor(descriptors.fd[0], WaitItem::kChannel, reply.handle);
  channel->context = context;
  channel->fd = descriptors.fd[0];
  channel->handle = reply.handle;
  return channel;
}

int ibv_destroy_comp_channel(ibv_comp_channel* base) {
  auto* channel = static_cast<Channel*>(base);
  {
    const MutexGuard guard(channel->context->mutex);
    if (channel->refcnt != 0) return EBUSY;
  }
  if (const int error = destroy(Kind::kChannel, channel->handle); error != 0) return error;
  close(channel->fd);
  std::free(channel);
  return 0;
}

int ibv_get_cq_event(ibv_comp_channel* base, ibv_cq** cq, void** cq_context) {
  auto* channel = static_cast<Channel*>(base);
  const GetEvent request{channel->handle, is_blocking(channel->fd) ? 1u : 0u};
  CqEvent event;
  if (const int error = call(Op::kGetCqEvent, request, event); error != 0) {
    errno = error;
    return -1;
  }
  auto* of = reinterpret_cast<Cq*>(event.cookie);
  *cq = of;
  *cq_context = of->cq_context;
  return 0;
}

void ibv_ack_cq_events(ibv_cq* cq, unsigned int events) {
  if (events != 0) acknowledge(cq->mutex, cq->cond, cq->comp_events_completed, events);
}

int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
  const GetEvent request{device_index(context), is_blocking(context->async_fd) ? 1u : 0u};
  AsyncEvent reply;
  if (const int error = call(Op::kGetAsyncEvent, request, reply); error != 0) {
    errno = error;
    return -1;
  }
  event->event_type = static_cast<ibv_event_type>(reply.type);
  switch (concern_of(reply.type)) {
    case Concerns::kCq:
      event->element.cq = reinterpret_cast<Cq*>(reply.cookie);
      break;
    case Concerns::kQp:
      event->element.qp = reinterpret_cast<Qp*>(reply.cookie);
      break;
    case Concerns::kSrq:
      event->element.srq = reinterpret_cast<Srq*>(reply.cookie);
      break;
    case Concerns::kPort:
      event->element.port_num = kPort;
      break;
  }
  return 0;
}

void ibv_ack_async_event(ibv_async_event* event) {
  switch (concern_of(event->event_type)) {
    case Concerns::kCq: {
      ibv_cq* cq = event->element.cq;
      acknowledge(cq->mutex, cq->cond, cq->async_events_completed, 1);
      break;
    }
    case Concerns::kQp: {
      ibv_qp* qp = event->element.qp;
      acknowledge(qp->mutex, qp->cond, qp->events_completed, 1);
      break;
    }
    case Concerns::kSrq: {
      ibv_srq* srq = event->element.srq;
      acknowledge(srq->mutex, srq->cond, srq->events_completed, 1);
      break;
    }
    case Concerns::kPort:
      break;
  }
}
