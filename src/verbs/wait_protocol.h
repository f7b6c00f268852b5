// Bodies of the requests about waits, signals and timers (protocol.h, Op 160 and on).
#pragma once

#include <cstdint>

#include "verbs/protocol.h"

namespace weft::verbs {

// ReplyHead::error of the reply to kCancel itself: whatever was to be cancelled has its own reply by now.
inline constexpr std::int32_t kCancelDone = -1;

struct Interrupt {
  std::int32_t tid;  // of the same process
};
struct Signalled {
  std::int32_t pid;  // as for kill(2): 0, -1 and groups too
  std::int32_t tid;  // 0: the process
  std::int32_t signal;
};

// A semaphore, a lock or a count of signals that another thread or process will write to. Every object of pthreads
// fits.
inline constexpr std::size_t kMaxWatched_B = 64;
struct WaitForChange {
  std::int64_t until_ps;
  std::uint64_t address;  // or the place in a page of a condition, when size_B is 0
  std::uint32_t size_B, signals;
  std::uint8_t before[kMaxWatched_B];
};
// Processes map what they share at different addresses, but at the same place of a page; this is the smallest page.
inline constexpr std::size_t kPage_B = 4096;
struct CountSignal {
  std::uint32_t place, more;  // more: 0 or 1
};
struct SignalCount {
  std::uint32_t signals;
};

struct SignalSet {
  std::uint64_t signals;  // bit 0: signal 1
};

enum class Expiry : std::uint32_t { kRead, kSignal };
struct CreateTimer {
  Expiry expiry;
  std::int32_t signal, tid;  // kSignal; tid 0: the process
  std::uint64_t value;       // si_value
};
struct ArmTimer {
  std::uint32_t timer, unused;
  std::int64_t due_ps;  // virtual; 0: off
  std::int64_t interval_ps;
};
struct TimerState {
  std::int64_t left_ps, interval_ps;  // 0: off, once
  std::uint64_t overrun;
};
struct ReadTimer {
  std::uint32_t timer, wait;  // 0: EAGAIN when it has not expired
};
struct Expirations {
  std::uint64_t count;
};

}  // namespace weft::verbs
