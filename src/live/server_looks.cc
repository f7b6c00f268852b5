// Looks at programs in real time: at those that handle a signal, end, or wait for something that the world cannot see.
#include <poll.h>
#include <unistd.h>

#include <algorithm>

#include "live/os/kernel_thread.h"
#include "live/os/signals.h"
#include "live/server.h"

namespace weft::live {

namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kLeaveLooks = 100, kEndLook_us = 100;  // at a thread that has left the world and is not gone yet
constexpr int kHandlerLooks = 5;                     // a millisecond apart: none of them handles the signal
// A thread that polls may look at what the world does not see: a flag in shared memory, a child that has ended. It
// gets a turn now and then, at the time that it is: in a world at rest, and more rarely in one that is busy.
constexpr milliseconds kFirstLook = 10ms, kLastLook = 100ms, kBusyLook = 500ms;
constexpr int kLooksAtRest = 2048;          // of a poll, before the clock leaps: 8 times 100 calls of UCX, 2 polls each
constexpr milliseconds kSignalLook = 10ms;  // at signals from outside that somebody waits for

}  // namespace

void Server::wait_for_end(const Thread& thread) {
  const Process& process = *thread.process;
  const bool last = process.threads.size() <= 1;
  // Others may join it, or wait for the process if it is the last.
  if (wall_ || (last && process.relatives == 0)) return;
  for (int look = 0; look < kLeaveLooks * machine_slowdown(); ++look) {
    char state = kernel_state(process.pid, thread.tid);
    pollfd hello{listener_, POLLIN, 0};  // it may be back, out of a destructor
    if (state == 0 || state == 'Z' || state == 'X' || poll(&hello, 1, 0) > 0) return;
    usleep(kEndLook_us);
  }
}

std::shared_ptr<Thread> Server::wait_for_any(const std::vector<std::shared_ptr<Thread>>& threads) const {
  if (wall_ || threads.empty()) return nullptr;
  for (int asleep = 0; asleep < kHandlerLooks * machine_slowdown();) {
    std::vector<pollfd> fds;
    for (const auto& each : threads) fds.push_back({each->connection.fd(), POLLIN, 0});
    if (poll(fds.data(), fds.size(), 1) > 0) {
      auto ready = std::find_if(fds.begin(), fds.end(), [](const pollfd& fd) { return fd.revents != 0; });
      return threads[static_cast<std::size_t>(ready - fds.begin())];
    }
    const bool awake = std::any_of(threads.begin(), threads.end(),
                                   [](const auto& each) { return kernel_state(each->process->pid, each->tid) == 'R'; });
    asleep = awake ? 0 : asleep + 1;
  }
  return nullptr;
}

bool Server::is_patient(const Thread& thread) {
  return thread.state == ThreadState::kParked && thread.polls && thread.retry && thread.poll_until_ps == kNever_ps;
}

// A program may poll one queue many times for each time that it looks at another: Open MPI waits for a message at the
// queues of that library, and comes to those of one-sided MPI after a hundred polls. Those are quick, so that they take
// no virtual time here. Who does not come to it within as many as there are at rest has given it up.
bool Server::has_more_to_find(const Thread& thread) {
  Process& process = *thread.process;
  bool any = false;
  std::erase_if(process.filled, [&](std::uint32_t handle) {
    auto found = process.cqs.find(handle);
    if (found == process.cqs.end()) return true;
    CompletionRing& cq = *found->second;
    if (cq.poller == thread.rank && ++cq.looks > kLooksAtRest) cq.poller = 0;
    const bool taken = cq.unpolled() == 0;
    cq.listed = cq.poller != 0 && !taken;
    any = any || (cq.listed && cq.poller == thread.rank);
    return !cq.listed;
  });
  return any;
}

// A program may count its polls: Open MPI looks at its sockets after so many. As long as nothing happens in the fabric
// a poll that finds nothing costs no virtual time.
bool Server::let_pollers_look(Time_ps leap_ps) {
  if (leap_ps < kLeap_ps) return false;
  bool any = false;
  for (const auto& thread : threads_) {
    if (!is_patient(*thread) || thread->looks_at_rest >= kLooksAtRest) continue;
    ++thread->looks_at_rest;
    Node& node = *thread->process->node;
    node.let_look(thread, std::max(node.host().last_event_ps(), world_.engine().now_ps()));
    any = true;
  }
  return any;
}

int Server::look_soon(int timeout_ms) const {
  const bool any = std::any_of(threads_.begin(), threads_.end(),
                               [](const auto& each) { return is_patient(*each) || each->awaited_signals != 0; });
  const bool watching = std::any_of(nodes_.begin(), nodes_.end(), [](const auto& node) { return node->is_watching(); });
  return any || watching ? std::min<int>(timeout_ms, kFirstLook.count()) : timeout_ms;
}

void Server::poll_waiting_threads() {
  const auto now = steady_clock::now();
  const bool busy = world_.engine().next_wake_ps() != kNever_ps;
  for (const auto& thread : threads_) {
    const bool patient = is_patient(*thread);
    if (!patient && thread->awaited_signals == 0) continue;
    if (thread->look_pause == 0ms) {
      thread->look_pause = patient ? kFirstLook : kSignalLook;
      thread->looked = now;
      continue;
    }
    if (now - thread->looked < (busy && patient ? kBusyLook : thread->look_pause)) continue;
    thread->looked = now;
    if (patient) {
      thread->look_pause = std::min(2 * thread->look_pause, kLastLook);
    } else {
      auto state = signal_state(thread->process->pid, thread->tid);
      if (!state || (state->pending & thread->awaited_signals) == 0) continue;
    }
    Node& node = *thread->process->node;
    node.let_look(thread, std::max(node.host().last_event_ps(), world_.engine().now_ps()));
  }
}

}  // namespace weft::live
