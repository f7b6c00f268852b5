#include "live/os/node.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace weft::live {

namespace {

bool are_related(const Process& a, const Process& b) {
  return a.pid == b.parent_pid || b.pid == a.parent_pid;
}

}  // namespace

void Node::at_if(std::function<bool()> live, Time_ps time_ps, std::uint64_t rank, std::function<void(Time_ps)> what) {
  auto which = static_cast<std::uint32_t>(calls_.size());
  if (free_calls_.empty()) {
    calls_.push_back({std::move(what), std::move(live)});
  } else {
    which = free_calls_.back();
    free_calls_.pop_back();
    calls_[which] = {std::move(what), std::move(live)};
  }
  push(time_ps, rank, What::kCall, which);
}

void Node::drop_call(std::uint32_t which) {
  calls_[which] = {};
  free_calls_.push_back(which);
}

void Node::drop_dead_calls() {
  while (!events_.empty() && events_.top().what == What::kCall) {
    const Planned& call = calls_[events_.top().which];
    if (!call.live || call.live()) return;
    drop_call(events_.top().which);
    events_.pop();
  }
}

void Node::push(Time_ps time_ps, std::uint64_t rank, What what, std::uint32_t which) {
  time_ps = std::max(time_ps, now_ps_);
  events_.push({time_ps, rank, next_order_++, what, which});
  if (stepping_) return;
  if (program_ == host::kNoProgram) {
    program_ = host_.start(*this, time_ps);
  } else {
    host_.wake(program_, time_ps);
  }
}

Time_ps Node::step(Time_ps now_ps) {
  stepping_ = true;
  now_ps_ = now_ps;
  while (!events_.empty() && events_.top().time_ps <= now_ps && !waiter_.is_ending()) {
    Event event = events_.top();
    events_.pop();
    run_event(event, now_ps);
  }
  drop_dead_calls();
  stepping_ = false;
  return events_.empty() || waiter_.is_ending() ? kNever_ps : events_.top().time_ps;
}

void Node::run_event(const Event& event, Time_ps now_ps) {
  switch (event.what) {
    case What::kCall: {
      const Planned call = std::move(calls_[event.which]);
      drop_call(event.which);
      if (!call.live || call.live()) call.what(now_ps);
      break;
    }
    case What::kPost:
      if (PostQueue* queue = queues_.find(event.which)) post_due(*queue, now_ps);
      break;
    case What::kDrain:
      if (CompletionRing* cq = cqs_.find(event.which)) drain(*cq, now_ps);
      break;
  }
}

Time_ps longest_turn_ps(const Thread& thread) {
  const std::chrono::nanoseconds real = std::chrono::steady_clock::now() - thread.turn_began;
  return std::min(kLongestTurn_ps, kShortestBound_ps + kMostVirtualPerReal * kNanosecond_ps * real.count());
}

void Node::begin_turn(Thread& thread, Time_ps now_ps) {
  thread.retry = nullptr;
  thread.lent = nullptr;
  thread.polls = false;
  thread.looks = thread.look;
  thread.look = false;
  thread.cancelled = false;
  thread.wakes_ps = kNever_ps;
  thread.awaited_signals = 0;
  ++thread.park;
  thread.process->settle_writes(now_ps);
  thread.local_ps = now_ps;
  thread.turn_began = std::chrono::steady_clock::now();
  thread.clock().local_ps.store(now_ps, std::memory_order_release);
  thread.clock().freed.store(verbs::kNotFreed, std::memory_order_release);
}

bool Node::reply(Thread& thread, const Reply& reply, Time_ps now_ps) {
  if (!thread.owes_ack && fill_slot(thread.clock().reply, reply, now_ps)) return true;
  if (!thread.connection.send(reply, now_ps)) return false;
  return !std::exchange(thread.owes_ack, false) || thread.connection.send(Reply::failed(verbs::kCancelDone), now_ps);
}

void Node::resume(const std::shared_ptr<Thread>& thread, const Reply& reply, Time_ps now_ps) {
  begin_turn(*thread, now_ps);
  // Others that it may wake by a semaphore or a condition find the time that it is.
  for (const auto& other : thread->process->threads) {
    if (other->state != ThreadState::kOutside || other->local_ps >= now_ps) continue;
    other->local_ps = now_ps;
    other->clock().local_ps.store(now_ps, std::memory_order_release);
  }
  std::vector<std::shared_ptr<Thread>> freed = free_pollers(*thread, now_ps);
  if (!Node::reply(*thread, reply, now_ps)) {
    waiter_.thread_ended(thread, now_ps);
  } else {
    run(thread, now_ps);
  }
  for (const auto& each : freed) {
    each->clock().freed.store(verbs::kMayPark, std::memory_order_release);
    run(each, now_ps);
  }
}

// A thread that is notified, cannot take the event and waits again immediately needs what another one holds: UCX polls
// inside of a lock that its asynchronous thread tries to get. A poll must not keep it, so those that poll go on, in
// real time and beside this thread, until it has had its turn.
std::vector<std::shared_ptr<Thread>> Node::free_pollers(const Thread& thread, Time_ps now_ps) {
  std::vector<std::shared_ptr<Thread>> freed;
  if (thread.spurious_wakeups < kSpuriousWakeups) return freed;
  for (const auto& each : thread.process->threads) {
    if (each.get() == &thread || each->state != ThreadState::kParked || !each->polls || !each->retry) continue;
    begin_turn(*each, now_ps);
    each->looks = true;
    each->state = ThreadState::kRunning;
    each->clock().freed.store(verbs::kMayNotPark, std::memory_order_release);
    if (reply(*each, Reply{}, now_ps)) freed.push_back(each);
  }
  return freed;
}

void Node::run(const std::shared_ptr<Thread>& thread, Time_ps now_ps) {
  thread->state = ThreadState::kRunning;
  Request request;
  switch (waiter_.wait_for(*thread, request)) {
    case ThreadWaiter::Outcome::kAsked:
      take_request(thread, std::move(request), now_ps);
      break;
    case ThreadWaiter::Outcome::kGone:
      take_posts(*thread->process, now_ps, kNever_ps);
      waiter_.wait_for_end(*thread);
      waiter_.thread_ended(thread, now_ps);
      break;
    case ThreadWaiter::Outcome::kSpins:
      thread->state = ThreadState::kSpinning;
      take_posts(*thread->process, now_ps, kNever_ps);
      // A value that it spins for may have been written already, and only not be visible yet.
      if (!thread->process->writes.empty())
        at(thread->process->writes.first_ps(), thread->rank,
           [this, thread](Time_ps then_ps) { let_spin(thread, then_ps); });
      break;
    case ThreadWaiter::Outcome::kRuns:
      break;
    case ThreadWaiter::Outcome::kOutside:
      thread->state = ThreadState::kOutside;
      take_posts(*thread->process, now_ps, kNever_ps);
      settle_when_visible(*thread->process);
      break;
  }
  const Time_ps then_ps = std::max(now_ps, thread->local_ps);
  run_woken(*thread->process, then_ps);
  // Wake-ups come by a pipe, or by its end; in processes of one group also by semaphores in shared memory.
  for (std::size_t i = 0; i < processes.size(); ++i) {
    std::shared_ptr<Process> other = processes[i];
    if (other == thread->process) continue;
    if (other->group == thread->process->group || are_related(*thread->process, *other)) run_woken(*other, then_ps);
  }
  poll_watched(then_ps);
}

// Threads that slept in the kernel and that another has woken run before time goes on.
void Node::run_woken(Process& process, Time_ps now_ps) {
  const bool many = process.threads.size() > kMostLookedAt;
  for (std::size_t i = 0; i < process.threads.size() && !process.gone; ++i) {
    std::shared_ptr<Thread> thread = process.threads[i];
    if (thread->state != ThreadState::kOutside || (many && !thread->called)) continue;
    if (waiter_.is_awake(*thread)) run(thread, now_ps);
  }
}

void Node::take_request(const std::shared_ptr<Thread>& thread, Request request, Time_ps not_before_ps) {
  thread->state = ThreadState::kParked;
  thread->called = true;
  Time_ps from_ps = std::max(thread->local_ps, not_before_ps);
  Time_ps asked_ps = std::clamp<Time_ps>(request.local_ps, from_ps, from_ps + longest_turn_ps(*thread));
  const bool looks_again = request.op == verbs::Op::kPoll || request.op == verbs::Op::kYieldUntil;
  bool idle = thread->looks && looks_again && !thread->process->has_posts();
  take_posts(*thread->process, from_ps, asked_ps);
  thread->local_ps = asked_ps;
  if (request.op != verbs::Op::kWait) {
    thread->spurious_wakeups = 0;
    thread->notified = false;
  }
  // It polls for its completion and then spins for the answer; after any other call it is doing something else.
  if (request.op != verbs::Op::kPoll) thread->posted = false;
  thread->look_pause = idle ? thread->look_pause : std::chrono::milliseconds{};
  // A poll that found nothing is no news, or two of them would keep each other awake.
  if (!idle) {
    wake_pollers(*thread->process, thread.get(), asked_ps);
    wake_relatives(*thread->process, asked_ps);
  }
  at(asked_ps, thread->rank, [this, thread, request = std::move(request)](Time_ps now_ps) {
    if (!thread->process->gone) waiter_.execute(thread, request, now_ps);
  });
}

void Node::cancel(const std::shared_ptr<Thread>& thread, Time_ps now_ps) {
  thread->cancelled = true;
  thread->owes_ack = true;
  interrupt(thread, now_ps);
}

void Node::interrupt(const std::shared_ptr<Thread>& thread, Time_ps now_ps) {
  if (thread->state != ThreadState::kParked || !thread->retry) {
    thread->interrupted = thread->interrupted || !thread->cancelled;
    return;
  }
  at(now_ps, thread->rank, [this, thread, park = thread->park](Time_ps then_ps) {
    if (thread->park != park || !thread->retry || thread->process->gone) return;
    if (thread->delayed) {
      thread->retry(then_ps);
    } else {
      resume(thread, Reply::failed(EINTR), then_ps);
    }
  });
}

void Node::run_handler(const std::shared_ptr<Thread>& thread, Time_ps now_ps) {
  if (thread->state != ThreadState::kParked) {
    thread->local_ps = std::max(thread->local_ps, now_ps);
    thread->clock().local_ps.store(thread->local_ps, std::memory_order_release);
    run(thread, now_ps);
    return;
  }
  Request request;
  switch (waiter_.wait_for(*thread, request)) {
    case ThreadWaiter::Outcome::kAsked:
      if (request.op == verbs::Op::kCancel) {
        cancel(thread, now_ps);
      } else {
        waiter_.thread_ended(thread, now_ps);
      }
      break;
    case ThreadWaiter::Outcome::kGone:
      waiter_.wait_for_end(*thread);
      waiter_.thread_ended(thread, now_ps);
      run_woken(*thread->process, now_ps);
      break;
    default:
      break;  // the signal was not for it, or the program has its own way with the kernel
  }
}

void Node::note_write(Process& process, std::uint64_t address, std::span<const std::uint8_t> bytes,
                      Time_ps visible_ps) {
  process.writes.add(address, bytes, host_.device(0).payload_pool(), visible_ps);
  note_write(process);
}

void Node::note_write(Process& process, const PendingWrite& write, nic::PayloadPool& pool) {
  process.writes.add(write, pool);
  note_write(process);
}

void Node::note_write(Process& process) {
  if (process.writes.are_many()) process.settle_writes(process.wall_clock ? kNever_ps : host_.last_event_ps());
  // In wall-clock mode a program may look at any time: before the completion, at the end of the slice at the latest.
  if (process.wall_clock) return;
  if (process.writes.empty()) return;
  const Time_ps visible_ps = process.writes.last_ps();
  if (process.has_thread_outside()) settle_when_visible(process);
  for (const auto& thread : process.threads) {
    if (thread->state == ThreadState::kSpinning)
      at(visible_ps, thread->rank, [this, thread](Time_ps now_ps) { let_spin(thread, now_ps); });
  }
}

// A thread that sleeps in the kernel may be woken by another process, of which the world learns nothing: what it could
// see by then is there.
void Node::settle_when_visible(Process& process) {
  if (process.settles || process.writes.empty() || process.wall_clock) return;
  process.settles = true;
  at(process.writes.first_ps(), 0, [this, owner = process.weak_from_this()](Time_ps now_ps) {
    const std::shared_ptr<Process> settled = owner.lock();
    if (settled == nullptr || settled->gone) return;
    settled->settles = false;
    settled->settle_writes(now_ps);
    if (settled->has_thread_outside()) settle_when_visible(*settled);
  });
}

// Its memory has changed: if that is what it spins for, it goes on.
void Node::let_spin(const std::shared_ptr<Thread>& thread, Time_ps now_ps) {
  if (thread->state != ThreadState::kSpinning || thread->process->gone) return;
  thread->has_spun = true;
  thread->let_go = true;
  thread->posted = false;
  thread->local_ps = std::max(thread->local_ps, now_ps + host_.model().poll_hit_ps);
  thread->clock().local_ps.store(thread->local_ps, std::memory_order_release);
  thread->process->settle_writes(now_ps);
  run(thread, thread->local_ps);
}

void Node::let_look(const std::shared_ptr<Thread>& thread, Time_ps at_ps) {
  at(at_ps, thread->rank, [thread, park = thread->park](Time_ps now_ps) {
    if (thread->park != park || !thread->retry || thread->process->gone) return;
    thread->look = true;
    thread->retry(now_ps);
  });
}

void Node::watch(const std::shared_ptr<Thread>& thread, const verbs::WaitForChange& ask) {
  watched_.push_back({thread, thread->park, ask});
}

bool Node::has_changed(const Process& process, const verbs::WaitForChange& ask) const {
  if (ask.size_B == 0) return signals[ask.address] != ask.signals;
  std::uint8_t now[verbs::kMaxWatched_B];
  return !process.read(ask.address, {now, ask.size_B}) || std::memcmp(now, ask.before, ask.size_B) != 0;
}

void Node::poll_watched(Time_ps now_ps) {
  std::erase_if(watched_, [&](const Watch& each) {
    if (each.thread->park != each.park || each.thread->process->gone) return true;
    if (!has_changed(*each.thread->process, each.ask)) return false;
    let_look(each.thread, now_ps);
    return true;
  });
}

void Node::wake_pollers(Process& process, const Thread* except, Time_ps at_ps) {
  for (const auto& thread : process.threads) {
    if (thread.get() != except && thread->state == ThreadState::kParked && thread->polls) let_look(thread, at_ps);
  }
}

void Node::count_relatives(Process& process) {
  for (const auto& other : processes) {
    if (!are_related(process, *other)) continue;
    ++process.relatives;
    ++other->relatives;
  }
}

void Node::wake_relatives(const Process& process, Time_ps at_ps) {
  if (process.relatives == 0) return;
  for (const auto& other : processes) {
    if (are_related(process, *other)) wake_pollers(*other, nullptr, at_ps);
  }
}

void Node::tell(Process& process, Time_ps now_ps) {
  for (const auto& thread : process.threads) thread->looks_at_rest = 0;
  retry_waits(process, now_ps);
  wake_pollers(process, nullptr, now_ps);
}

void Node::retry_waits(Process& process, Time_ps now_ps) {
  for (std::size_t i = 0; i < process.threads.size(); ++i) {
    std::shared_ptr<Thread> thread = process.threads[i];
    if (thread->state != ThreadState::kParked || !thread->retry || thread->retried_park == thread->park) continue;
    // Not from here: it runs the thread, which may make and end others.
    std::uint64_t park = thread->park;
    thread->retried_park = park;
    at(now_ps, thread->rank, [thread, park](Time_ps then_ps) {
      thread->retried_park = ~0ULL;
      if (thread->park == park && thread->retry && !thread->process->gone) thread->retry(then_ps);
    });
  }
}

void Node::watch(CompletionRing& cq) {
  cq.id = cqs_.add(cq);
  host_.device(cq.device).cq(cq.nic_cq).tag = cq.id;
  drain(cq, now_ps_);
}

void Node::unwatch(const CompletionRing& cq) {
  cqs_.remove(cq.id);
}

}  // namespace weft::live
