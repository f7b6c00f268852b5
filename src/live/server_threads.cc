// How a thread comes into a world when another one starts it: the world knows of it before it runs, so that it comes in
// at the virtual time of its start and in the order of the starts, whatever the machine makes of it.
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "live/os/kernel_thread.h"
#include "live/server.h"

namespace weft::live {

namespace {

// Real time from a start to its hello: nothing but the kernel is between the two, so that only a stopped process takes
// it.
constexpr int kStartPatience_ms = 2'000;
constexpr std::size_t kMostThreads = 4096;  // of one process, that are known before they start

}  // namespace

Reply Server::expect_thread(const std::shared_ptr<Thread>& creator, Time_ps now_ps) {
  int ends[2];
  if (creator->process->threads.size() >= kMostThreads) return Reply::failed(EAGAIN);
  if (wall_ || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return Reply::failed(EAGAIN);
  auto given = std::make_shared<Lent>();
  given->fds.push_back(ends[1]);
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  auto thread = std::make_shared<Thread>(ends[0]);
  thread->process = creator->process;
  thread->page = SharedMemory::make("weft-thread", sizeof(verbs::ThreadPage));
  if (thread->page.data() == nullptr) return Reply::failed(EAGAIN);
  thread->state = ThreadState::kRunning;
  thread->rank = next_rank_++;
  thread->process->threads.push_back(thread);
  threads_.push_back(thread);
  // After its creator's turn; the world does not go on before it has had its own.
  thread->process->node->at(now_ps, thread->rank, [this, thread](Time_ps at_ps) { await_thread(thread, at_ps); });
  Reply reply;
  reply.fds[0] = ends[1];
  reply.given = given;
  return reply;
}

void Server::await_thread(const std::shared_ptr<Thread>& thread, Time_ps now_ps) {
  pollfd fd{thread->connection.fd(), POLLIN, 0};
  const bool waits = !thread->process->gone && thread->tid == 0;
  if (!waits) return;
  if (poll(&fd, 1, kStartPatience_ms * static_cast<int>(machine_slowdown())) > 0) {
    meet_thread(thread, now_ps);
  } else {
    determinism_ = Determinism::kThreadOrder;  // it comes in when it comes
  }
}

// It could not be started if its end of the connection is closed.
void Server::meet_thread(const std::shared_ptr<Thread>& thread, Time_ps now_ps) {
  Request request;
  verbs::Hello hello;
  const Connection::Got got = thread->connection.receive(request);
  if (got == Connection::Got::kNothing) return;
  if (got == Connection::Got::kEnd || request.op != verbs::Op::kHello || !request.read(hello) ||
      hello.protocol != verbs::kProtocol || hello.pid != thread->process->pid || hello.tid <= 0) {
    thread_ended(thread, now_ps);
    return;
  }
  thread->tid = hello.tid;
  thread->state = ThreadState::kParked;
  thread->process->node->at(now_ps, thread->rank, [this, thread](Time_ps at_ps) { welcome(thread, at_ps); });
}

}  // namespace weft::live
