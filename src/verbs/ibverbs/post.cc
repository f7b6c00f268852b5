// Posting work: entries go into the rings, the doorbell tells the world. A request that is refused leaves those before
// it posted, as verbs have it. What a device would find out later (keys, addresses, lengths) the world finds out later.
#include <cerrno>
#include <cstring>

#include "verbs/ibverbs/objects.h"

namespace weft::verbs {
namespace {

void copy_sges(const ibv_sge* list, std::uint32_t count, std::uint8_t* to) {
  for (std::uint32_t i = 0; i < count; ++i) {
    const Sge sge{list[i].addr, list[i].length, list[i].lkey};
    std::memcpy(to + i * sizeof sge, &sge, sizeof sge);
  }
}

// False when the bytes do not fit.
bool write_inline(const ibv_send_wr& wr, std::uint32_t room_B, std::uint8_t* to, std::uint16_t& size_B) {
  std::size_t total_B = 0;
  for (int i = 0; i < wr.num_sge; ++i) {
    const ibv_sge& sge = wr.sg_list[i];
    if (sge.length > room_B - total_B) return false;
    std::memcpy(to + total_B, reinterpret_cast<const void*>(sge.addr), sge.length);
    total_B += sge.length;
  }
  size_B = static_cast<std::uint16_t>(total_B);
  return true;
}

void write_target(const ibv_qp& qp, const ibv_send_wr& wr, SendEntry& entry) {
  if (qp.qp_type == IBV_QPT_UD) {
    entry.ah = wr.wr.ud.ah->handle;
    entry.remote_qpn = wr.wr.ud.remote_qpn;
    entry.qkey = wr.wr.ud.remote_qkey;
    return;
  }
  if (qp.qp_type == IBV_QPT_XRC_SEND) entry.remote_qpn = wr.qp_type.xrc.remote_srqn;
  if (wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
    entry.remote_va = wr.wr.atomic.remote_addr;
    entry.compare_add = wr.wr.atomic.compare_add;
    entry.swap = wr.wr.atomic.swap;
    entry.rkey = wr.wr.atomic.rkey;
  } else if (wr.opcode == IBV_WR_RDMA_WRITE || wr.opcode == IBV_WR_RDMA_WRITE_WITH_IMM ||
             wr.opcode == IBV_WR_RDMA_READ) {
    entry.remote_va = wr.wr.rdma.remote_addr;
    entry.rkey = wr.wr.rdma.rkey;
  }
}

int write_send(const Qp& qp, const ibv_send_wr& wr, std::uint32_t number) {
  if (number - qp.send_freed.load(std::memory_order_acquire) >= qp.send.entries) return ENOMEM;
  if (!is_possible(qp.qp_type, wr.opcode)) return EINVAL;
  if (wr.num_sge < 0 || static_cast<std::uint32_t>(wr.num_sge) > qp.cap.max_send_sge) return EINVAL;
  if (qp.qp_type == IBV_QPT_UD && wr.wr.ud.ah == nullptr) return EINVAL;
  auto* entry = qp.send.at<SendEntry>(number);
  auto* behind = reinterpret_cast<std::uint8_t*>(entry + 1);
  *entry = {};
  entry->wr_id = wr.wr_id;
  entry->opcode = wr.opcode;
  entry->flags = wr.send_flags;
  entry->imm = wr.imm_data;  // or the rkey to invalidate: the same word
  if (wr.opcode == IBV_WR_BIND_MW) return write_bind(*entry, *wr.bind_mw.mw, wr.bind_mw.rkey, wr.bind_mw.bind_info);
  if (wr.opcode == IBV_WR_LOCAL_INV) return 0;
  write_target(qp, wr, *entry);
  if ((wr.send_flags & IBV_SEND_INLINE) != 0) {
    // A READ or an atomic brings data here: it has nothing to carry along.
    if (wr.opcode >= IBV_WR_RDMA_READ && wr.opcode <= IBV_WR_ATOMIC_FETCH_AND_ADD) return EINVAL;
    return write_inline(wr, qp.cap.max_inline_data, behind, entry->inline_B) ? 0 : EINVAL;
  }
  write_sges(wr.sg_list, static_cast<std::uint32_t>(wr.num_sge), *entry);
  return 0;
}

template <typename Entry>
void publish(const Ring& ring, std::uint32_t first, std::uint32_t end, std::int64_t before_ps, std::int64_t after_ps) {
  if (first == end) return;
  weft_spend_ps(before_ps);
  const std::int64_t now_ps = weft_now_ps();
  for (std::uint32_t number = first; number != end; ++number) ring.at<Entry>(number)->post_ps = now_ps;
  ring.head->produced.store(end, std::memory_order_release);
  weft_ring(ring.doorbell);
  something_happened();
  weft_spend_ps(after_ps);
}

// Posts to a receive queue or an SRQ. Entries up to `freed` may be written again.
int post_receives(const Ring& ring, std::uint32_t freed, std::uint32_t max_sge, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) {
  const std::uint32_t first = ring.head->produced.load(std::memory_order_relaxed);
  std::uint32_t next = first;
  int error = 0;
  for (; wr != nullptr; wr = wr->next, ++next) {
    if (next - freed >= ring.entries) error = ENOMEM;
    if (wr->num_sge < 0 || static_cast<std::uint32_t>(wr->num_sge) > max_sge) error = EINVAL;
    if (error != 0) {
      *bad_wr = wr;
      break;
    }
    auto* entry = ring.at<ReceiveEntry>(next);
    *entry = {0, wr->wr_id, static_cast<std::uint32_t>(wr->num_sge), 0};
    copy_sges(wr->sg_list, entry->sges, reinterpret_cast<std::uint8_t*>(entry + 1));
  }
  publish<ReceiveEntry>(ring, first, next, (next - first) * weft_costs()->post_receive_ps, 0);
  return error;
}

}  // namespace

bool is_possible(ibv_qp_type type, ibv_wr_opcode opcode) {
  const bool is_reliable = type == IBV_QPT_RC || type == IBV_QPT_XRC_SEND;
  switch (opcode) {
    case IBV_WR_SEND:
    case IBV_WR_SEND_WITH_IMM:
      return true;
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
    case IBV_WR_BIND_MW:
    case IBV_WR_LOCAL_INV:
      return is_reliable || type == IBV_QPT_UC;
    case IBV_WR_RDMA_READ:
    case IBV_WR_ATOMIC_CMP_AND_SWP:
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
    case IBV_WR_SEND_WITH_INV:
      return is_reliable;
    default:
      return false;
  }
}

bool may_send(ibv_qp_state state) {
  return state == IBV_QPS_RTS || state == IBV_QPS_SQD || state == IBV_QPS_SQE || state == IBV_QPS_ERR;
}

void write_sges(const ibv_sge* list, std::uint32_t count, SendEntry& entry) {
  entry.sges = static_cast<std::uint16_t>(count);
  copy_sges(list, count, reinterpret_cast<std::uint8_t*>(&entry + 1));
}

void publish_sends(const Ring& ring, std::uint32_t first, std::uint32_t end) {
  const Costs& costs = *weft_costs();
  publish<SendEntry>(ring, first, end, (end - first) * costs.post_send_ps + costs.doorbell_ps, costs.after_post_ps);
}

namespace {

int post_sends(Qp& qp, ibv_send_wr* wr, ibv_send_wr** bad_wr) {
  const SpinGuard guard(qp.send_lock);
  if (!may_send(qp.state)) {
    *bad_wr = wr;
    return EINVAL;
  }
  const std::uint32_t first = qp.send.head->produced.load(std::memory_order_relaxed);
  std::uint32_t next = first;
  int error = 0;
  for (; wr != nullptr; wr = wr->next, ++next) {
    error = write_send(qp, *wr, next);
    if (error != 0) {
      *bad_wr = wr;
      break;
    }
  }
  publish_sends(qp.send, first, next);
  return error;
}

// A thread may post to a full queue until another one has polled, and makes no call meanwhile: after some of them in
// turn it lets others have theirs.
constexpr int kFullPosts = 8;
thread_local int full_posts = 0;

}  // namespace

int post_send(ibv_qp* base, ibv_send_wr* wr, ibv_send_wr** bad_wr) {
  const int error = post_sends(*static_cast<Qp*>(base), wr, bad_wr);
  full_posts = error == ENOMEM ? full_posts + 1 : 0;
  if (full_posts >= kFullPosts && weft_is_virtual() && weft_may_park()) {
    std::size_t none_B = 0;
    weft_call(static_cast<std::uint32_t>(Op::kYield), nullptr, 0, nullptr, &none_B, nullptr);
  }
  return error;
}

int post_receive(ibv_qp* base, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) {
  auto& qp = *static_cast<Qp*>(base);
  const SpinGuard guard(qp.receive_lock);
  if (qp.state == IBV_QPS_RESET || qp.receive.entries == 0) {
    *bad_wr = wr;
    return EINVAL;
  }
  const std::uint32_t freed = qp.receive_freed.load(std::memory_order_acquire);
  return post_receives(qp.receive, freed, qp.cap.max_recv_sge, wr, bad_wr);
}

// Receives of an SRQ end in any order and on any CQ: its entries are free when the world has taken them.
int post_srq_receive(ibv_srq* base, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) {
  auto& srq = *static_cast<Srq*>(base);
  const SpinGuard guard(srq.lock);
  const std::uint32_t freed = srq.ring.head->consumed.load(std::memory_order_acquire);
  return post_receives(srq.ring, freed, srq.max_sge, wr, bad_wr);
}

}  // namespace weft::verbs
