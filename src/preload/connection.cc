#include "preload/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "preload/files/descriptors.h"
#include "preload/process/process.h"
#include "preload/real.h"
#include "preload/wire.h"
#include "verbs/stream_protocol.h"

namespace weft::preload {

constinit thread_local Thread thread;

namespace {

// Everything here is made of plain system calls: the first call of a thread may come from a signal handler.

int moved_up(int fd) {
  long high = kernel_call(SYS_fcntl, fd, F_DUPFD_CLOEXEC, kLowestDescriptor);
  if (high < 0) return fd;
  kernel_call(SYS_close, fd);
  return static_cast<int>(high);
}

int open_socket(const Process& process) {
  int fd = static_cast<int>(kernel_call(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (fd < 0) die("no socket to the world: %s", strerrorname_np(errno));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path, process.socket_path, sizeof address.sun_path);
  while (kernel_call(SYS_connect, fd, &address, sizeof address) != 0) {
    if (errno != EINTR) die("no world at %s; is `weft exec` still running?", process.socket_path);
  }
  return moved_up(fd);
}

void* map(int fd, std::size_t size_B) {
  void* page = mmap(nullptr, size_B, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (page == MAP_FAILED && errno == ENOMEM)
    die("no memory for a page of the world%s; `ulimit -v` may be too small for this program", "");
  if (page == MAP_FAILED) die("cannot map a page of the world: %s", strerrorname_np(errno));
  return page;
}

verbs::Hello make_hello(const Process& process) {
  verbs::Hello hello{};
  hello.protocol = verbs::kProtocol;
  hello.pid = static_cast<std::int32_t>(kernel_call(SYS_getpid));
  hello.tid = static_cast<std::int32_t>(kernel_call(SYS_gettid));
  memcpy(hello.node, process.node, sizeof hello.node);
  return hello;
}

// Says hello on a new connection and maps the thread's page.
verbs::ThreadPage* say_hello(Process& process, int fd) {
  verbs::Hello hello = make_hello(process);
  const iovec request{&hello, sizeof hello};
  verbs::Welcome told;
  std::size_t told_B = sizeof told;
  verbs::Descriptors pages;
  verbs::ReplyHead head;
  send_request(fd, verbs::Op::kHello, 0, &request, 1);
  if (!receive_reply(fd, head, &told, &told_B, &pages)) world_is_gone();
  if (head.error != 0) die("the world rejects this program: %s", strerrorname_np(head.error));
  if (told_B != sizeof told || pages.fd[0] < 0 || pages.fd[1] < 0) die("the world uses another %s", "protocol");

  auto* page = static_cast<verbs::ThreadPage*>(map(pages.fd[0], sizeof(verbs::ThreadPage)));
  preload::lock(process.mutex);
  if (process.page == nullptr) {
    process.welcome = told;
    if (pages.fd[2] >= 0) {
      process.doorbell = moved_up(pages.fd[2]);
      descriptors().reserve(process.doorbell);
      pages.fd[2] = -1;
    }
    process.page = static_cast<verbs::ProcessPage*>(map(pages.fd[1], sizeof(verbs::ProcessPage)));
  }
  WEFT_REAL(pthread_mutex_unlock)(&process.mutex);
  kernel_call(SYS_close, pages.fd[0]);
  kernel_call(SYS_close, pages.fd[1]);
  if (pages.fd[2] >= 0) kernel_call(SYS_close, pages.fd[2]);
  return page;
}

void disconnect(Thread& gone) {
  if (gone.page == nullptr) return;
  unlist_thread(gone);
  descriptors().forget(gone.socket);
  kernel_call(SYS_close, gone.socket);
  kernel_call(SYS_munmap, gone.page, sizeof(verbs::ThreadPage));
  gone = Thread{};
}

void attach_thread(int fd) {
  Process& process = this_process();
  descriptors().reserve(fd);
  verbs::ThreadPage* page = say_hello(process, fd);
  thread.socket = fd;
  thread.page = page;
  list_thread();
  pthread_setspecific(process.thread_key, &thread);
  warn_of_untrapped_counter();
}

}  // namespace

void connect_thread() {
  // A handler that ran now would find half a connection.
  AllSignalsBlocked blocked;
  if (thread.page != nullptr) return;
  attach_thread(open_socket(this_process()));
}

int announce(verbs::Op op) {
  verbs::Descriptors passed;
  std::size_t none_B = 0;
  if (call_in_pieces(op, nullptr, 0, nullptr, &none_B, &passed) != 0) return -1;
  return moved_up(passed.fd[0]);
}

void connect_announced(int fd) {
  AllSignalsBlocked blocked;
  attach_thread(fd);
}

void disconnect_at_thread_exit(void* state) {
  disconnect(*static_cast<Thread*>(state));
}

void forget_connections_after_fork() {
  forget_threads_after_fork();
  forget_waiters_after_fork();
  descriptors().close_reserved();
  if (thread.page != nullptr) kernel_call(SYS_munmap, thread.page, sizeof(verbs::ThreadPage));
  thread = Thread{};
}

}  // namespace weft::preload
