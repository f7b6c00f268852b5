// How a thread comes into a world when another one starts it, by pthread_create or as the first of a process by fork:
// it is announced. The world knows of it before it runs, so that it comes in at the virtual time of its start and in
// the order of the starts, whatever the machine makes of it. It says hello at once on the connection that the world has
// made for it, and goes on as any thread does.
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "live/server.h"

namespace weft::live {

namespace {

// Real time from a start to its hello: nothing but the kernel is between the two, so that only a stopped process takes
// it.
constexpr int kStartPatience_ms = 10'000;
constexpr std::size_t kMostThreads = 4096;  // of one process, that are known before they start

// Sender of what waits in the socket, as the kernel knows it; 0: nobody.
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

Reply Server::expect_thread(const std::shared_ptr<Thread>& creator, Time_ps now_ps) {
  if (wall_ || creator->process->threads.size() >= kMostThreads) return Reply::failed(EAGAIN);
  return announce(creator->process, now_ps);
}

Reply Server::announce(const std::shared_ptr<Process>& process, Time_ps now_ps) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return Reply::failed(EAGAIN);
  Reply reply;
  auto given = std::make_shared<Lent>();
  given->fds.push_back(ends[1]);
  reply.fds[0] = ends[1];
  reply.given = given;
  auto thread = std::make_shared<Thread>(ends[0]);
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  set_credentials(ends[0], 1);
  thread->process = process;
  thread->page = SharedMemory::make("weft-thread", sizeof(verbs::ThreadPage));
  if (thread->page.data() == nullptr) return Reply::failed(EAGAIN);
  thread->state = ThreadState::kRunning;
  thread->rank = next_rank_++;
  process->threads.push_back(thread);
  threads_.push_back(thread);
  if (wall_) {
    wall_->watch(ends[0]);
  } else {
    // After the turn of who starts it; the world does not go on before it has had its own.
    process->node->at(now_ps, thread->rank, [this, thread](Time_ps at_ps) { await_announced(thread, at_ps); });
  }
  return reply;
}

void Server::await_announced(const std::shared_ptr<Thread>& thread, Time_ps now_ps) {
  if (thread->process->gone || thread->tid != 0) return;
  pollfd fd{thread->connection.fd(), POLLIN, 0};
  if (poll(&fd, 1, kStartPatience_ms) == 0) {
    determinism_ = Determinism::kThreadOrder;  // it comes in when it comes
    return;
  }
  meet_announced(thread, now_ps);
}

// It could not be started if its end of the connection is closed.
void Server::meet_announced(const std::shared_ptr<Thread>& thread, Time_ps now_ps) {
  Process& process = *thread->process;
  const int sender = sender_pid(thread->connection.fd());
  Request request;
  verbs::Hello hello;
  const Connection::Got got = thread->connection.receive(request);
  if (got == Connection::Got::kNothing) return;
  const bool forked = process.pid == 0;
  if (got == Connection::Got::kEnd || request.op != verbs::Op::kHello || !request.read(hello) ||
      hello.protocol != verbs::kProtocol || hello.pid != (forked ? sender : process.pid) || hello.tid <= 0) {
    thread_ended(thread, now_ps);
    return;
  }
  set_credentials(thread->connection.fd(), 0);
  if (forked) {
    process.pid = hello.pid;
    process.group = getpgid(hello.pid);
    process.node->count_relatives(process);
  }
  thread->tid = hello.tid;
  thread->state = ThreadState::kParked;
  process.node->at(now_ps, thread->rank, [this, thread](Time_ps at_ps) { welcome(thread, at_ps); });
}

}  // namespace weft::live
