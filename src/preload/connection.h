// The connection of a thread to its world, and the thread's clock. World calls go through verbs/world_call.h; the files
// of this folder use what is here besides. Times are virtual picoseconds.
#pragma once

#include <poll.h>
#include <pthread.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>

#include "verbs/protocol.h"
#include "verbs/world_call.h"

namespace weft::preload {

inline constexpr std::int64_t kPsPerNs = 1'000;
inline constexpr std::int64_t kPsPerUs = 1'000'000;
inline constexpr std::int64_t kNsPerS = 1'000'000'000;
inline constexpr std::int64_t kPsPerS = kNsPerS * kPsPerNs;
inline constexpr std::int64_t kForever_ps = INT64_MAX;
// CLOCK_MONOTONIC and the CPU's counter at virtual time 0. Not 0: MPI_Wtime of Open MPI takes a clock in its
// first second for one that was never read.
inline constexpr std::int64_t kUptime_ns = 1'000 * kNsPerS;

// Descriptors of connections: out of the way of programs that count on small numbers.
inline constexpr int kLowestDescriptor = 700;

struct Call;

// One thread's side. Initial-exec, so that a signal handler can reach it without the dynamic loader.
struct Thread {
  int socket = -1;
  verbs::ThreadPage* page = nullptr;  // null until the first call
  Call* call = nullptr;               // the request that is out (interrupt.h)
  bool slots_taken = false;           // a handler runs while they are in use for the call that it has interrupted
  verbs::TurnPatience patience;       // with replies
  std::uint32_t handled = 0;          // signals of the program's that this thread has handled
  // A wait with a signal mask of its own (ppoll): a signal counts from here on, though the wait has not begun.
  bool masked = false;
  std::uint32_t handled_at_mask = 0;
  bool restart = false;         // the last EINTR came of handlers with SA_RESTART alone
  std::int64_t replied_ps = 0;  // when the last call ended; a handler may have run since
  int uncancellable = 0;        // a wait in here is no cancellation point
  int standing_reads = 0;       // of a clock that stands still
  int tid = 0;                  // threads.cc
  pthread_t self = {};          // likewise
  Thread* next = nullptr;       // likewise
};
extern constinit thread_local Thread thread __attribute__((tls_model("initial-exec")));

// Reads WEFT_SOCKET and WEFT_NODE; called once, before any other constructor of the program.
void find_world(char** environment);

// Connects the calling thread unless it is. Ends the process when there is no world where WEFT_SOCKET says.
void connect_thread();
inline void ensure_connected() {
  if (thread.page == nullptr) [[unlikely]]
    connect_thread();
}

// First message of the world to this process; valid after ensure_connected().
const verbs::Welcome& welcome();

// Attached, and the clock is virtual. Connects the thread.
bool is_virtual();

// Virtual time, which looking at costs: a loop that waits for a moment comes to its end.
inline std::int64_t read_clock_ps() {
  ensure_connected();
  const std::uint32_t freed = thread.page->freed.load(std::memory_order_relaxed);
  const bool stands = freed != verbs::kNotFreed;
  if (freed == verbs::kMayPark && ++thread.standing_reads == verbs::kStandingReads) {
    thread.standing_reads = 0;
    thread.page->freed.store(verbs::kNotFreed, std::memory_order_relaxed);
  }
  const std::int64_t cost_ps = stands ? 0 : welcome().costs.clock_read_ps;
  thread.page->clock_seen.store(1, std::memory_order_relaxed);
  return thread.page->local_ps.fetch_add(cost_ps, std::memory_order_relaxed) + cost_ps;
}

inline std::int64_t read_uptime_ns() {
  return kUptime_ns + read_clock_ps() / kPsPerNs;
}

// The world's clock only goes on; it may have moved the thread's page past what it said in its reply.
void move_clock_to(std::int64_t now_ps);

// Real descriptors that end a wait. The world gets a copy of `lent`. The thread looks at `own` itself, after which
// there is room for one more: a signalfd shows the signals of whoever looks.
struct RealOnes {
  const int* lent = nullptr;
  std::size_t lent_count = 0;
  pollfd* own = nullptr;
  std::size_t own_count = 0;
};

// weft_call with a request and a reply in pieces. EINTR without a handler: one of `real.own` is ready.
int call_in_pieces(verbs::Op op, const iovec* request, std::size_t pieces, void* reply, std::size_t* reply_B,
                   verbs::Descriptors* descriptors, const RealOnes& real = {});

// Whether this process is the one that connected: false between vfork and exec, when memory is still the parent's.
bool is_own_process();

}  // namespace weft::preload
