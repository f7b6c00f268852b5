// The attributes of a queue pair: changing and reading them.
#include <cerrno>

#include "verbs/ibverbs/objects.h"

using namespace weft::verbs;

namespace {

// A reset takes back everything that was posted and not completed. The numbers of the rings go on: the world has set
// its own to what was produced.
void forget_posts(Qp& qp) {
  forget_completions(qp);
  if (qp.send.entries == 0) return;
  {
    const SpinGuard guard(qp.send_lock);
    qp.send_freed = qp.send.head->produced.load(std::memory_order_relaxed);
  }
  if (qp.receive.entries == 0) return;
  const SpinGuard guard(qp.receive_lock);
  qp.receive_freed = qp.receive.head->produced.load(std::memory_order_relaxed);
}

std::uint8_t byte(std::uint32_t value) {
  return static_cast<std::uint8_t>(value);
}

// A steering rule is a command that the NIC's firmware carries out while the caller waits. Estimate.
constexpr std::int64_t kSteering_ps = 20'000'000;

int change_group(Op op, const ibv_qp* qp, const ibv_gid* gid) {
  Multicast request{qp->handle, {}};
  for (std::size_t i = 0; i < sizeof request.gid; ++i) request.gid[i] = gid->raw[i];
  const int error = call(op, request);
  weft_spend_ps(kSteering_ps);
  return error;
}

int modify(ibv_qp* base, ibv_qp_attr* attr, int mask) {
  auto* qp = static_cast<Qp*>(base);
  ModifyQp request{};
  request.qp = qp->handle;
  request.mask = static_cast<std::uint32_t>(mask);
  if ((mask & IBV_QP_AV) != 0) {
    if (const int error = to_world(attr->ah_attr, request.attr.ah); error != 0) return error;
  }
  // There is one path, and nothing to migrate to.
  if ((mask & IBV_QP_ALT_PATH) != 0) return EOPNOTSUPP;
  if ((mask & IBV_QP_PATH_MIG_STATE) != 0 && attr->path_mig_state != IBV_MIG_MIGRATED) return EOPNOTSUPP;
  if ((mask & IBV_QP_PORT) != 0 && attr->port_num != kPort) return EINVAL;
  if ((mask & IBV_QP_PKEY_INDEX) != 0 && attr->pkey_index != 0) return EINVAL;
  QpAttr& to = request.attr;
  to.state = attr->qp_state;
  to.path_mtu = attr->path_mtu;
  to.qkey = attr->qkey;
  to.rq_psn = attr->rq_psn;
  to.sq_psn = attr->sq_psn;
  to.dest_qpn = attr->dest_qp_num;
  to.access = attr->qp_access_flags;
  to.pkey_index = attr->pkey_index;
  to.port = attr->port_num;
  to.max_rd_atomic = attr->max_rd_atomic;
  to.max_dest_rd_atomic = attr->max_dest_rd_atomic;
  to.min_rnr_timer = attr->min_rnr_timer;
  to.timeout = attr->timeout;
  to.retry_cnt = attr->retry_cnt;
  to.rnr_retry = attr->rnr_retry;
  to.sqd_event = attr->en_sqd_async_notify;
  if (const int error = call(Op::kModifyQp, request); error != 0) {
    if (error == EOPNOTSUPP && (mask & IBV_QP_AV) != 0) warn_of_roce_v1(qp->context, attr->ah_attr);
    return error;
  }
  if ((mask & IBV_QP_STATE) == 0) return 0;
  qp->state = attr->qp_state;
  if (qp->state == IBV_QPS_RESET) forget_posts(*qp);
  return 0;
}

}  // namespace

// The error is in errno too, where the kernel leaves it.
int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* attr, int mask) {
  const int error = modify(qp, attr, mask);
  if (error != 0) errno = error;
  return error;
}

int ibv_query_qp(ibv_qp* base, ibv_qp_attr* attr, int, ibv_qp_init_attr* init) {
  auto* qp = static_cast<Qp*>(base);
  QpAttr from;
  if (const int error = call(Op::kQueryQp, Handle{qp->handle}, from); error != 0) return error;
  qp->state = static_cast<ibv_qp_state>(from.state);
  *attr = {};
  attr->qp_state = attr->cur_qp_state = qp->state;
  attr->path_mtu = static_cast<ibv_mtu>(from.path_mtu);
  attr->path_mig_state = IBV_MIG_MIGRATED;
  attr->qkey = from.qkey;
  attr->rq_psn = from.rq_psn;
  attr->sq_psn = from.sq_psn;
  attr->dest_qp_num = from.dest_qpn;
  attr->qp_access_flags = from.access;
  attr->cap = qp->cap;
  from_world(from.ah, attr->ah_attr);
  attr->pkey_index = static_cast<std::uint16_t>(from.pkey_index);
  attr->max_rd_atomic = byte(from.max_rd_atomic);
  attr->max_dest_rd_atomic = byte(from.max_dest_rd_atomic);
  attr->min_rnr_timer = byte(from.min_rnr_timer);
  attr->port_num = byte(from.port);
  attr->timeout = byte(from.timeout);
  attr->retry_cnt = byte(from.retry_cnt);
  attr->rnr_retry = byte(from.rnr_retry);
  attr->en_sqd_async_notify = byte(from.sqd_event);
  attr->sq_draining = byte(from.sq_draining);
  *init = {};
  init->qp_context = qp->qp_context;
  init->send_cq = qp->send_cq;
  init->recv_cq = qp->recv_cq;
  init->srq = qp->srq;
  init->cap = qp->cap;
  init->qp_type = qp->qp_type;
  init->sq_sig_all = qp->signal_all ? 1 : 0;
  return 0;
}

// Payloads land packet by packet, and nothing says in which order a CPU sees the bytes of one.
int ibv_query_qp_data_in_order(ibv_qp*, ibv_wr_opcode, std::uint32_t) {
  return 0;
}

// Enhanced connection establishment lets two vendors' drivers agree on options; there are none here.
int ibv_set_ece(ibv_qp*, ibv_ece*) {
  return EOPNOTSUPP;
}

int ibv_query_ece(ibv_qp*, ibv_ece*) {
  return EOPNOTSUPP;
}

int ibv_attach_mcast(ibv_qp* qp, const ibv_gid* gid, std::uint16_t) {
  return change_group(Op::kAttachMulticast, qp, gid);
}

int ibv_detach_mcast(ibv_qp* qp, const ibv_gid* gid, std::uint16_t) {
  return change_group(Op::kDetachMulticast, qp, gid);
}
