// Taking completions. The world writes an entry when a CPU could see it, so that looking is all there is to do. In
// virtual time a loop of empty polls would never let time pass, so that it must park the thread. Programs look at
// several queues in turn (perftest -b at two, UCX at one for each direction): the thread is parked when it comes to a
// queue for the second time and nothing has happened since the first, until any queue of that round has an entry.
#include "verbs/ibverbs/objects.h"

namespace weft::verbs {
namespace {

bool is_newer(std::uint32_t number, std::uint32_t than) {
  return static_cast<std::int32_t>(number - than) > 0;
}

// Frees what this completion shows to be done. The caller holds the lock of the CQ, so that the queue pair stays.
void free_entries(Qp& qp, const CqEntry& entry) {
  if ((entry.opcode & IBV_WC_RECV) == 0) {
    const auto freed = static_cast<std::uint32_t>(entry.freed);
    if (is_newer(freed, qp.send_freed.load(std::memory_order_relaxed))) {
      qp.send_freed.store(freed, std::memory_order_release);
    }
  } else if (qp.srq == nullptr) {
    qp.receive_freed.fetch_add(1, std::memory_order_release);
  }
}

void convert(const CqEntry& entry, ibv_wc& wc) {
  wc.wr_id = entry.wr_id;
  wc.status = static_cast<ibv_wc_status>(entry.status);
  wc.opcode = static_cast<ibv_wc_opcode>(entry.opcode);
  wc.vendor_err = entry.vendor_error;
  wc.byte_len = entry.byte_len;
  wc.imm_data = entry.imm;  // or the invalidated rkey: the same word
  wc.qp_num = entry.qpn;
  wc.src_qp = entry.src_qp;
  wc.wc_flags = entry.flags;
  wc.pkey_index = 0;
  wc.slid = 0;
  wc.sl = static_cast<std::uint8_t>(entry.sl);
  wc.dlid_path_bits = 0;
}

struct EmptyRound {
  std::size_t count;
  Handle cqs[kMaxPolledCqs];
};
thread_local EmptyRound empty_round;

// False when the queue is in this round already. Of a round with more queues than there is room for, only that is
// known; it is over when its first queue comes again.
bool add_to_round(std::uint32_t cq) {
  const bool is_large = empty_round.count > kMaxPolledCqs;
  const std::size_t known = is_large ? 1 : empty_round.count;
  for (std::size_t i = 0; i < known; ++i) {
    if (empty_round.cqs[i].handle == cq) return false;
  }
  if (is_large) return true;
  if (empty_round.count < kMaxPolledCqs) empty_round.cqs[empty_round.count].handle = cq;
  ++empty_round.count;
  return true;
}

void wait_for_round() {
  std::size_t reply_B = 0;
  const std::size_t count = empty_round.count > kMaxPolledCqs ? 0 : empty_round.count;
  weft_call(static_cast<std::uint32_t>(Op::kPoll), empty_round.cqs, count * sizeof(Handle), nullptr, &reply_B, nullptr);
}

int take(Cq& cq, int room, ibv_wc* wc) {
  const SpinGuard guard(cq.lock);
  RingHead& head = *cq.ring.head;
  const std::uint32_t first = head.consumed.load(std::memory_order_relaxed);
  const std::uint32_t there = head.produced.load(std::memory_order_acquire) - first;
  const std::uint32_t count = there < static_cast<std::uint32_t>(room) ? there : static_cast<std::uint32_t>(room);
  if (count == 0) return 0;
  Context& context = context_of(cq.context);
  for (std::uint32_t i = 0; i < count; ++i) {
    const CqEntry& entry = *cq.ring.at<CqEntry>(first + i);
    if (Qp* qp = find_qp(context, entry.qpn); qp != nullptr) free_entries(*qp, entry);
    convert(entry, wc[i]);
  }
  head.consumed.store(first + count, std::memory_order_release);
  return static_cast<int>(count);
}

}  // namespace

int poll_cq(ibv_cq* base, int room, ibv_wc* wc) {
  if (room <= 0) return 0;
  auto& cq = *static_cast<Cq*>(base);
  int count = take(cq, room, wc);
  if (count == 0 && wait_for_entries(cq)) count = take(cq, room, wc);
  if (count == 0) return 0;
  something_happened();
  weft_spend_ps(count * weft_costs()->poll_hit_ps);
  return count;
}

bool advance(Cq& cq) {
  RingHead& head = *cq.ring.head;
  const std::uint32_t next = head.consumed.load(std::memory_order_relaxed);
  if (head.produced.load(std::memory_order_acquire) == next) return false;
  cq.current = *cq.ring.at<CqEntry>(next);
  if (Qp* qp = find_qp(context_of(cq.context), cq.current.qpn); qp != nullptr) free_entries(*qp, cq.current);
  head.consumed.store(next + 1, std::memory_order_release);
  return true;
}

bool wait_for_entries(Cq& cq) {
  if (!weft_is_virtual() || !weft_may_park() || add_to_round(cq.handle)) return false;
  wait_for_round();
  something_happened();
  return true;
}

void something_happened() {
  empty_round.count = 0;
}

namespace {

// The entries that stay move towards the world's end of the ring; what lies between is the program's alone.
void forget_in(ibv_cq* base, std::uint32_t qpn) {
  auto& cq = *static_cast<Cq*>(base);
  const SpinGuard guard(cq.lock);
  RingHead& head = *cq.ring.head;
  const std::uint32_t first = head.consumed.load(std::memory_order_relaxed);
  const std::uint32_t end = head.produced.load(std::memory_order_acquire);
  std::uint32_t kept = end;
  for (std::uint32_t number = end; number != first; --number) {
    const CqEntry& entry = *cq.ring.at<CqEntry>(number - 1);
    if (entry.qpn == qpn) continue;
    --kept;
    if (kept != number - 1) *cq.ring.at<CqEntry>(kept) = entry;
  }
  head.consumed.store(kept, std::memory_order_release);
}

}  // namespace

void forget_completions(const Qp& qp) {
  if (qp.send_cq != nullptr) forget_in(qp.send_cq, qp.qp_num);
  if (qp.recv_cq != nullptr && qp.recv_cq != qp.send_cq) forget_in(qp.recv_cq, qp.qp_num);
}

}  // namespace weft::verbs
