// The loop of a world in wall-clock mode: run what is due, take what was posted, answer who asks, and sleep when
// there is nothing to do for a while.
#include <unistd.h>

#include <algorithm>

#include "live/server.h"

namespace weft::live {

namespace {

constexpr Time_ps kWallSlice_ps = us(50);  // of simulated time between two looks at the doorbells
constexpr Time_ps kPatience_ps = ms(1);    // a lag that is made up for; beyond it the world falls behind
constexpr Time_ps kBusyLook_ps = us(50);   // an idle world looks this long before it sleeps: waking up takes as long
constexpr Time_ps kSocketLook_ps = us(5);  // between looks at the descriptors, which cost a system call
constexpr Time_ps kLongestSleep_ps = ms(100);  // somebody may want the world to stop

}  // namespace

void Server::run_wall(const std::atomic<bool>& stop) {
  Time_ps busy_ps = 0, looked_ps = 0;
  while (!down_ && !stop.load(std::memory_order_relaxed)) {
    Time_ps now_ps = wall_->now_ps();
    Time_ps next_ps = next_due_ps();
    if (next_ps < now_ps - kPatience_ps) {
      wall_->lose(now_ps - kPatience_ps - next_ps);
      now_ps = next_ps + kPatience_ps;
    }
    bool busy = next_ps < now_ps;
    wall_->reached_ps = std::max(wall_->reached_ps, busy ? std::min(now_ps, next_ps + kWallSlice_ps) : now_ps);
    if (busy && session_->advance_until(wall_->reached_ps) == lab::SessionState::kCancelled) return;
    busy = take_doorbells() || busy;
    if (now_ps - looked_ps >= kSocketLook_ps) {
      looked_ps = now_ps;
      wait_for_listeners();
      busy = look_at_descriptors() || busy;
      if (control_) control_->poll();
    }
    if (busy) busy_ps = now_ps;
    if (now_ps - busy_ps > kBusyLook_ps && next_due_ps() > now_ps + kBusyLook_ps) {
      if (world_.engine().next_wake_ps() == kNever_ps) session_->advance_until(wall_->reached_ps);
      sleep_until(std::min(next_due_ps() - kBusyLook_ps, now_ps + kLongestSleep_ps));
    }
  }
}

// Whoever asks has asked before now, by its own clock: what it asks for begins no earlier than everything else allows.
void Server::catch_up() {
  wall_->reached_ps = std::max(wall_->reached_ps, std::min(wall_->now_ps(), next_due_ps()));
}

bool Server::take_doorbells() {
  bool any = false;
  for (const auto& node : nodes_) {
    for (const auto& process : node->processes) {
      if (process->gone) continue;
      process->settle_writes(kNever_ps);
      if (!process->has_posts()) continue;
      if (!any) catch_up();
      node->take_posts(*process, wall_->reached_ps, wall_->reached_ps);
      any = true;
    }
  }
  return any;
}

bool Server::look_at_descriptors() {
  poll_passed_fds(nullptr, wall_->reached_ps);
  network_.end_abandoned(wall_->reached_ps);
  std::span<const int> ready = wall_->ready();
  if (!ready.empty()) catch_up();
  bool new_clients = false;
  for (int fd : ready) {
    auto line =
        std::find_if(outside_.begin(), outside_.end(), [&](const OutsideLine& each) { return each.fd() == fd; });
    if (line != outside_.end()) {
      line->bring(*world_.outside(line->host()), wall_->reached_ps);
      continue;
    }
    auto thread = std::find_if(threads_.begin(), threads_.end(),
                               [&](const std::shared_ptr<Thread>& each) { return each->connection.fd() == fd; });
    if (thread == threads_.end()) {
      new_clients = true;
    } else {
      serve(std::shared_ptr<Thread>(*thread), wall_->reached_ps);
    }
  }
  if (new_clients) {
    accept_clients();
    handle_hellos();
  }
  return !ready.empty();
}

// A process that posts while `sleeping` is set rings its doorbell.
void Server::sleep_until(Time_ps time_ps) {
  std::vector<Process*> sleepers;
  for (const auto& node : nodes_) {
    for (const auto& process : node->processes) {
      if (process->gone) continue;
      sleepers.push_back(process.get());
      process->shared().sleeping.store(1, std::memory_order_relaxed);
    }
  }
  // Either this look finds the post, or whoever posts finds `sleeping` set (weft_ring has the other half).
  std::atomic_thread_fence(std::memory_order_seq_cst);
  bool posted = std::any_of(sleepers.begin(), sleepers.end(), [](const Process* each) { return each->has_posts(); });
  std::vector<pollfd> lent;
  for (const auto& thread : threads_) {
    for (std::size_t i = 0; thread->lent && i < thread->lent->fds.size(); ++i)
      lent.push_back({thread->lent->fds[i], thread->lent_events[i], 0});
  }
  if (!posted) wall_->wait(time_ps - wall_->now_ps(), std::move(lent));
  for (Process* process : sleepers) {
    process->shared().sleeping.store(0, std::memory_order_relaxed);
    char rings[64];
    while (::read(process->doorbell.fd, rings, sizeof(rings)) == sizeof(rings)) {
    }
  }
}

}  // namespace weft::live
