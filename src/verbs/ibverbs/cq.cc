// Completion queues: making and ending them, and asking for an event.
#include <unistd.h>

#include <cerrno>

#include "verbs/ibverbs/objects.h"

namespace weft::verbs {
namespace {

int set_up_queue(Cq& cq, const CreateCq& request) {
  CqInfo info;
  Descriptors descriptors;
  if (const int error = call(Op::kCreateCq, request, info, &descriptors); error != 0) return error;
  cq.handle = info.ring.handle;
  int error = map_queue(descriptors.fd[0], info.ring, cq.mapping);
  if (error == 0) error = find_ring(cq.mapping, info.ring, sizeof(CqEntry), cq.ring);
  if (error != 0) {
    unmap_queue(cq.mapping);
    destroy(Kind::kCq, cq.handle);
  }
  return error;
}

void count_user(ibv_comp_channel* channel, int change) {
  if (channel == nullptr) return;
  const MutexGuard guard(channel->context->mutex);
  channel->refcnt += change;
}

}  // namespace

int request_notification(ibv_cq* cq, int solicited_only) {
  return call(Op::kArmCq, ArmCq{cq->handle, solicited_only != 0 ? 1u : 0u});
}

}  // namespace weft::verbs

using namespace weft::verbs;

ibv_cq* ibv_create_cq(ibv_context* context, int entries, void* cq_context, ibv_comp_channel* channel,
                      int completion_vector) {
  if (entries <= 0 || completion_vector < 0 || completion_vector >= kCompletionVectors) return fail(EINVAL);
  auto* cq = make<Cq>();
  if (cq == nullptr) return fail(ENOMEM);
  const CreateCq request{device_index(context), static_cast<std::uint32_t>(entries),
                         channel == nullptr ? kNoHandle : static_cast<Channel*>(channel)->handle,
                         reinterpret_cast<std::uintptr_t>(cq)};
  if (const int error = set_up_queue(*cq, request); error != 0) {
    std::free(cq);
    return fail(error);
  }
  cq->context = context;
  cq->channel = channel;
  cq->cq_context = cq_context;
  cq->cqe = static_cast<int>(cq->ring.entries);
  pthread_spin_init(&cq->lock, PTHREAD_PROCESS_PRIVATE);
  pthread_mutex_init(&cq->mutex, nullptr);
  pthread_cond_init(&cq->cond, nullptr);
  count_user(channel, 1);
  return cq;
}

// The ring is the world's and keeps its size; a request that fits into it is granted.
int ibv_resize_cq(ibv_cq* cq, int entries) {
  if (entries <= 0) return EINVAL;
  return entries <= cq->cqe ? 0 : EOPNOTSUPP;
}

int ibv_destroy_cq(ibv_cq* base) {
  auto* cq = static_cast<Cq*>(base);
  Destroyed events;
  if (const int error = destroy(Kind::kCq, cq->handle, &events); error != 0) return error;
  wait_for_acknowledgements(cq->mutex, cq->cond, cq->comp_events_completed, events.completion_events);
  wait_for_acknowledgements(cq->mutex, cq->cond, cq->async_events_completed, events.async_events);
  count_user(cq->channel, -1);
  unmap_queue(cq->mapping);
  pthread_spin_destroy(&cq->lock);
  pthread_cond_destroy(&cq->cond);
  pthread_mutex_destroy(&cq->mutex);
  std::free(cq);
  return 0;
}
