#include "verbs/world_call.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "preload/files/descriptors.h"
#include "preload/process/interrupt.h"
#include "preload/process/process.h"
#include "preload/real.h"
#include "preload/wire.h"

namespace weft::preload {

namespace {

thread_local int park_forbidden = 0;

// Waits that Linux restarts after a handler with SA_RESTART; sleeps and waits for several descriptors end
// (signal(7)).
bool is_restarted(verbs::Op op) {
  return op != verbs::Op::kSleep && op != verbs::Op::kWait;
}

bool is_cancellation_point(verbs::Op op) {
  switch (op) {
    case verbs::Op::kSleep:
    case verbs::Op::kWait:
    case verbs::Op::kStreamConnect:
    case verbs::Op::kStreamAccept:
    case verbs::Op::kStreamSend:
    case verbs::Op::kStreamReceive:
    case verbs::Op::kDatagramSend:
    case verbs::Op::kDatagramReceive:
    case verbs::Op::kGetCqEvent:
    case verbs::Op::kGetAsyncEvent:
    case verbs::Op::kCmGetEvent:
    case verbs::Op::kReadTimer:
      return true;
    default:
      return false;
  }
}

// False: the world does not look for it, and it goes by the connection.
bool fill_slot(Call& call, verbs::Op op, std::int64_t local_ps, const iovec* request, std::size_t pieces) {
  verbs::TurnSlot<verbs::RequestHead>& slot = thread.page->request;
  if (!slot.is_open() || thread.slots_taken) return false;
  std::size_t size_B = 0;
  for (std::size_t i = 0; i < pieces; ++i) {
    if (request[i].iov_len > slot.kRoom_B - size_B) return false;
    if (request[i].iov_len > 0) memcpy(slot.body() + size_B, request[i].iov_base, request[i].iov_len);
    size_B += request[i].iov_len;
  }
  slot.head() = {op, static_cast<std::uint32_t>(size_B), local_ps};
  if (thread.patience.may_look()) {
    thread.page->reply.open();
    call.looks = true;
  }
  if (slot.fill()) return true;
  thread.page->reply.close();
  call.looks = false;
  return false;
}

// A handler may run at any moment and take the reply itself: then it is taken twice, which does no harm, since no call
// of the handler's uses the slots. Only afterwards does the call look no more (interrupt.cc).
void look_for_reply(Call& call) {
  const bool came = thread.page->reply.wait(thread.page->looks.load(std::memory_order_relaxed));
  thread.patience.looked(came);
  if (came) take_slot(call);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  call.looks = false;
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

// Until the reply is here, or a descriptor has ended the wait.
void look_at_own(Call& call, const RealOnes& real) {
  real.own[real.own_count] = {thread.socket, POLLIN, 0};
  while (!call.answered) {
    const int ready = WEFT_REAL(poll)(real.own, real.own_count + 1, -1);
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0 || real.own[real.own_count].revents != 0) return;
    AllSignalsBlocked blocked;
    if (call.answered) return;
    cancel(call);
    call.signalled = true;
    call.restart = false;
  }
}

// One request and its reply. `call` is what a signal handler finds meanwhile.
void ask(Call& call, verbs::Op op, const iovec* request, std::size_t pieces, const RealOnes& real) {
  if (thread.call != nullptr) {
    // An asynchronous cancellation has left a call behind.
    AllSignalsBlocked blocked;
    Call lost{nullptr, 0, nullptr};
    cancel(lost);
  }
  const std::uint32_t handled = thread.masked ? thread.handled_at_mask : thread.handled;
  if (thread.handled != handled) {
    // The signal came when its mask was lifted: the wait does not begin.
    call.head = {EINTR, 0, verbs::weft_now_ps()};
    call.reply_B = 0;
    call.signalled = true;
    call.restart = false;
    return;
  }
  thread.call = &call;
  const std::int64_t now_ps = verbs::weft_now_ps();
  if (real.lent_count > 0 || !fill_slot(call, op, now_ps, request, pieces))
    send_request(thread.socket, op, now_ps, request, pieces, real.lent, real.lent_count);
  if (thread.handled != handled) {
    // It came after that, and before the request was out.
    AllSignalsBlocked blocked;
    if (!call.answered) {
      cancel(call);
      call.signalled = true;
      call.restart = false;
    }
  }
  if (call.looks && !call.answered) look_for_reply(call);
  if (real.own_count > 0) look_at_own(call, real);
  while (!call.answered || call.nudged) {
    verbs::ReplyHead head;
    std::size_t size_B = call.reply_B;
    const bool came = receive_reply(thread.socket, head, call.reply, &size_B, call.passed);
    if (call.answered) {
      call.nudged = false;
      break;
    }
    if (!came) world_is_gone();
    call.answered = true;
    call.head = head;
    call.reply_B = size_B;
  }
  thread.call = nullptr;
  move_clock_to(call.head.now_ps);
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

void move_clock_to(std::int64_t now_ps) {
  if (thread.page == nullptr) return;
  std::atomic<std::int64_t>& local_ps = thread.page->local_ps;
  std::int64_t seen_ps = local_ps.load(std::memory_order_relaxed);
  while (seen_ps < now_ps && !local_ps.compare_exchange_weak(seen_ps, now_ps, std::memory_order_relaxed)) {
  }
}

int call_in_pieces(verbs::Op op, const iovec* request, std::size_t pieces, void* reply, std::size_t* reply_B,
                   verbs::Descriptors* descriptors, const RealOnes& real) {
  if (!this_process().attached) return ENOTCONN;
  ensure_connected();
  const int saved_errno = errno;
  const std::size_t room_B = reply_B != nullptr ? *reply_B : 0;
  for (;;) {
    if (is_cancellation_point(op) && thread.uncancellable == 0) pthread_testcancel();
    Call call{reply, room_B, descriptors};
    ask(call, op, request, pieces, real);
    errno = saved_errno;
    thread.restart = call.restart;
    thread.replied_ps = call.head.now_ps;
    // Without a handler it was another thread that wants this one to end, if it can be.
    const bool again = call.signalled ? call.restart && is_restarted(op) : thread.uncancellable == 0;
    if (call.head.error == EINTR && again) continue;
    if (reply_B != nullptr) *reply_B = call.reply_B;
    return call.head.error;
  }
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
  return preload::thread.page == nullptr || preload::thread.page->freed.load(std::memory_order_acquire) != kMayNotPark;
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
  kernel_call(SYS_write, this_process().doorbell, "", 1);
}

}  // namespace weft::verbs
