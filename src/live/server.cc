#include "live/server.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "live/os/descriptor_limit.h"
#include "live/os/kernel_thread.h"
#include "live/os/process_end.h"
#include "observe/capture.h"

namespace weft::live {

namespace {

constexpr Time_ps kSlice_ps = ms(1);  // of virtual time between two looks at the sockets
// CPU time without a call after which a thread is taken for spinning: much more than a program computes between two
// calls. Less for one that has spun before and has posted something since it was let go: it waits for the answer.
constexpr std::int64_t kSpinBudget_ns = 100'000'000;
constexpr std::int64_t kShortSpinBudget_ns = 500'000;
// Likewise for one that has gone on to spin after deliveries, half as much after each: it waits for the last packet of
// a long WRITE, or for the last of many.
constexpr int kMostVainDeliveries = 8;
// A thread whose clock moves reads it, in a loop that ends by it (perftest measures the counter's frequency for 200
// ms). That costs CPU time but is no spinning; within these limits of its clock and of CPU time.
constexpr Time_ps kClockLoop_ps = kSecond_ps;
constexpr std::int64_t kClockLoopBudget_ns = 10'000'000'000;
// How long a client waits for its server to listen: a server that has just been started gets there within this, also
// on a busy machine.
constexpr std::chrono::milliseconds kListenerPatience{2'000};
constexpr int kListenerLook_ms = 20;
// How long a thread looks for its reply before it sleeps: programs that move large messages get theirs within this.
constexpr std::chrono::microseconds kReplyLook{100};
// Turns after which the world asks whether others want its CPU, how often they have had it then, and for how many turns
// it does without looking. A thread that was woken takes the CPU, too: so only turns with looking count.
constexpr unsigned kCrowdTurns = 512, kCrowdPause = 2048;
constexpr std::int64_t kCrowdSwitches = 3;
constexpr unsigned kStatusTurns = 1024;  // of programs, after which `weft ps` is answered
constexpr int kOutsideLooks = 5;         // looks, a millisecond apart, that find it asleep in the kernel

}  // namespace

Server::Server(lab::Session& session, int listener, verbs::Clock clock, std::vector<OutsideLine> outside)
    : session_(&session),
      world_(session.world()),
      listener_(listener),
      outside_(std::move(outside)),
      network_(world_, addresses_, nodes_) {
  if (clock == verbs::Clock::kWall) wall_.emplace(listener);
  for (OutsideLine& line : outside_) {
    wall_->watch(line.fd());
    world_.outside(line.host())->set_sink({&line, OutsideLine::send});
  }
  add_nodes();
  world_.watch_links([this](std::size_t link, bool up, Time_ps now_ps) {
    show_link(link, now_ps);
    trace_.link(link, up, now_ps);
  });
  network_.set_patience(kListenerPatience);
  for (const auto& manager : managers_) manager->set_patience(kListenerPatience);
}

Server::Server(lab::World& world, int listener)
    : world_(world), listener_(listener), network_(world_, addresses_, nodes_) {
  add_nodes();
}

void Server::add_nodes() {
  raise_descriptor_limit();
  for (std::uint32_t i = 0; i < world_.lab().hosts.size(); ++i) {
    world_.host(i).set_hooks({this, on_async, on_write, make_grh});
    nodes_.push_back(std::make_unique<Node>(*this, world_.host(i), i));
    services_.push_back(std::make_unique<VerbsService>(world_, addresses_, *nodes_.back(), i));
    managers_.push_back(std::make_unique<CommunicationManager>(world_, *nodes_.back(), *services_.back()));
    views_.push_back(std::make_unique<NodeView>(world_, *nodes_.back(), *services_.back(), i,
                                                wall_ ? verbs::Clock::kWall : verbs::Clock::kVirtual));
  }
}

Server::~Server() {
  for (const auto& thread : threads_) thread->process->threads.clear();  // they hold each other
  for (int fd : pending_clients_) close(fd);
  close(listener_);
}

std::vector<verbs::DeviceInfo> Server::devices_of(std::uint32_t host) {
  std::vector<verbs::DeviceInfo> devices;
  for (std::uint32_t i = 0; i < world_.host(host).device_count(); ++i) devices.push_back(services_[host]->describe(i));
  return devices;
}

void Server::set_sysfs(const std::function<std::string(std::uint32_t host)>& of) {
  for (std::uint32_t i = 0; i < world_.lab().hosts.size(); ++i) {
    if (!world_.lab().hosts[i].outside) views_[i]->set_folder(of(i));
  }
}

void Server::show_node(const std::string& name) {
  for (std::uint32_t i = 0; i < world_.lab().hosts.size(); ++i) {
    if (world_.lab().hosts[i].name == name) views_[i]->show(arrival_ps());
  }
}

void Server::run(const std::atomic<bool>& stop) {
  set_stop(stop);
  if (wall_) {
    run_wall(stop);
  } else {
    run_virtual(stop);
  }
}

void Server::run_virtual(const std::atomic<bool>& stop) {
  while (!down_ && !stop.load(std::memory_order_relaxed)) {
    Time_ps next_ps = world_.engine().next_wake_ps();
    // A leap of the clock would end the time-outs of those that wait for a listener. Not one to where a program starts.
    if (wait_for_listeners() && starting_ == 0 && next_ps != kNever_ps &&
        next_ps - world_.engine().horizon_ps() >= kLeap_ps) {
      poll_clients(kListenerLook_ms);
      continue;
    }
    if (next_ps != kNever_ps ? wait_before_leap(next_ps - world_.engine().horizon_ps()) : let_pollers_look(kNever_ps))
      continue;
    const Time_ps until_ps = next_ps == kNever_ps ? kNever_ps : next_ps + kSlice_ps;
    if (session_->advance_until(until_ps) == lab::SessionState::kCancelled) return;
    if (next_ps == kNever_ps) take_stray_posts();
    if (control_) control_->poll();
    poll_clients(next_ps == kNever_ps ? 100 : 0);
  }
}

bool Server::wait_for_listeners() {
  bool any = network_.refuse_late(arrival_ps());
  for (const auto& manager : managers_) any = manager->reject_late(arrival_ps()) || any;
  return any;
}

// A thread that comes from a sleep in the kernel and goes back to one may have posted in between, without a call.
void Server::take_stray_posts() {
  for (const auto& thread : threads_) {
    Process& process = *thread->process;
    if (thread->state == ThreadState::kOutside && process.has_posts())
      process.node->take_posts(process, world_.engine().horizon_ps(), kNever_ps);
  }
}

// Before a leap of the clock, whoever waits for a descriptor of the kernel's gets a twentieth of it in real time, all
// of it also where others are looked at in between: a reply from outside that takes a millisecond must not cost the
// program hours, and mpirun sleeps for some before it answers a rank that ends.
bool Server::wait_before_leap(Time_ps leap_ps) {
  if (wait_for_children(leap_ps) || let_pollers_look(leap_ps)) return true;
  bool any = std::any_of(threads_.begin(), threads_.end(), [](const auto& thread) { return thread->lent != nullptr; });
  if (!any || leap_ps < kLeap_ps) return false;
  const auto patience_ms = std::clamp<Time_ps>(leap_ps / ms(20), 1, 100);
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(patience_ms);
  const Time_ps next_ps = world_.engine().next_wake_ps();
  do {
    if (poll_clients(static_cast<int>(patience_ms)) || world_.engine().next_wake_ps() < next_ps) return true;
  } while (std::chrono::steady_clock::now() < until);
  return false;
}

bool Server::poll_clients(int timeout_ms) {
  std::vector<pollfd> fds{{listener_, POLLIN, 0}};
  for (int fd : pending_clients_) fds.push_back({fd, POLLIN, 0});
  for (int fd : control_ ? control_->fds() : std::vector<int>()) fds.push_back({fd, POLLIN, 0});
  std::size_t first_thread = fds.size();
  std::vector<std::shared_ptr<Thread>> threads = threads_;
  for (const auto& thread : threads) fds.push_back({thread->connection.fd(), POLLIN, 0});
  for (const auto& thread : threads) {
    for (std::size_t i = 0; thread->lent && i < thread->lent->fds.size(); ++i)
      fds.push_back({thread->lent->fds[i], thread->lent_events[i], 0});
  }
  network_.add_abandoned(fds);
  const int came = poll(fds.data(), fds.size(), look_soon(timeout_ms));
  poll_waiting_threads();
  Time_ps now_ps = world_.engine().horizon_ps();
  for (const auto& node : nodes_) node->poll_watched(now_ps);
  if (came <= 0) return false;
  network_.end_abandoned(now_ps);
  poll_passed_fds(nullptr, now_ps);
  for (std::size_t i = 0; i < threads.size(); ++i) {
    if (fds[first_thread + i].revents != 0) serve(threads[i], now_ps);
  }
  accept_clients();
  handle_hellos();
  return true;
}

void Server::poll_passed_fds(const Node* node, Time_ps now_ps) {
  std::vector<pollfd> fds;
  std::vector<std::shared_ptr<Thread>> owners;
  for (const auto& thread : threads_) {
    if (!thread->lent || (node != nullptr && thread->process->node != node)) continue;
    for (std::size_t i = 0; i < thread->lent->fds.size(); ++i) {
      fds.push_back({thread->lent->fds[i], thread->lent_events[i], 0});
      owners.push_back(thread);
    }
  }
  if (fds.empty() || poll(fds.data(), fds.size(), 0) <= 0) return;
  for (std::size_t i = 0; i < fds.size(); ++i) {
    if (fds[i].revents == 0 || !owners[i]->lent) continue;
    owners[i]->lent = nullptr;  // it is told once
    owners[i]->process->node->let_look(owners[i], now_ps);
  }
}

void Server::serve(const std::shared_ptr<Thread>& thread, Time_ps now_ps) {
  if (thread->tid == 0) {
    meet_announced(thread, now_ps);
    return;
  }
  Request request;
  switch (thread->connection.receive(request)) {
    case Connection::Got::kRequest:
      if (thread->state == ThreadState::kParked && request.op == verbs::Op::kCancel) {
        thread->process->node->cancel(thread, now_ps);
        break;
      }
      thread->process->executes = false;  // it could not
      // Protocol error: the thread is already blocked in a call.
      if (thread->state == ThreadState::kParked) {
        thread_ended(thread, now_ps);
        break;
      }
      // Where the world has not moved meanwhile, it was only a long computation.
      if (thread->state == ThreadState::kSpinning && thread->left_at_ps != now_ps) determinism_ = Determinism::kSpun;
      // It was woken by another thread, and nobody looked for it.
      if (!wall_ && !thread->called && thread->state == ThreadState::kOutside && thread->left_at_ps != now_ps)
        determinism_ = Determinism::kThreadOrder;
      if (wall_) wall_->translate(request, now_ps);
      thread->process->node->take_request(thread, std::move(request), now_ps);
      break;
    case Connection::Got::kEnd:
      if (!wall_) {
        await_end(*thread->process);
        let_filters_run(*thread->process->node);
      }
      thread_ended(thread, now_ps);
      if (!wall_) poll_passed_fds(nullptr, now_ps);
      break;
    case Connection::Got::kNothing:
      break;
  }
}

Time_ps Server::arrival_ps() const {
  const Time_ps changed_ps = session_ != nullptr ? session_->changed_ps() : 0;
  return std::max({world_.engine().horizon_ps(), wall_ ? wall_->reached_ps : 0, changed_ps});
}

ThreadWaiter::Outcome Server::wait_for(Thread& thread, Request& request) {
  if (wall_) return Outcome::kRuns;
  Outcome outcome = wait_for_request(thread, request);
  if (outcome == Outcome::kAsked) thread.process->executes = false;
  if (outcome == Outcome::kGone) {
    await_end(*thread.process);
    let_filters_run(*thread.process->node);
  }
  // It may have written into a pipe that another waits for.
  Time_ps now_ps = std::max(thread.process->node->now_ps(), thread.local_ps);
  if (outcome == Outcome::kAsked) now_ps = std::max(now_ps, request.local_ps);
  poll_passed_fds(thread.process->node, now_ps);
  if (outcome == Outcome::kOutside) tell_tracer(thread, now_ps);
  return outcome;
}

bool Server::is_awake(const Thread& thread) {
  pollfd fd{thread.connection.fd(), POLLIN, 0};
  return poll(&fd, 1, 0) > 0 || kernel_state(thread.process->pid, thread.tid) == 'R';
}

// Whoever looks for a turn takes a CPU from those that have something to do.
bool Server::is_crowded() {
  if (++turns_ < (crowded_ ? kCrowdPause : kCrowdTurns)) return crowded_;
  const std::int64_t switches = involuntary_switches();
  crowded_ = !crowded_ && switches - switches_ >= kCrowdSwitches;
  switches_ = switches;
  turns_ = 0;
  return crowded_;
}

ThreadWaiter::Outcome Server::wait_for_request(Thread& thread, Request& request) {
  if (++turns_since_status_ == kStatusTurns) {
    turns_since_status_ = 0;
    answer_status();
  }
  const Outcome outcome = watch_for_request(thread, request);
  const bool acts = outcome != Outcome::kSpins || thread.process->has_posts();
  if (std::exchange(thread.let_go, false))
    thread.vain_deliveries = std::clamp(thread.vain_deliveries + (acts ? -1 : 1), 0, kMostVainDeliveries);
  return outcome;
}

ThreadWaiter::Outcome Server::watch_for_request(Thread& thread, Request& request) {
  // Threads of one process may run beside each other, and then the machine has a say in who gets how far: those keep to
  // the kernel, where a thread that waits sleeps.
  if (thread.process->threads.size() == 1 && !is_crowded() && thread.patience.may_look()) {
    static const std::uint32_t looks = looks_in(kReplyLook);
    thread.clock().looks.store(looks, std::memory_order_relaxed);
    const bool came = wait_for_slot(thread.clock().request, request);
    thread.patience.looked(came);
    if (came) return Outcome::kAsked;
  }
  const int pid = thread.process->pid;
  const timespec patience{0, thread.has_spun ? 100'000 : 1'000'000};
  // A look counts for no more than this: on a machine that is itself a guest, CPU time includes what its host took
  // away.
  const std::int64_t longest_look_ns = patience.tv_nsec * 3 / 2;
  std::int64_t first_ns = -1, last_ns = 0, spun_ns = 0;
  Time_ps clock_ps = thread.local_ps;
  int asleep = 0;
  for (;;) {
    pollfd fd{thread.connection.fd(), POLLIN, 0};
    if (ppoll(&fd, 1, &patience, nullptr) > 0) {
      switch (thread.connection.receive(request)) {
        case Connection::Got::kRequest:
          return Outcome::kAsked;
        case Connection::Got::kEnd:
          return Outcome::kGone;
        case Connection::Got::kNothing:
          continue;
      }
    }
    answer_status();
    const std::int64_t used_ns = cpu_ns(pid);
    if (first_ns < 0) {
      first_ns = last_ns = used_ns;
      continue;
    }
    spun_ns += std::min(used_ns - last_ns, longest_look_ns);
    last_ns = used_ns;
    const Time_ps moved_ps = thread.clock().local_ps.load(std::memory_order_relaxed);
    if (moved_ps > clock_ps && moved_ps < thread.local_ps + kClockLoop_ps && used_ns - first_ns < kClockLoopBudget_ns) {
      clock_ps = moved_ps;
      spun_ns = 0;
      continue;
    }
    bool answered = thread.has_spun && (thread.posted || thread.process->has_posts());
    const std::int64_t budget_ns =
        answered ? kShortSpinBudget_ns : std::max(kSpinBudget_ns >> thread.vain_deliveries, kShortSpinBudget_ns);
    if (spun_ns > budget_ns * machine_slowdown()) {
      thread.left_at_ps = world_.engine().horizon_ps();
      return Outcome::kSpins;
    }
    char state = kernel_state(pid, thread.tid);
    if (state == 0) return Outcome::kGone;
    // The disk that a program is loaded from ends its sleep by itself.
    const bool loads = state == 'D' && thread.process->executes;
    asleep = (state == 'S' || state == 'D' || state == 'T' || state == 't') && !loads ? asleep + 1 : 0;
    if (asleep >= kOutsideLooks * machine_slowdown()) return Outcome::kOutside;
  }
}

void Server::thread_ended(const std::shared_ptr<Thread>& thread, Time_ps now_ps) {
  if (wall_) wall_->unwatch(thread->connection.fd());
  std::erase(threads_, thread);
  std::erase(thread->process->threads, thread);
  thread->state = ThreadState::kOutside;
  thread->retry = nullptr;
  ++thread->park;
  if (const std::uint32_t cpu = std::exchange(thread->cpu, host::kNoCpu); cpu != host::kNoCpu)
    thread->process->node->host().cpus().release(cpu);
  if (thread->process->threads.empty()) {
    end_process(thread->process, now_ps);
  } else {
    thread->process->node->wake_pollers(*thread->process, nullptr, now_ps);
  }
  // The node plans anew: time does not go on for what the thread waited for.
  thread->process->node->at(now_ps, 0, [](Time_ps) {});
}

void Server::end_process(const std::shared_ptr<Process>& process, Time_ps now_ps) {
  if (process->gone) return;
  process->gone = true;
  trace_.process(*process, "process_end", now_ps);
  process->doorbell.reset();
  process->doorbell_given.reset();
  // The driver of a world asks for it (program_session.cc); a world that is up for long has many.
  if (session_ == nullptr) ended_ps_[process->group] = now_ps;
  network_.forget(*process, now_ps);
  icmp_.forget(*process);
  managers_[process->node->index()]->forget(*process, now_ps);
  services_[process->node->index()]->forget(*process);
  std::erase(process->node->processes, process);
  process->node->wake_relatives(*process, now_ps);
  tell_parent(*process, now_ps);
}

}  // namespace weft::live
