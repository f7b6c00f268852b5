#include "verbs/world_call.h"

#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "preload/descriptors.h"
#include "preload/process.h"
#include "preload/real.h"
#include "preload/wire.h"

namespace weft::preload {

namespace {

thread_local int park_forbidden = 0;

// The world's clock only goes on; it may have moved the thread's page past what it said in its reply.
void move_clock_to(std::atomic<std::int64_t>& local_ps, std::int64_t now_ps) {
  std::int64_t seen_ps = local_ps.load(std::memory_order_relaxed);
  while (seen_ps < now_ps && !local_ps.compare_exchange_weak(seen_ps, now_ps, std::memory_order_relaxed)) {
  }
}

// Real time, from the world's zero. A world that cannot keep up is behind it: it takes what a request says of times as
// from the request's own.
std::int64_t wall_now_ps() {
  ensure_connected();
  timespec now;
  WEFT_REAL(clock_gettime)(CLOCK_MONOTONIC, &now);
  return (now.tv_sec * kNsPerS + now.tv_nsec - welcome().epoch_ns) * kPsPerNs;
}

}  // namespace

int call_in_pieces(verbs::Op op, const iovec* request, std::size_t pieces, void* reply, std::size_t* reply_B,
                   verbs::Descriptors* descriptors, const int* lent, std::size_t lent_count) {
  if (!this_process().attached) return ENOTCONN;
  ensure_connected();
  if (thread.parked)
    return call_on_second_connection(op, request, pieces, reply, reply_B, descriptors, lent, lent_count);

  const int saved_errno = errno;
  verbs::ReplyHead head;
  thread.parked = true;
  send_request(thread.socket, op, verbs::weft_now_ps(), request, pieces, lent, lent_count);
  receive_reply(thread.socket, head, reply, reply_B, descriptors);
  move_clock_to(thread.page->local_ps, head.now_ps);
  thread.parked = false;
  errno = saved_errno;
  return head.error;
}

}  // namespace weft::preload

namespace weft::verbs {

using namespace weft::preload;

WEFT_EXPORT int weft_call(std::uint32_t op, const void* request, std::size_t request_B, void* reply,
                          std::size_t* reply_B, Descriptors* descriptors) {
  const iovec piece{const_cast<void*>(request), request_B};
  return call_in_pieces(static_cast<Op>(op), &piece, 1, reply, reply_B, descriptors);
}

WEFT_EXPORT void weft_connect() {
  if (this_process().attached) ensure_connected();
}

WEFT_EXPORT bool weft_is_attached() {
  return this_process().attached;
}

WEFT_EXPORT bool weft_is_virtual() {
  return is_virtual();
}

WEFT_EXPORT void weft_forbid_park(int change) {
  park_forbidden += change;
}

WEFT_EXPORT bool weft_may_park() {
  if (park_forbidden > 0) return false;
  return preload::thread.page == nullptr || preload::thread.page->may_not_park.load(std::memory_order_acquire) == 0;
}

WEFT_EXPORT std::int64_t weft_now_ps() {
  if (!is_virtual()) return wall_now_ps();
  return preload::thread.page->local_ps.load(std::memory_order_relaxed);
}

WEFT_EXPORT void weft_spend_ps(std::int64_t cost_ps) {
  if (is_virtual()) preload::thread.page->local_ps.fetch_add(cost_ps, std::memory_order_relaxed);
}

WEFT_EXPORT const Costs* weft_costs() {
  weft_connect();
  return &welcome().costs;
}

WEFT_EXPORT bool weft_counter_is_trapped() {
  return this_process().counter_trapped;
}

WEFT_EXPORT void weft_watch_descriptor(int fd, std::uint32_t what, std::uint32_t handle) {
  if (!is_virtual()) return;  // the kernel knows in time
  preload::descriptors().watch(fd, what, handle);
}

WEFT_EXPORT void weft_ring(std::uint32_t doorbell) {
  ProcessPage* page = this_process().page;
  if (page == nullptr || doorbell >= kDoorbellWords * 64) return;
  // Pairs with a world that writes `sleeping`, looks at the doorbells once more and then sleeps.
  page->doorbells[doorbell / 64].fetch_or(std::uint64_t{1} << (doorbell % 64), std::memory_order_release);
  if (welcome().clock == Clock::kVirtual) return;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (page->sleeping.load(std::memory_order_relaxed) == 0) return;
  syscall(SYS_write, this_process().doorbell, "", 1);
}

}  // namespace weft::verbs
