// How a program's thread comes into a world: its connection, its first request, and the reply.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "live/os/kernel_thread.h"
#include "live/server.h"
#include "observe/capture.h"

namespace weft::live {

namespace {

constexpr Time_ps kClockRead_ps = ns(20);  // a vDSO call; estimate
// A program that somebody starts in a world that is up begins at a whole multiple of this: how far the world has come
// by then is the machine's and the user's affair, and must not decide where the program's clock is within its
// microsecond, or within the timer tick of its host (1 or 4 ms).
constexpr Time_ps kStart_ps = ms(4);

std::string executable(int pid) {
  char path[64], target[PATH_MAX];
  std::snprintf(path, sizeof(path), "/proc/%d/exe", pid);
  ssize_t size = readlink(path, target, sizeof(target));
  if (size <= 0) return "?";
  std::string name(target, static_cast<std::size_t>(size));
  return name.substr(name.rfind('/') + 1);
}

}  // namespace

void Server::accept_clients() {
  for (;;) {
    int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return;
    // Replies are sent when the program waits for them: they find room.
    pending_clients_.push_back(fd);
    if (wall_) wall_->watch(fd);
  }
}

void Server::handle_hellos() {
  std::vector<int> waiting;
  for (int fd : pending_clients_) {
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
        handle_hello(fd, request);
        break;
    }
  }
  pending_clients_ = std::move(waiting);
}

void Server::answer_status() {
  accept_clients();
  std::erase_if(pending_clients_, [&](int fd) {
    verbs::RequestHead head{};
    if (recv(fd, &head, sizeof(head), MSG_PEEK | MSG_DONTWAIT) != sizeof(head)) return false;
    if (head.op != verbs::Op::kStatus && head.op != verbs::Op::kDown) return false;
    Connection connection(dup(fd));
    Request request;
    if (connection.receive(request) == Connection::Got::kRequest) {
      handle_hello(fd, request);
    } else {
      close(fd);
    }
    return true;
  });
}

void Server::handle_hello(int fd, const Request& request) {
  if (control_ && Control::is_mine(request.op)) {
    control_->take(fd, request, arrival_ps());
    return;
  }
  auto thread = std::make_shared<Thread>(fd);
  if (request.op == verbs::Op::kStatus) {
    thread->connection.send(status(), 0);
    return;
  }
  if (request.op == verbs::Op::kResults) {
    send_results(thread->connection);
    return;
  }
  if (verbs::LookUp asked; request.op == verbs::Op::kShowNode && request.read(asked)) {
    asked.name[sizeof(asked.name) - 1] = 0;
    show_node(asked.name);
    thread->connection.send({}, 0);
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
  // Another program has come in its place.
  bool from_outside = session_ != nullptr && !wall_ && !process;
  if (process && process->executes) {
    for (const auto& each : std::vector(process->threads)) thread_ended(each, std::max(arrival_ps(), node.now_ps()));
    process = nullptr;
  }
  if (!process) {
    process = std::make_shared<Process>();
    process->node = &node;
    process->pid = hello.pid;
    process->group = getpgid(hello.pid);
    process->parent_pid = parent_of(hello.pid);
    node.count_relatives(*process);
    from_outside = from_outside && process->relatives == 0;
    process->name = executable(hello.pid);
    process->page = SharedMemory::make("weft-process", sizeof(verbs::ProcessPage));
    if (wall_) wall_->adopt(*process);
    node.processes.push_back(process);
    trace_.process(*process, "process_start", arrival_ps());
  }
  // A thread that the program did not start by pthread_create, or before it was in the world.
  if (!wall_ && !process->threads.empty()) determinism_ = Determinism::kThreadOrder;
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
  if (from_outside) now_ps += (kStart_ps - now_ps % kStart_ps) % kStart_ps;
  ++starting_;
  node.at(now_ps, thread->rank, [this, thread](Time_ps at_ps) {
    --starting_;
    welcome(thread, at_ps);
  });
}

void Server::welcome(const std::shared_ptr<Thread>& thread, Time_ps at_ps) {
  if (thread->process->gone) return;
  const host::HostModel& model = thread->process->node->host().model();
  verbs::Welcome welcome{};
  welcome.clock = wall_ ? verbs::Clock::kWall : verbs::Clock::kVirtual;
  welcome.number = thread->rank;
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
}

}  // namespace weft::live
