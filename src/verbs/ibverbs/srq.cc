// Shared receive queues.
#include <unistd.h>

#include <cerrno>

#include "verbs/ibverbs/objects.h"

using namespace weft::verbs;

namespace {

int set_up_queue(Srq& srq, const CreateSrq& request) {
  QueueInfo info;
  Descriptors descriptors;
  if (const int error = call(Op::kCreateSrq, request, info, &descriptors); error != 0) return error;
  srq.handle = info.handle;
  const std::size_t entry_B = sizeof(ReceiveEntry) + request.max_sge * sizeof(Sge);
  int error = map_queue(descriptors.fd[0], info, srq.mapping);
  if (error == 0) error = find_ring(srq.mapping, info, entry_B, srq.ring);
  if (error != 0) {
    unmap_queue(srq.mapping);
    destroy(Kind::kSrq, srq.handle);
  }
  return error;
}

}  // namespace

ibv_srq* ibv_create_srq(ibv_pd* pd, ibv_srq_init_attr* init) {
  auto* srq = make<Srq>();
  if (srq == nullptr) return fail(ENOMEM);
  const CreateSrq request{pd->handle, init->attr.max_wr, init->attr.max_sge, init->attr.srq_limit,
                          reinterpret_cast<std::uintptr_t>(srq)};
  if (const int error = set_up_queue(*srq, request); error != 0) {
    std::free(srq);
    return fail(error);
  }
  srq->context = pd->context;
  srq->srq_context = init->srq_context;
  srq->pd = pd;
  srq->max_sge = init->attr.max_sge;
  srq->limit = init->attr.srq_limit;
  pthread_spin_init(&srq->lock, PTHREAD_PROCESS_PRIVATE);
  pthread_mutex_init(&srq->mutex, nullptr);
  pthread_cond_init(&srq->cond, nullptr);
  init->attr.max_wr = srq->ring.entries;
  return srq;
}

int ibv_modify_srq(ibv_srq* base, ibv_srq_attr* attr, int mask) {
  auto* srq = static_cast<Srq*>(base);
  if ((mask & IBV_SRQ_MAX_WR) != 0) return EOPNOTSUPP;
  if ((mask & IBV_SRQ_LIMIT) == 0) return 0;
  const int error = call(Op::kModifySrq, ModifySrq{srq->handle, attr->srq_limit});
  if (error == 0) srq->limit = attr->srq_limit;
  return error;
}

int ibv_query_srq(ibv_srq* base, ibv_srq_attr* attr) {
  const auto* srq = static_cast<Srq*>(base);
  *attr = {srq->ring.entries, srq->max_sge, srq->limit};
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
  std::free(srq);
  return 0;
}
