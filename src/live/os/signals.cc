#include "live/os/signals.h"

#include <signal.h>

#include <cstdio>
#include <cstring>

namespace weft::live {

std::optional<SignalState> signal_state(int pid, int tid) {
  char path[64];
  std::snprintf(path, sizeof(path), "/proc/%d/task/%d/status", pid, tid);
  FILE* file = std::fopen(path, "re");
  if (file == nullptr) return std::nullopt;
  SignalState state;
  char line[256];
  while (std::fgets(line, sizeof(line), file) != nullptr) {
    unsigned long long set = 0;
    if (std::strncmp(line, "Shd", 3) != 0 && std::strncmp(line, "Sig", 3) != 0) continue;
    if (std::sscanf(line + 6, ": %llx", &set) != 1) continue;  // but for SigQ, which is no set
    if (std::strncmp(line + 3, "Pnd", 3) == 0) state.pending |= set;
    if (std::strncmp(line + 3, "Blk", 3) == 0) state.blocked = set;
    if (std::strncmp(line + 3, "Ign", 3) == 0) state.ignored = set;
    if (std::strncmp(line + 3, "Cgt", 3) == 0) state.caught = set;
  }
  std::fclose(file);
  return state;
}

bool is_acted_on(const SignalState& state, int signal) {
  if ((state.caught & signal_bit(signal)) != 0) return true;
  if ((state.ignored & signal_bit(signal)) != 0) return false;
  switch (signal) {
    case SIGCHLD:
    case SIGURG:
    case SIGWINCH:
    case SIGCONT:
    case SIGSTOP:
    case SIGTSTP:
    case SIGTTIN:
    case SIGTTOU:
      return false;
    default:
      return signal > 0 && signal <= 64;
  }
}

std::uint64_t Timer::expirations(Time_ps now_ps) const {
  if (due_ps > now_ps) return 0;
  return interval_ps == 0 ? 1 : 1 + static_cast<std::uint64_t>((now_ps - due_ps) / interval_ps);
}

std::uint64_t Timer::take(Time_ps now_ps) {
  const std::uint64_t count = expirations(now_ps);
  if (count > 0) due_ps = interval_ps == 0 ? kNever_ps : due_ps + static_cast<Time_ps>(count) * interval_ps;
  return count;
}

verbs::TimerState Timer::state(Time_ps now_ps) const {
  verbs::TimerState state{0, interval_ps, overrun};
  if (due_ps == kNever_ps) return state;
  if (due_ps > now_ps) {
    state.left_ps = due_ps - now_ps;
  } else if (interval_ps > 0) {
    state.left_ps = interval_ps - (now_ps - due_ps) % interval_ps;
  }
  return state;
}

}  // namespace weft::live
