#include "live/server.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <ctime>

#include "live/sysfs.h"
#include "observe/capture.h"

namespace weft::live {

namespace {

constexpr Time_ps kLeap_ps = ms(1);   // of the clock: more than a fabric at work lets pass between two events
constexpr Time_ps kSlice_ps = ms(1);  // of virtual time between two looks at the sockets
// CPU time without a call after which a thread is taken for spinning: much more than a program computes between two
// calls. Less for one that has spun before and has posted something since it was let go: it waits for the answer.
constexpr std::int64_t kSpinBudget_ns = 100'000'000;
constexpr std::int64_t kShortSpinBudget_ns = 500'000;
// A thread whose clock moves reads it, in a loop that ends by it (perftest measures the counter's frequency for 200
// ms). That costs CPU time but is no spinning; within these limits of its clock and of CPU time.
constexpr Time_ps kClockLoop_ps = kSecond_ps;
constexpr std::int64_t kClockLoopBudget_ns = 10'000'000'000;
constexpr Time_ps kClockRead_ps = ns(20);  // a vDSO call; estimate
// How long a client waits for its server to listen: a server that has just been started gets there within this, also
// on a busy machine.
constexpr std::chrono::milliseconds kListenerPatience{10'000};
constexpr int kListenerLook_ms = 20;
constexpr int kOutsideLooks = 5;  // looks, a millisecond apart, that find it asleep in the kernel

std::int64_t cpu_ns(int pid) {
  clockid_t clock;
  timespec time{};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

// 'R', 'S', …; 0 when it is gone.
char kernel_state(int pid, int tid) {
  char path[64];
  std::snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
  FILE* file = std::fopen(path, "re");
  if (file == nullptr) return 0;
  char text[512];
  std::size_t size = std::fread(text, 1, sizeof(text) - 1, file);
  std::fclose(file);
  text[size] = 0;
  // The name is in brackets and may hold anything.
  const char* bracket = std::string_view(text, size).rfind(')') == std::string_view::npos
                            ? nullptr
                            : text + std::string_view(text, size).rfind(')');
  return bracket != nullptr && bracket + 2 < text + size ? bracket[2] : 0;
}

std::string executable(int pid) {
  char path[64], target[PATH_MAX];
  std::snprintf(path, sizeof(path), "/proc/%d/exe", pid);
  ssize_t size = readlink(path, target, sizeof(target));
  if (size <= 0) return "?";
  std::string name(target, static_cast<std::size_t>(size));
  return name.substr(name.rfind('/') + 1);
}

}  // namespace

Server::Server(const lab::Lab& lab, int listener, verbs::Clock clock, std::vector<OutsideLine> outside)
    : own_world_(std::make_unique<lab::World>(
          lab, lab::WorldOptions{.domains = 1, .window_divisor = 1, .carry_payload = true})),
      world_(*own_world_),
      listener_(listener),
      outside_(std::move(outside)),
      network_(world_, nodes_) {
  if (clock == verbs::Clock::kWall) wall_.emplace(listener);
  for (OutsideLine& line : outside_) {
    wall_->watch(line.fd());
    world_.outside(line.host())->set_sink({&line, OutsideLine::send});
  }
  add_nodes();
  network_.set_patience(kListenerPatience);
  for (const auto& manager : managers_) manager->set_patience(kListenerPatience);
}

Server::Server(lab::World& world, int listener) : world_(world), listener_(listener), network_(world_, nodes_) {
  add_nodes();
}

void Server::add_nodes() {
  for (std::uint32_t i = 0; i < world_.lab().hosts.size(); ++i) {
    world_.host(i).set_hooks({this, on_async, on_write, make_grh});
    nodes_.push_back(std::make_unique<Node>(*this, world_.host(i), i));
    services_.push_back(std::make_unique<VerbsService>(world_, *nodes_.back(), i));
    managers_.push_back(std::make_unique<CommunicationManager>(world_, *nodes_.back(), *services_.back()));
  }
}

Server::~Server() {
  for (int fd : newcomers_) close(fd);
  close(listener_);
}

std::vector<verbs::DeviceInfo> Server::devices_of(std::uint32_t host) {
  std::vector<verbs::DeviceInfo> devices;
  for (std::uint32_t i = 0; i < world_.host(host).device_count(); ++i) devices.push_back(services_[host]->describe(i));
  return devices;
}

void Server::set_sysfs(std::function<std::string(std::uint32_t host)> of) {
  sysfs_ = std::move(of);
  for (std::uint32_t i = 0; i < world_.lab().hosts.size(); ++i) {
    if (world_.lab().hosts[i].outside) continue;
    write_sysfs(sysfs_(i), devices_of(i), world_.lab().hosts[i].name);
    write_counters(sysfs_(i), world_.host(i));
  }
}

void Server::run(const std::atomic<bool>& stop) {
  if (wall_) {
    run_wall(stop);
  } else {
    run_virtual(stop);
  }
}

void Server::run_virtual(const std::atomic<bool>& stop) {
  while (!down_ && !stop.load(std::memory_order_relaxed)) {
    Time_ps next_ps = world_.engine().next_wake_ps();
    // A leap of the clock would end the time-outs of those that wait for a listener.
    if (wait_for_listeners() && next_ps != kNever_ps && next_ps - world_.engine().horizon_ps() >= kLeap_ps) {
      look_around(kListenerLook_ms);
      continue;
    }
    if (next_ps != kNever_ps && look_outside(next_ps - world_.engine().horizon_ps())) continue;
    if (next_ps != kNever_ps) world_.engine().run(next_ps + kSlice_ps, 1, nullptr, observer_);
    if (observer_) observer_(next_ps == kNever_ps ? kNever_ps : world_.engine().now_ps());
    if (next_ps == kNever_ps) take_stray_posts();
    look_around(next_ps == kNever_ps ? 100 : 0);
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

// Before a leap of the clock, whoever waits for a descriptor of the kernel's gets a hundredth of it in real time: a
// reply from outside that takes a millisecond must not cost the program hours.
bool Server::look_outside(Time_ps leap_ps) {
  bool any = std::any_of(threads_.begin(), threads_.end(), [](const auto& thread) { return thread->lent != nullptr; });
  if (!any || leap_ps < kLeap_ps) return false;
  auto patience_ms = static_cast<int>(std::min<Time_ps>(leap_ps / ms(100), 10));
  return look_around(std::max(patience_ms, 1));
}

bool Server::look_around(int timeout_ms) {
  std::vector<pollfd> fds{{listener_, POLLIN, 0}};
  for (int fd : newcomers_) fds.push_back({fd, POLLIN, 0});
  std::size_t first_thread = fds.size();
  std::vector<std::shared_ptr<Thread>> threads = threads_;
  for (const auto& thread : threads) fds.push_back({thread->connection.fd(), POLLIN, 0});
  for (const auto& thread : threads) {
    for (std::size_t i = 0; thread->lent && i < thread->lent->fds.size(); ++i)
      fds.push_back({thread->lent->fds[i], thread->lent_events[i], 0});
  }
  if (poll(fds.data(), fds.size(), timeout_ms) <= 0) return false;
  Time_ps now_ps = world_.engine().horizon_ps();
  look_at_lent(nullptr, now_ps);
  for (std::size_t i = 0; i < threads.size(); ++i) {
    if (fds[first_thread + i].revents != 0) serve(threads[i], now_ps);
  }
  accept_newcomers();
  greet_newcomers();
  return true;
}

void Server::look_at_lent(const Node* node, Time_ps now_ps) {
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
  Request request;
  switch (thread->connection.receive(request)) {
    case Connection::Got::kRequest:
      // One that waits has no business to ask.
      if (thread->state == ThreadState::kParked) {
        thread_ended(thread, now_ps);
        break;
      }
      // Where the world has not moved meanwhile, it was only a long computation.
      if (thread->state == ThreadState::kSpinning && thread->left_at_ps != now_ps) deterministic_ = false;
      if (wall_) wall_->translate(request, now_ps);
      thread->process->node->take_request(thread, std::move(request), now_ps);
      break;
    case Connection::Got::kEnd:
      thread_ended(thread, now_ps);
      break;
    case Connection::Got::kNothing:
      break;
  }
}

Time_ps Server::arrival_ps() const {
  return std::max(world_.engine().horizon_ps(), wall_ ? wall_->reached_ps : 0);
}

void Server::accept_newcomers() {
  for (;;) {
    int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return;
    // Replies are sent when the program waits for them: they find room.
    newcomers_.push_back(fd);
    if (wall_) wall_->watch(fd);
  }
}

void Server::greet_newcomers() {
  std::vector<int> waiting;
  for (int fd : newcomers_) {
    auto connection = std::make_unique<Connection>(dup(fd));
    Request request;
    switch (connection->receive(request)) {
      case Connection::Got::kNothing:
        waiting.push_back(fd);
        break;
      case Connection::Got::kEnd:
        close(fd);
        break;
      case Connection::Got::kRequest:
        greet(fd, request);
        break;
    }
  }
  newcomers_ = std::move(waiting);
}

void Server::greet(int fd, const Request& request) {
  auto thread = std::make_shared<Thread>(fd);
  if (request.op == verbs::Op::kStatus) {
    thread->connection.send(status(), 0);
    return;
  }
  if (request.op == verbs::Op::kResults) {
    send_results(thread->connection);
    return;
  }
  if (request.op == verbs::Op::kDown) {
    down_ = true;
    thread->connection.send({}, 0);
    return;
  }
  verbs::Hello hello;
  if (request.op != verbs::Op::kHello || !request.read(hello) || hello.protocol != verbs::kProtocol ||
      hello.pid != thread->connection.peer_pid()) {
    thread->connection.send(Reply::failed(EPROTO), 0);
    return;
  }
  hello.node[sizeof(hello.node) - 1] = 0;
  const auto& hosts = world_.lab().hosts;
  auto host = std::find_if(hosts.begin(), hosts.end(), [&](const auto& each) { return each.name == hello.node; });
  if (host == hosts.end() || host->outside) {
    thread->connection.send(Reply::failed(ENOENT), 0);
    return;
  }
  Node& node = *nodes_[static_cast<std::size_t>(host - hosts.begin())];
  std::shared_ptr<Process> process;
  for (const auto& each : node.processes) {
    if (each->pid == hello.pid && !each->gone) process = each;
  }
  if (!process) {
    process = std::make_shared<Process>();
    process->node = &node;
    process->pid = hello.pid;
    process->group = getpgid(hello.pid);
    process->name = executable(hello.pid);
    process->page = SharedMemory::make("weft-process", sizeof(verbs::ProcessPage));
    if (wall_) wall_->adopt(*process);
    node.processes.push_back(process);
  }
  thread->process = process;
  thread->tid = hello.tid;
  thread->rank = next_rank_++;
  thread->page = SharedMemory::make("weft-thread", sizeof(verbs::ThreadPage));
  if (thread->page.data() == nullptr || process->page.data() == nullptr || (wall_ && process->doorbell.fd < 0)) {
    thread->connection.send(Reply::failed(ENOMEM), 0);
    return;
  }
  process->threads.push_back(thread);
  threads_.push_back(thread);
  Time_ps now_ps = std::max({arrival_ps(), node.now_ps(), arrivals_ps_});
  node.at(now_ps, thread->rank, [this, thread](Time_ps at_ps) {
    const host::HostModel& model = thread->process->node->host().model();
    verbs::Welcome welcome{};
    welcome.clock = wall_ ? verbs::Clock::kWall : verbs::Clock::kVirtual;
    welcome.thread = static_cast<std::uint32_t>(thread->process->threads.size() - 1);
    // The model's loop is perftest's, fitted as a whole: it looks at the clock once for each message, as the program
    // does here for itself.
    Time_ps after_post_ps = std::max<Time_ps>(0, model.post_loop_ps - kClockRead_ps);
    welcome.costs = {model.post_wqe_ps, model.doorbell_ps, model.post_recv_ps,
                     model.poll_hit_ps, kClockRead_ps,     after_post_ps};
    welcome.epoch_ns = wall_ ? wall_->start_ns() : observe::Capture::kEpoch_ns;
    Reply reply = Reply::of(welcome);
    reply.fds[0] = thread->page.fd();
    reply.fds[1] = thread->process->page.fd();
    reply.fds[2] = thread->process->doorbell_given.fd;
    thread->process->node->resume(thread, reply, at_ps);
  });
}

ThreadWaiter::Outcome Server::wait_for(Thread& thread, Request& request) {
  if (wall_) return Outcome::kRuns;
  Outcome outcome = wait_for_request(thread, request);
  // It may have written into a pipe that another waits for.
  Time_ps now_ps = std::max(thread.process->node->now_ps(), thread.local_ps);
  if (outcome == Outcome::kAsked) now_ps = std::max(now_ps, request.local_ps);
  look_at_lent(thread.process->node, now_ps);
  return outcome;
}

bool Server::is_awake(const Thread& thread) {
  pollfd fd{thread.connection.fd(), POLLIN, 0};
  return poll(&fd, 1, 0) > 0 || kernel_state(thread.process->pid, thread.tid) == 'R';
}

ThreadWaiter::Outcome Server::wait_for_request(Thread& thread, Request& request) {
  const int pid = thread.process->pid;
  std::int64_t start_ns = -1, first_ns = 0;
  Time_ps clock_ps = thread.local_ps;
  int asleep = 0;
  for (;;) {
    pollfd fd{thread.connection.fd(), POLLIN, 0};
    timespec patience{0, thread.has_spun ? 100'000 : 1'000'000};
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
    if (start_ns < 0) {
      start_ns = first_ns = cpu_ns(pid);
      continue;
    }
    const Time_ps moved_ps = thread.clock().local_ps.load(std::memory_order_relaxed);
    if (moved_ps > clock_ps && moved_ps < thread.local_ps + kClockLoop_ps &&
        cpu_ns(pid) - first_ns < kClockLoopBudget_ns) {
      clock_ps = moved_ps;
      start_ns = cpu_ns(pid);
      continue;
    }
    bool answered = thread.has_spun && (thread.posted || thread.process->has_posts());
    if (cpu_ns(pid) - start_ns > (answered ? kShortSpinBudget_ns : kSpinBudget_ns)) {
      thread.left_at_ps = world_.engine().horizon_ps();
      return Outcome::kSpins;
    }
    char state = kernel_state(pid, thread.tid);
    if (state == 0) return Outcome::kGone;
    asleep = state == 'S' || state == 'D' || state == 'T' || state == 't' ? asleep + 1 : 0;
    if (asleep >= kOutsideLooks) return Outcome::kOutside;
  }
}

void Server::thread_ended(const std::shared_ptr<Thread>& thread, Time_ps now_ps) {
  if (wall_) wall_->unwatch(thread->connection.fd());
  std::erase(threads_, thread);
  std::erase(thread->process->threads, thread);
  thread->state = ThreadState::kOutside;
  thread->retry = nullptr;
  ++thread->park;
  if (thread->process->threads.empty()) end_process(thread->process, now_ps);
}

void Server::end_process(const std::shared_ptr<Process>& process, Time_ps now_ps) {
  if (process->gone) return;
  process->gone = true;
  process->doorbell.reset();
  process->doorbell_given.reset();
  // Who drives a world asks for it (program_session.cc); a world that is up for long has many.
  if (!own_world_) ended_ps_[process->group] = now_ps;
  network_.forget(*process, now_ps);
  managers_[process->node->index()]->forget(*process, now_ps);
  services_[process->node->index()]->forget(*process);
  std::erase(process->node->processes, process);
}

}  // namespace weft::live
