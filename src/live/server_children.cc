// Children of programs that are not of the world, or not yet: a program that is being loaded, a filter that makes no
// call which the world must know of. They run in real time. The clock does not leap while one of them runs, or while
// its parent has not handled its end. Nor does it while a program waits for something of the kernel's and who started
// it, outside of the world, runs: an answer of mpirun's may be on its way, or another rank.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <utility>

#include "live/os/kernel_thread.h"
#include "live/os/process_end.h"
#include "live/server.h"

namespace weft::live {

namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds kRunPatience{10};  // for one that computes without a pause
constexpr int kSleepLooks = 3, kSleepLook_us = 200;

// Started on a node, by `weft exec` or by a program there: it may come into the world with its next call.
bool is_started_on_node(int pid) {
  std::ifstream file(fmt::format("/proc/{}/environ", pid));
  const std::string wanted = fmt::format("{}=", verbs::kSocketVariable);
  for (std::string each; std::getline(file, each, '\0');) {
    if (each.starts_with(wanted)) return true;
  }
  return false;
}

// `weft exec` itself.
bool is_starter(int pid) {
  std::error_code error;
  const auto program = std::filesystem::read_symlink(fmt::format("/proc/{}/exe", pid), error);
  return !error && program == std::filesystem::read_symlink("/proc/self/exe", error);
}

bool waits_for_kernel(const Process& process) {
  return std::any_of(process.threads.begin(), process.threads.end(), [](const auto& each) { return each->lent; });
}

}  // namespace

bool Server::wait_for_children(Time_ps leap_ps) {
  if (leap_ps < kLeap_ps) return false;
  const auto now = steady_clock::now();
  // A process that answers from outside may have slept until what was sent to it at this time.
  const Time_ps now_ps = world_.engine().horizon_ps();
  const bool first_look = std::exchange(looked_at_ps_, now_ps) != now_ps;
  std::map<int, OtherChild> found;
  bool waits = false;
  const auto look_at = [&](OtherChild& state, int pid) {
    const bool runs = !is_asleep(pid);
    if (runs) state.asleep = 0;
    if (!runs && state.asleep < kSleepLooks) ++state.asleep;
    if (!runs) state.since = now;
    return state.asleep < kSleepLooks && now - state.since < kRunPatience;
  };
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
      waits = look_at(state, child) || waits;
      self(self, parent, child);
    }
  };
  // Others that it starts on nodes, and that are on their way into the world.
  const auto look_at_siblings = [&](int parent) {
    for (const int child : children_of(parent)) {
      const bool attached =
          std::any_of(threads_.begin(), threads_.end(), [&](const auto& each) { return each->process->pid == child; });
      if (attached || found.contains(child) || is_exiting(child)) continue;
      auto known = other_children_.find(child);
      OtherChild& state = found[child] = known == other_children_.end() ? OtherChild{now} : known->second;
      if (first_look) state.asleep = 0;
      if (is_starter(child) || is_started_on_node(child)) waits = look_at(state, child) || waits;
    }
  };
  std::set<int> looked_at;
  for (const auto& node : nodes_) {
    for (const auto& process : std::vector(node->processes)) {
      visit(visit, process, process->pid);
      const int parent = process->parent_pid;
      const auto& all = node->processes;
      if (parent <= 1 || parent == getpid() ||
          std::any_of(all.begin(), all.end(), [&](const auto& each) { return each->pid == parent; }))
        continue;
      if (looked_at.contains(parent)) continue;  // for another that it has started
      auto known = other_children_.find(parent);
      OtherChild state = known == other_children_.end() ? OtherChild{now} : known->second;
      if (known == other_children_.end()) state.outside = !is_started_on_node(parent);
      if (!is_exiting(parent) && (!state.outside || waits_for_kernel(*process))) {
        looked_at.insert(parent);
        if (state.outside && first_look) state.asleep = 0;
        waits = look_at(state, parent) || waits;
        if (state.outside) look_at_siblings(parent);
      }
      found[parent] = state;
    }
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

// A parent that waits for its child may wait for it to stop, too.
void Server::tell_tracer(const Thread& thread, Time_ps now_ps) {
  const char state = kernel_state(thread.process->pid, thread.tid);
  if (state != 't' && state != 'T') return;
  for (const auto& other : threads_) {
    if (other->lent && other->process->pid == thread.process->parent_pid) other->process->node->let_look(other, now_ps);
  }
}

}  // namespace weft::live
