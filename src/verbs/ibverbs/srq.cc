// Shared receive queues, and the domains of XRC.
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "verbs/ibverbs/objects.h"

using namespace weft::verbs;

namespace {

// Maps the ring of a queue that the world has made.
int map_ring(Srq& srq, const QueueInfo& info, int fd, std::uint32_t max_sge) {
  srq.handle = info.handle;
  const std::size_t entry_B = sizeof(ReceiveEntry) + max_sge * sizeof(Sge);
  int error = map_queue(fd, info, srq.mapping);
  if (error == 0) error = find_ring(srq.mapping, info, entry_B, srq.ring);
  if (error != 0) {
    unmap_queue(srq.mapping);
    destroy(Kind::kSrq, srq.handle);
  }
  return error;
}

void finish_srq(Srq& srq, ibv_pd* pd, void* context, ibv_srq_attr& attr) {
  srq.context = pd->context;
  srq.srq_context = context;
  srq.pd = pd;
  srq.max_sge = attr.max_sge;
  pthread_spin_init(&srq.lock, PTHREAD_PROCESS_PRIVATE);
  pthread_mutex_init(&srq.mutex, nullptr);
  pthread_cond_init(&srq.cond, nullptr);
  attr.max_wr = srq.ring.entries;
}

CreateSrq request_of(const ibv_pd& pd, const ibv_srq_attr& attr, const Srq* srq) {
  return {pd.handle, attr.max_wr, attr.max_sge, attr.srq_limit, reinterpret_cast<std::uintptr_t>(srq)};
}

}  // namespace

namespace weft::verbs {

// Receives of any target of the domain; they end in the queue's own CQ.
ibv_srq* create_srq_ex(ibv_context* context, ibv_srq_init_attr_ex* init) {
  constexpr std::uint32_t kNeeded =
      IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
  // Tag matching is not there.
  if ((init->comp_mask & ~kNeeded) != 0 ||
      ((init->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) != 0 && init->srq_type == IBV_SRQT_TM))
    return fail(EOPNOTSUPP);
  if (init->comp_mask != kNeeded || init->srq_type != IBV_SRQT_XRC || init->pd->context != context) return fail(EINVAL);
  Srq* srq = make_in<Srq>(init->pd, ResourceType::kSrq);
  if (srq == nullptr) return fail(errno);
  const CreateXrcSrq request{request_of(*init->pd, init->attr, srq), static_cast<Xrcd*>(init->xrcd)->handle,
                             init->cq->handle};
  XrcSrqInfo info;
  Descriptors descriptors;
  int error = call(Op::kCreateXrcSrq, request, info, &descriptors);
  if (error == 0) error = map_ring(*srq, info.ring, descriptors.fd[0], init->attr.max_sge);
  if (error != 0) {
    release_object(init->pd, srq, ResourceType::kSrq, srq->origin);
    return fail(error);
  }
  srq->number = info.number;
  finish_srq(*srq, init->pd, init->srq_context, init->attr);
  return srq;
}

int get_srq_number(ibv_srq* base, std::uint32_t* number) {
  const auto* srq = static_cast<Srq*>(base);
  if (srq->number == 0) return EINVAL;
  *number = srq->number;
  return 0;
}

ibv_xrcd* open_xrcd(ibv_context* context, ibv_xrcd_init_attr* init) {
  constexpr std::uint32_t kNeeded = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
  if (init->comp_mask != kNeeded) return fail(EINVAL);
  OpenXrcd request{device_index(context), static_cast<std::uint32_t>(init->oflags), 0, 0, 0, 0};
  if (init->fd >= 0) {
    struct stat file;
    if (fstat(init->fd, &file) != 0) return fail(errno);
    request.has_file = 1;
    request.file_device = file.st_dev;
    request.inode = file.st_ino;
  }
  auto* xrcd = make<Xrcd>();
  if (xrcd == nullptr) return fail(ENOMEM);
  Handle reply;
  if (const int error = call(Op::kOpenXrcd, request, reply); error != 0) {
    std::free(xrcd);
    return fail(error);
  }
  xrcd->context = context;
  xrcd->handle = reply.handle;
  return xrcd;
}

int close_xrcd(ibv_xrcd* base) {
  auto* xrcd = static_cast<Xrcd*>(base);
  if (const int error = destroy(Kind::kXrcd, xrcd->handle); error != 0) return error;
  std::free(xrcd);
  return 0;
}

}  // namespace weft::verbs

ibv_srq* ibv_create_srq(ibv_pd* pd, ibv_srq_init_attr* init) {
  Srq* srq = make_in<Srq>(pd, ResourceType::kSrq);
  if (srq == nullptr) return fail(errno);
  QueueInfo info;
  Descriptors descriptors;
  int error = call(Op::kCreateSrq, request_of(*pd, init->attr, srq), info, &descriptors);
  if (error == 0) error = map_ring(*srq, info, descriptors.fd[0], init->attr.max_sge);
  if (error != 0) {
    release_object(pd, srq, ResourceType::kSrq, srq->origin);
    return fail(error);
  }
  finish_srq(*srq, pd, init->srq_context, init->attr);
  return srq;
}

int ibv_modify_srq(ibv_srq* base, ibv_srq_attr* attr, int mask) {
  auto* srq = static_cast<Srq*>(base);
  if ((mask & IBV_SRQ_MAX_WR) != 0) return EINVAL;  // mlx5_ib_modify_srq: none is resized
  if ((mask & IBV_SRQ_LIMIT) == 0) return 0;
  return call(Op::kModifySrq, ModifySrq{srq->handle, attr->srq_limit});
}

int ibv_query_srq(ibv_srq* base, ibv_srq_attr* attr) {
  const auto* srq = static_cast<Srq*>(base);
  SrqLimit reply;
  if (const int error = call(Op::kQuerySrq, Handle{srq->handle}, reply); error != 0) return error;
  *attr = {srq->ring.entries, srq->max_sge, reply.limit};
  return 0;
}

int ibv_destroy_srq(ibv_srq* base) {
  auto* srq = static_cast<Srq*>(base);
  Destroyed events;
  if (const int error = destroy(Kind::kSrq, srq->handle, &events); error != 0) return error;
  wait_for_acknowledgements(srq->mutex, srq->cond, srq->events_completed, events.async_events);
  unmap_queue(srq->mapping);
  pthread_spin_destroy(&srq->lock);
  pthread_cond_destroy(&srq->cond);
  pthread_mutex_destroy(&srq->mutex);
  release_object(srq->pd, srq, ResourceType::kSrq, srq->origin);
  return 0;
}
