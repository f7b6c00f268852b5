// How a process comes into a world by fork: the world knows of it before it runs, so that it starts at the virtual time
// of the fork, and holds what its parent holds. It says hello at once, and goes on as any thread does: many go on to
// execute another program, which closes the connection.
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "live/os/process_end.h"
#include "live/os/signals.h"
#include "live/server.h"

namespace weft::live {

namespace {

// Real time from fork to hello: nothing but the kernel is between the two, so that only a stopped process takes it.
constexpr int kForkPatience_ms = 10'000;

// From exec to the first call: loading a program takes milliseconds, on a busy machine more.
constexpr std::chrono::seconds kExecPatience{10};
constexpr int kAsleepLooks = 5;  // a millisecond apart
constexpr int kQuietLooks = 3, kQuietLook_us = 200;

// Who sent what waits in the socket, as the kernel knows it; 0: nobody.
int sender_pid(int fd) {
  char byte;
  iovec part{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  if (recvmsg(fd, &message, MSG_PEEK | MSG_DONTWAIT) <= 0) return 0;
  for (cmsghdr* each = CMSG_FIRSTHDR(&message); each != nullptr; each = CMSG_NXTHDR(&message, each)) {
    if (each->cmsg_level != SOL_SOCKET || each->cmsg_type != SCM_CREDENTIALS) continue;
    ucred sender;
    std::memcpy(&sender, CMSG_DATA(each), sizeof(sender));
    return sender.pid;
  }
  return 0;
}

void set_credentials(int fd, int on) {
  setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on));
}

}  // namespace

std::optional<Reply> Server::answer_process_call(const std::shared_ptr<Thread>& thread, const Request& request,
                                                 Time_ps now_ps) {
  Process& process = *thread->process;
  switch (request.op) {
    case verbs::Op::kFork:
      return fork(thread, now_ps);
    case verbs::Op::kExec:
      process.executes = true;
      return Reply{};
    case verbs::Op::kStreamAdopt:
      return network_.adopt(process, request);
    case verbs::Op::kStreamSet:
      return network_.set(process, request);
    case verbs::Op::kStreamStatus:
      return network_.status(process, request);
    default:
      return std::nullopt;
  }
}

Reply Server::fork(const std::shared_ptr<Thread>& parent_thread, Time_ps now_ps) {
  const std::shared_ptr<Process> parent = parent_thread->process;
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return Reply::failed(EAGAIN);
  auto given = std::make_shared<Lent>();
  given->fds.push_back(ends[1]);
  auto thread = std::make_shared<Thread>(ends[0]);
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  set_credentials(ends[0], 1);

  auto child = std::make_shared<Process>();
  child->node = parent->node;
  child->group = parent->group;
  child->parent_pid = parent->pid;
  child->name = parent->name;
  child->came = parent->came;
  child->page = SharedMemory::make("weft-process", sizeof(verbs::ProcessPage));
  if (wall_) wall_->adopt(*child);
  thread->process = child;
  thread->page = SharedMemory::make("weft-thread", sizeof(verbs::ThreadPage));
  if (thread->page.data() == nullptr || child->page.data() == nullptr || (wall_ && child->doorbell.fd < 0))
    return Reply::failed(EAGAIN);
  thread->state = ThreadState::kRunning;
  thread->rank = next_rank_++;
  child->threads.push_back(thread);
  child->next_handle = parent->next_handle;
  // Queues and registered memory stay the parent's, as on Linux, where their pages do.
  child->pds = parent->pds;
  child->ahs = parent->ahs;
  // Descriptors of timers and signals are inherited, timers that send signals are not.
  child->signal_sets = parent->signal_sets;
  for (const auto& [handle, timer] : parent->timers) {
    if (timer->made.expiry == verbs::Expiry::kRead) child->timers[handle] = timer;
  }
  CommunicationManager::fork(*parent, child);
  ManagementNetwork::fork(*parent, child);
  child->node->processes.push_back(child);
  threads_.push_back(thread);
  if (wall_) {
    wall_->watch(ends[0]);
  } else {
    // After the parent's turn; the world does not go on before the child has had its own.
    child->node->at(now_ps, thread->rank, [this, thread](Time_ps at_ps) { await_child(thread, at_ps); });
  }
  Reply reply;
  reply.fds[0] = ends[1];
  reply.given = given;
  return reply;
}

void Server::await_child(const std::shared_ptr<Thread>& thread, Time_ps now_ps) {
  pollfd fd{thread->connection.fd(), POLLIN, 0};
  const bool waits = !thread->process->gone && thread->process->pid == 0;
  if (!waits || poll(&fd, 1, kForkPatience_ms) == 0) return;
  meet_child(thread, now_ps);
}

void Server::meet_child(const std::shared_ptr<Thread>& thread, Time_ps now_ps) {
  Process& process = *thread->process;
  const int sender = sender_pid(thread->connection.fd());
  Request request;
  verbs::ForkedChild hello;
  const Connection::Got got = thread->connection.receive(request);
  if (got == Connection::Got::kNothing) return;
  if (got == Connection::Got::kEnd || request.op != verbs::Op::kHello || !request.read(hello) || hello.pid != sender) {
    thread_ended(thread, now_ps);
    return;
  }
  set_credentials(thread->connection.fd(), 0);
  process.pid = hello.pid;
  process.group = getpgid(hello.pid);
  process.node->count_relatives(process);
  thread->tid = hello.tid;
  thread->state = ThreadState::kParked;
  process.node->at(now_ps, thread->rank, [this, thread](Time_ps at_ps) { welcome(thread, at_ps); });
}

// In real time: a program that has been executed and waits in the kernel before its first call (for a pipe) is not of
// the world, one that runs is on its way.
void Server::await_end(const Process& process) {
  if (!process.executes) {
    await_exit(process.pid);
    return;
  }
  const auto until = std::chrono::steady_clock::now() + kExecPatience;
  for (int asleep = 0; asleep < kAsleepLooks && std::chrono::steady_clock::now() < until;) {
    pollfd fd{listener_, POLLIN, 0};
    poll(&fd, 1, 1);
    accept_clients();
    for (int client : pending_clients_) {
      ucred peer{};
      socklen_t size = sizeof(peer);
      pollfd hello{client, POLLIN, 0};
      if (getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.pid == process.pid &&
          poll(&hello, 1, 0) == 1) {
        handle_hellos();
        return;
      }
    }
    if (is_exiting(process.pid)) {
      await_exit(process.pid);
      return;
    }
    asleep = is_asleep(process.pid) ? asleep + 1 : 0;
  }
}

// What is not of the world runs in real time: in `ib_write_bw | awk` awk goes on when the pipe has ended, and the shell
// when awk has. Before time goes on, children of those that wait for children have done what they can.
void Server::let_filters_run(const Node& node) {
  const auto until = std::chrono::steady_clock::now() + kExecPatience;
  for (int quiet = 0; quiet < kQuietLooks && std::chrono::steady_clock::now() < until;) {
    bool any = false, runs = false;
    for (const auto& thread : threads_) {
      if (!thread->lent || thread->process->node != &node) continue;
      for (const int child : children_of(thread->process->pid)) {
        const bool attached = std::any_of(node.processes.begin(), node.processes.end(),
                                          [&](const auto& each) { return each->pid == child; });
        if (attached || is_exiting(child)) continue;
        any = true;
        runs = runs || !is_asleep(child);
      }
    }
    if (!any) return;
    quiet = runs ? 0 : quiet + 1;
    usleep(kQuietLook_us);
  }
}

}  // namespace weft::live
