// Signals of a thread as the kernel knows them, and timers that send them or are read. Sets have a bit for each signal,
// bit 0 for signal 1. Times are virtual picoseconds.
#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"
#include "verbs/wait_protocol.h"

namespace weft::live {

struct SignalState {
  std::uint64_t pending = 0, blocked = 0, ignored = 0, caught = 0;
};
// None: there is no such thread.
std::optional<SignalState> signal_state(int pid, int tid);

inline std::uint64_t signal_bit(int signal) {
  return signal > 0 && signal <= 64 ? std::uint64_t{1} << (signal - 1) : 0;
}
// Whether a signal that is not blocked makes the thread act: it runs a handler, or ends.
bool is_acted_on(const SignalState& state, int signal);

// timer_create(2) and timerfd_create(2).
struct Timer {
  verbs::CreateTimer made{};
  Time_ps due_ps = kNever_ps, interval_ps = 0;
  std::uint64_t settings = 0;  // counts them: what was to happen by an old one does not
  std::uint64_t overrun = 0;   // expirations since the signal that is pending was sent

  // Since it was last read.
  std::uint64_t expirations(Time_ps now_ps) const;
  std::uint64_t take(Time_ps now_ps);
  verbs::TimerState state(Time_ps now_ps) const;
};

}  // namespace weft::live
