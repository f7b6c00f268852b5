// Calls about waits themselves: their end by a signal or by another thread, signals that programs send or wait for,
// and timers.
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "live/os/signals.h"
#include "live/server.h"

namespace weft::live {

using verbs::Op;

namespace {

constexpr Time_ps kShortestInterval_ps = us(1);  // of signals: each takes a turn of the program
constexpr std::size_t kMostTimers = 1 << 16;     // of one process; likewise sets of signals
constexpr std::uint64_t kLastRank = ~std::uint64_t{0};
const std::uint64_t kAllSignals = ~(signal_bit(SIGKILL) | signal_bit(SIGSTOP));

bool is_meant(const Process& process, const Process& sender, int pid) {
  if (pid > 0) return process.pid == pid;
  if (pid == -1) return true;
  return process.group == (pid == 0 ? sender.group : -pid);
}

Timer* find_timer(Process& process, std::uint32_t handle) {
  auto found = process.timers.find(handle);
  return found == process.timers.end() ? nullptr : found->second.get();
}

}  // namespace

std::optional<Reply> Server::answer_wait_call(const std::shared_ptr<Thread>& thread, const Request& request,
                                              Time_ps now_ps, bool again) {
  Process& process = *thread->process;
  switch (request.op) {
    case Op::kCancel:
      return Reply::failed(verbs::kCancelDone);  // nothing is out
    case Op::kNudge:
      return Reply{};
    case Op::kInterrupt: {
      verbs::Interrupt ask;
      if (!request.read(ask)) return Reply::failed(EINVAL);
      for (const auto& each : process.threads) {
        if (each->tid == ask.tid && each != thread) process.node->interrupt(each, now_ps);
      }
      return Reply{};
    }
    case Op::kSignalled: {
      verbs::Signalled ask;
      if (!request.read(ask)) return Reply::failed(EINVAL);
      if (again) return Reply{};
      run_handlers(*thread, ask, now_ps);
      retry_last(thread, now_ps);  // after those that it has woken
      return std::nullopt;
    }
    case Op::kExpectThread:
      return expect_thread(thread, now_ps);
    case Op::kYield:
      if (again) return Reply{};
      retry_last(thread, now_ps);
      return std::nullopt;
    case Op::kWaitForChange:
      return wait_for_change(thread, request, now_ps, again);
    case Op::kCountSignal: {
      verbs::CountSignal ask;
      if (!request.read(ask) || ask.place >= verbs::kPage_B || ask.more > 1) return Reply::failed(EINVAL);
      return Reply::of(verbs::SignalCount{process.node->signals[ask.place] += ask.more});
    }
    case Op::kMakeSignalSet: {
      verbs::SignalSet ask;
      if (!request.read(ask)) return Reply::failed(EINVAL);
      if (process.signal_sets.size() >= kMostTimers) return Reply::failed(EMFILE);
      const std::uint32_t handle = process.new_handle();
      process.signal_sets[handle] = ask.signals;
      return Reply::of(verbs::Handle{handle});
    }
    case Op::kDropSignalSet: {
      verbs::Handle ask;
      return request.read(ask) && process.signal_sets.erase(ask.handle) != 0 ? Reply{} : Reply::failed(EINVAL);
    }
    default:
      return answer_timer_call(thread, request, now_ps);
  }
}

std::optional<Reply> Server::wait_for_change(const std::shared_ptr<Thread>& thread, const Request& request,
                                             Time_ps now_ps, bool again) {
  Process& process = *thread->process;
  verbs::WaitForChange ask;
  if (!request.read(ask) || ask.size_B > sizeof(ask.before) || (ask.size_B == 0 && ask.address >= verbs::kPage_B))
    return Reply::failed(EINVAL);
  if (ask.until_ps <= now_ps || thread->look || process.node->has_changed(process, ask)) return Reply{};
  if (!again) {
    process.node->watch(thread, ask);
    retry_at(thread, ask.until_ps);
  }
  return std::nullopt;
}

std::optional<Reply> Server::answer_timer_call(const std::shared_ptr<Thread>& thread, const Request& request,
                                               Time_ps now_ps) {
  Process& process = *thread->process;
  switch (request.op) {
    case Op::kCreateTimer: {
      auto timer = std::make_shared<Timer>();
      const verbs::CreateTimer& made = timer->made;
      if (!request.read(timer->made) || made.expiry > verbs::Expiry::kSignal) return Reply::failed(EINVAL);
      if (made.expiry == verbs::Expiry::kSignal && signal_bit(made.signal) == 0) return Reply::failed(EINVAL);
      if (process.timers.size() >= kMostTimers) return Reply::failed(EAGAIN);
      const std::uint32_t handle = process.new_handle();
      process.timers[handle] = std::move(timer);
      return Reply::of(verbs::Handle{handle});
    }
    case Op::kArmTimer: {
      verbs::ArmTimer ask;
      if (!request.read(ask) || ask.due_ps < 0 || ask.interval_ps < 0) return Reply::failed(EINVAL);
      Timer* timer = find_timer(process, ask.timer);
      if (timer == nullptr) return Reply::failed(EINVAL);
      Reply before = Reply::of(timer->state(now_ps));
      arm(thread->process, process.timers[ask.timer], ask, now_ps);
      return before;
    }
    case Op::kQueryTimer: {
      verbs::Handle ask;
      Timer* timer = request.read(ask) ? find_timer(process, ask.handle) : nullptr;
      return timer == nullptr ? Reply::failed(EINVAL) : Reply::of(timer->state(now_ps));
    }
    case Op::kReadTimer: {
      verbs::ReadTimer ask;
      Timer* timer = request.read(ask) ? find_timer(process, ask.timer) : nullptr;
      if (timer == nullptr || timer->made.expiry != verbs::Expiry::kRead) return Reply::failed(EINVAL);
      if (const std::uint64_t count = timer->take(now_ps); count > 0) return Reply::of(verbs::Expirations{count});
      if (ask.wait == 0) return Reply::failed(EAGAIN);
      retry_when_due(thread, timer->due_ps, now_ps);
      return std::nullopt;
    }
    case Op::kDropTimer: {
      verbs::Handle ask;
      auto found = request.read(ask) ? process.timers.find(ask.handle) : process.timers.end();
      if (found == process.timers.end()) return Reply::failed(EINVAL);
      ++found->second->settings;
      process.timers.erase(found);
      process.node->tell(process, now_ps);
      return Reply{};
    }
    default:
      return Reply::failed(EOPNOTSUPP);
  }
}

void Server::arm(const std::shared_ptr<Process>& process, const std::shared_ptr<Timer>& timer,
                 const verbs::ArmTimer& ask, Time_ps now_ps) {
  const bool ever = ask.due_ps > 0 && ask.due_ps < kEndOfTime_ps;
  const bool signals = timer->made.expiry == verbs::Expiry::kSignal;
  timer->due_ps = ever ? ask.due_ps : kNever_ps;
  timer->interval_ps = std::min(ask.interval_ps, kEndOfTime_ps);
  if (signals && ask.interval_ps > 0) timer->interval_ps = std::max(timer->interval_ps, kShortestInterval_ps);
  timer->overrun = 0;
  ++timer->settings;
  if (signals) {
    expire_at(process, timer);
  } else {
    // Threads that wait for it wait for another time now, in a child or a parent as well.
    for (const auto& each : process->node->processes) {
      for (const auto& [handle, held] : each->timers) {
        if (held == timer) each->node->tell(*each, now_ps);
      }
    }
  }
}

void Server::expire_at(const std::shared_ptr<Process>& process, const std::shared_ptr<Timer>& timer) {
  if (timer->due_ps >= kEndOfTime_ps) return;
  auto live = [process, timer, setting = timer->settings] { return !process->gone && timer->settings == setting; };
  process->node->at_if(live, timer->due_ps, 0, [this, process, timer](Time_ps now_ps) {
    timer->due_ps = timer->interval_ps == 0 ? kNever_ps : now_ps + timer->interval_ps;
    const verbs::CreateTimer& made = timer->made;
    auto state = signal_state(process->pid, made.tid != 0 ? made.tid : process->pid);
    if (state && (state->pending & signal_bit(made.signal)) != 0) {
      ++timer->overrun;
    } else {
      timer->overrun = 0;
      siginfo_t info{};
      info.si_signo = made.signal;
      info.si_code = SI_TIMER;
      info.si_value.sival_ptr = reinterpret_cast<void*>(made.value);
      send_signal(process, made.tid, info, now_ps);
    }
    expire_at(process, timer);
  });
}

void Server::retry_last(const std::shared_ptr<Thread>& thread, Time_ps now_ps) {
  thread->process->node->at(now_ps, kLastRank, [thread, park = thread->park](Time_ps at_ps) {
    if (thread->park == park && thread->retry && !thread->process->gone) thread->retry(at_ps);
  });
}

// Asks again when a timer that the thread waits for is due. Another thread may set it meanwhile.
void Server::retry_when_due(const std::shared_ptr<Thread>& thread, Time_ps due_ps, Time_ps now_ps) {
  if (thread->wakes_ps <= now_ps) thread->wakes_ps = kNever_ps;
  if (due_ps >= thread->wakes_ps) return;
  thread->wakes_ps = due_ps;
  retry_at(thread, due_ps);
}

// The first thread that can take it gets it, and handles it before time goes on.
void Server::send_signal(const std::shared_ptr<Process>& process, int tid, siginfo_t info, Time_ps now_ps) {
  const std::uint64_t bit = signal_bit(info.si_signo);
  std::shared_ptr<Thread> target;
  bool acts = false;
  for (const auto& each : process->threads) {
    if (tid != 0 && each->tid != tid) continue;
    auto state = signal_state(process->pid, each->tid);
    if (!state || (state->blocked & bit) != 0) continue;
    target = each;
    acts = is_acted_on(*state, info.si_signo);
    break;
  }
  const int to = target ? target->tid : tid;
  if (to != 0) {
    syscall(SYS_rt_tgsigqueueinfo, process->pid, to, info.si_signo, &info);
  } else {
    syscall(SYS_rt_sigqueueinfo, process->pid, info.si_signo, &info);
  }
  if (acts) {
    process->node->run_handler(target, now_ps);
  } else {
    process->node->tell(*process, now_ps);  // it may be waited for
  }
}

void Server::run_handlers(const Thread& sender, const verbs::Signalled& sent, Time_ps now_ps) {
  std::vector<std::shared_ptr<Process>> meant;
  for (const auto& node : nodes_) {
    for (const auto& process : node->processes) {
      if (is_meant(*process, *sender.process, sent.pid)) meant.push_back(process);
    }
  }
  for (const auto& process : meant) run_handler(process, &sender, sent, now_ps);
}

// The kernel has chosen already which thread of the process handles it.
void Server::run_handler(const std::shared_ptr<Process>& process, const Thread* sender, const verbs::Signalled& sent,
                         Time_ps now_ps) {
  std::vector<std::shared_ptr<Thread>> able;
  for (const auto& each : process->threads) {
    if (each.get() == sender || (sent.tid != 0 && each->tid != sent.tid)) continue;
    auto state = signal_state(process->pid, each->tid);
    // One that is about to run a handler blocks them all while it tells the world.
    if (state && state->blocked != kAllSignals && (state->blocked & signal_bit(sent.signal)) != 0) continue;
    if (state && is_acted_on(*state, sent.signal)) able.push_back(each);
  }
  if (std::shared_ptr<Thread> acting = wait_for_any(able)) {
    process->node->run_handler(acting, now_ps);
  } else {
    process->node->tell(*process, now_ps);
  }
}

}  // namespace weft::live
