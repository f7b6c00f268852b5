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

namespace weft::verbs {

Cq* create_cq(ibv_context* context, const ibv_cq_init_attr_ex& init, ibv_pd* domain) {
  const std::uint32_t entries = init.cqe;
  ibv_comp_channel* channel = init.channel;
  if (entries == 0 || entries > INT32_MAX || init.comp_vector >= kCompletionVectors) return fail(EINVAL);
  Cq* cq = make_in<Cq>(domain, ResourceType::kCq);
  if (cq == nullptr) return fail(errno);
  cq->domain = domain;
  const CreateCq request{device_index(context), entries,
                         channel == nullptr ? kNoHandle : static_cast<Channel*>(channel)->handle,
                         reinterpret_cast<std::uintptr_t>(cq)};
  if (const int error = set_up_queue(*cq, request); error != 0) {
    release_object(domain, cq, ResourceType::kCq, cq->origin);
    return fail(error);
  }
  cq->context = context;
  cq->channel = channel;
  cq->cq_context = init.cq_context;
  cq->cqe = static_cast<int>(cq->ring.entries);
  pthread_spin_init(&cq->lock, PTHREAD_PROCESS_PRIVATE);
  pthread_mutex_init(&cq->mutex, nullptr);
  pthread_cond_init(&cq->cond, nullptr);
  count_user(channel, 1);
  return cq;
}

}  // namespace weft::verbs

ibv_cq* ibv_create_cq(ibv_context* context, int entries, void* cq_context, ibv_comp_channel* channel,
                      int completion_vector) {
  if (entries <= 0 || completion_vector < 0) return fail(EINVAL);
  ibv_cq_init_attr_ex init{};
  init.cqe = static_cast<std::uint32_t>(entries);
  init.cq_context = cq_context;
  init.channel = channel;
  init.comp_vector = static_cast<std::uint32_t>(completion_vector);
  return create_cq(context, init, nullptr);
}

namespace weft::verbs {

int modify_cq(ibv_cq* cq, ibv_modify_cq_attr* attr) {
  if (attr->attr_mask != IBV_CQ_ATTR_MODERATE) return EINVAL;
  return call(Op::kModerateCq, ModerateCq{cq->handle, attr->moderate.cq_count, attr->moderate.cq_period});
}

}  // namespace weft::verbs

// The world makes another ring, with what was not taken. Nobody takes anything meanwhile.
int ibv_resize_cq(ibv_cq* base, int entries) {
  auto& cq = *static_cast<Cq*>(base);
  if (entries <= 0) return EINVAL;
  const SpinGuard guard(cq.lock);
  CqInfo info;
  Descriptors descriptors;
  const ResizeCq request{cq.handle, static_cast<std::uint32_t>(entries)};
  if (const int error = call(Op::kResizeCq, request, info, &descriptors); error != 0) return error;
  Mapping mapping;
  Ring ring;
  int error = map_queue(descriptors.fd[0], info.ring, mapping);
  if (error == 0) error = find_ring(mapping, info.ring, sizeof(CqEntry), ring);
  if (error != 0) {
    unmap_queue(mapping);
    return error;
  }
  unmap_queue(cq.mapping);
  cq.mapping = mapping;
  cq.ring = ring;
  cq.cqe = static_cast<int>(ring.entries);
  return 0;
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
  release_object(cq->domain, cq, ResourceType::kCq, cq->origin);
  return 0;
}
