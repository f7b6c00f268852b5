// Queue pairs: making and ending them. Posting is in post.cc, their attributes in qp_attr.cc.
#include <unistd.h>

#include <cerrno>

#include "verbs/ibverbs/objects.h"

namespace weft::verbs {
namespace {

// Room of the entries of a ring, no more than the device has.
std::uint32_t sge_room(std::uint32_t stride_B, std::size_t entry_B, std::uint32_t most) {
  const auto room = static_cast<std::uint32_t>((stride_B - entry_B) / sizeof(Sge));
  return room < most ? room : most;
}

int map_rings(Qp& qp, int fd, const QpInfo& info, const CreateQp& request) {
  const std::size_t sges_B = request.max_send_sge * sizeof(Sge);
  const std::size_t behind_B = sges_B < request.max_inline_B ? request.max_inline_B : sges_B;
  int error = map_queue(fd, info.send, qp.mapping);
  if (error == 0) error = find_ring(qp.mapping, info.send, sizeof(SendEntry) + behind_B, qp.send);
  if (error == 0 && info.receive.entries != 0) {
    const std::size_t entry_B = sizeof(ReceiveEntry) + request.max_receive_sge * sizeof(Sge);
    error = find_ring(qp.mapping, info.receive, entry_B, qp.receive);
  }
  return error;
}

void set_caps(Qp& qp, const DeviceInfo& device, const CreateQp& request) {
  const std::uint32_t inline_room_B = qp.send.stride_B - static_cast<std::uint32_t>(sizeof(SendEntry));
  const std::uint32_t most_inline_B = device.max_inline_B < UINT16_MAX ? device.max_inline_B : UINT16_MAX;
  qp.cap.max_send_wr = request.max_send_wr == 0 ? 0 : qp.send.entries;
  qp.cap.max_send_sge = sge_room(qp.send.stride_B, sizeof(SendEntry), device.max_sge);
  qp.cap.max_inline_data = inline_room_B < most_inline_B ? inline_room_B : most_inline_B;
  if (qp.receive.entries == 0) return;
  qp.cap.max_recv_wr = qp.receive.entries;
  qp.cap.max_recv_sge = sge_room(qp.receive.stride_B, sizeof(ReceiveEntry), device.max_sge);
}

int enter(Context& context, Qp& qp) {
  const MutexGuard guard(context.context.mutex);
  std::atomic<QpPage*>& slot = context.qp_pages[qp.qp_num >> 12 & 0xfff];
  QpPage* page = slot.load(std::memory_order_relaxed);
  if (page == nullptr) {
    page = make<QpPage>();
    if (page == nullptr) return ENOMEM;
    slot.store(page, std::memory_order_release);
  }
  page->qps[qp.qp_num & 0xfff].store(&qp, std::memory_order_release);
  return 0;
}

void leave(Context& context, const Qp& qp) {
  QpPage* page = context.qp_pages[qp.qp_num >> 12 & 0xfff].load(std::memory_order_acquire);
  page->qps[qp.qp_num & 0xfff].store(nullptr, std::memory_order_release);
}

int set_up_queues(Qp& qp, ibv_context* context, const CreateQp& request) {
  QpInfo info;
  Descriptors descriptors;
  if (const int error = call(Op::kCreateQp, request, info, &descriptors); error != 0) return error;
  qp.handle = info.send.handle;
  qp.qp_num = info.qpn;
  int error = map_rings(qp, descriptors.fd[0], info, request);
  if (error == 0) {
    set_caps(qp, device_info(*context), request);
    qp.send_freed = qp.send.head->produced.load(std::memory_order_relaxed);
    if (qp.receive.entries != 0) qp.receive_freed = qp.receive.head->produced.load(std::memory_order_relaxed);
    error = enter(context_of(context), qp);
  }
  if (error != 0) {
    unmap_queue(qp.mapping);
    destroy(Kind::kQp, qp.handle);
  }
  return error;
}

}  // namespace

namespace {

// Fields after the queues.
void finish(Qp& qp, ibv_context* context, const ibv_qp_init_attr& init) {
  qp.context = context;
  qp.qp_context = init.qp_context;
  qp.send_cq = init.send_cq;
  qp.recv_cq = init.recv_cq;
  qp.state = IBV_QPS_RESET;
  qp.qp_type = init.qp_type;
  qp.signal_all = init.sq_sig_all != 0;
  pthread_spin_init(&qp.send_lock, PTHREAD_PROCESS_PRIVATE);
  pthread_spin_init(&qp.receive_lock, PTHREAD_PROCESS_PRIVATE);
  pthread_mutex_init(&qp.mutex, nullptr);
  pthread_cond_init(&qp.cond, nullptr);
}

// A target of XRC has no queues and no protection domain: its packets name both.
ibv_qp* create_target(ibv_context* context, const ibv_qp_init_attr_ex& init) {
  auto* qp = make<Qp>();
  if (qp == nullptr) return fail(ENOMEM);
  const CreateXrcTarget request{static_cast<Xrcd*>(init.xrcd)->handle, 0, reinterpret_cast<std::uintptr_t>(qp)};
  QpInfo info;
  if (const int error = call(Op::kCreateXrcTarget, request, info); error != 0) {
    std::free(qp);
    return fail(error);
  }
  qp->handle = info.send.handle;
  qp->qp_num = info.qpn;
  ibv_qp_init_attr plain{};
  plain.qp_context = init.qp_context;
  plain.qp_type = init.qp_type;
  finish(*qp, context, plain);
  return qp;
}

}  // namespace

ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* init) {
  // Receive hashing and segmentation are not there; programs then take the plain way.
  constexpr std::uint32_t kKnown =
      IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD | IBV_QP_INIT_ATTR_CREATE_FLAGS | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  if ((init->comp_mask & ~kKnown) != 0) return fail(EOPNOTSUPP);
  const std::uint32_t flags = (init->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) != 0 ? init->create_flags : 0;
  const bool blocks_own = flags == IBV_QP_CREATE_BLOCK_SELF_MCAST_LB && init->qp_type == IBV_QPT_UD;
  if (flags != 0 && !blocks_own) return fail(EOPNOTSUPP);
  if (init->qp_type == IBV_QPT_XRC_RECV) {
    if ((init->comp_mask & IBV_QP_INIT_ATTR_XRCD) == 0 || init->xrcd->context != context) return fail(EINVAL);
    return create_target(context, *init);
  }
  if ((init->comp_mask & IBV_QP_INIT_ATTR_PD) == 0 || init->pd->context != context) return fail(EINVAL);
  ibv_qp* qp = ibv_create_qp(init->pd, reinterpret_cast<ibv_qp_init_attr*>(init));
  if (qp == nullptr) return nullptr;
  int error = blocks_own ? call(Op::kBlockOwnMulticast, Handle{qp->handle}) : 0;
  const bool has_calls = (init->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0;
  if (error == 0 && has_calls) error = set_wr_calls(*static_cast<Qp*>(qp), init->send_ops_flags);
  if (error != 0) {
    ibv_destroy_qp(qp);
    return fail(error);
  }
  return qp;
}

}  // namespace weft::verbs

using namespace weft::verbs;

ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* init) {
  const bool is_initiator = init->qp_type == IBV_QPT_XRC_SEND;
  if (init->qp_type != IBV_QPT_RC && init->qp_type != IBV_QPT_UC && init->qp_type != IBV_QPT_UD && !is_initiator) {
    return fail(EOPNOTSUPP);
  }
  // An initiator of XRC receives nothing.
  if (init->send_cq == nullptr || (init->recv_cq == nullptr && !is_initiator)) return fail(EINVAL);
  if (is_initiator && init->cap.max_recv_wr != 0) return fail(EINVAL);
  Qp* qp = make_in<Qp>(pd, ResourceType::kQp);
  if (qp == nullptr) return fail(errno);
  const ibv_qp_cap& cap = init->cap;
  const CreateQp request{pd->handle,
                         static_cast<std::uint32_t>(init->qp_type),
                         init->send_cq->handle,
                         is_initiator ? kNoHandle : init->recv_cq->handle,
                         init->srq == nullptr ? kNoHandle : init->srq->handle,
                         cap.max_send_wr,
                         cap.max_recv_wr,
                         cap.max_send_sge,
                         is_initiator ? 0 : cap.max_recv_sge,
                         cap.max_inline_data,
                         init->sq_sig_all != 0 ? 1u : 0u,
                         reinterpret_cast<std::uintptr_t>(qp)};
  qp->srq = init->srq;
  if (const int error = set_up_queues(*qp, pd->context, request); error != 0) {
    release_object(pd, qp, ResourceType::kQp, qp->origin);
    return fail(error);
  }
  qp->pd = pd;
  finish(*qp, pd->context, *init);
  if (is_initiator) qp->recv_cq = nullptr;
  init->cap = qp->cap;
  return qp;
}

int ibv_destroy_qp(ibv_qp* base) {
  auto* qp = static_cast<Qp*>(base);
  Destroyed events;
  if (const int error = destroy(Kind::kQp, qp->handle, &events); error != 0) return error;
  wait_for_acknowledgements(qp->mutex, qp->cond, qp->events_completed, events.async_events);
  // It cannot be found any more; a poller has released it once we hold the lock of its CQ.
  if (qp->send_cq != nullptr) {
    leave(context_of(qp->context), *qp);
    forget_completions(*qp);
  }
  unmap_queue(qp->mapping);
  pthread_spin_destroy(&qp->send_lock);
  pthread_spin_destroy(&qp->receive_lock);
  pthread_cond_destroy(&qp->cond);
  pthread_mutex_destroy(&qp->mutex);
  release_object(qp->pd, qp, ResourceType::kQp, qp->origin);
  return 0;
}

// Only a queue pair made with send_ops_flags has the other face.
ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* base) {
  auto* qp = static_cast<Qp*>(base);
  return qp->has_ex ? face_of(qp) : nullptr;
}
