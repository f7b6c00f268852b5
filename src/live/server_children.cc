// Children of programs that are not of the world, or not yet: a program that is being loaded, a filter that makes no
// call which the world must know of. They run in real time. The clock does not leap while one of them runs, or while
// its parent has not handled its end.
#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include "live/os/process_end.h"
#include "live/server.h"

namespace weft::live {

namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds kRunPatience{10};  // for one that computes
constexpr int kSleepLooks = 3, kSleepLook_us = 200;

}  // namespace

bool Server::wait_for_children(Time_ps leap_ps) {
  if (leap_ps < kLeap_ps) return false;
  const auto now = steady_clock::now();
  std::map<int, OtherChild> found;
  bool waits = false;
  const auto visit = [&](auto&& self, const std::shared_ptr<Process>& parent, int pid) -> void {
    for (const int child : children_of(pid)) {
      const auto& all = parent->node->processes;
      if (std::any_of(all.begin(), all.end(), [&](const auto& each) { return each->pid == child; })) continue;
      auto known = other_children_.find(child);
      OtherChild& state = found[child] = known == other_children_.end() ? OtherChild{now} : known->second;
      if (is_exiting(child)) {
        if (pid == parent->pid && !state.ended) run_child_handler(parent, world_.engine().horizon_ps());
        waits = waits || !state.ended;
        state.ended = true;
        continue;
      }
      const bool runs = !is_asleep(child);
      if (runs) state.asleep = 0;
      if (!runs && state.asleep < kSleepLooks) ++state.asleep;
      waits = waits || (state.asleep < kSleepLooks && now - state.since < kRunPatience);
      self(self, parent, child);
    }
  };
  for (const auto& node : nodes_) {
    for (const auto& process : std::vector(node->processes)) visit(visit, process, process->pid);
  }
  other_children_ = std::move(found);
  if (!waits) return false;
  usleep(kSleepLook_us);
  poll_clients(0);
  return true;
}

// A parent that handles SIGCHLD does so before time goes on.
void Server::run_child_handler(const std::shared_ptr<Process>& parent, Time_ps now_ps) {
  parent->node->at(now_ps, 0, [this, parent](Time_ps at_ps) {
    if (!parent->gone) run_handler(parent, nullptr, {parent->pid, 0, SIGCHLD}, at_ps);
  });
}

void Server::tell_parent(const Process& ended, Time_ps now_ps) {
  if (wall_ || ended.parent_pid == 0 || !is_exiting(ended.pid)) return;
  for (const auto& process : ended.node->processes) {
    if (process->pid == ended.parent_pid && !process->gone) run_child_handler(process, now_ps);
  }
}

}  // namespace weft::live
