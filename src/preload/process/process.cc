#include "preload/process/process.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "preload/files/descriptors.h"
#include "preload/files/epoll_set.h"
#include "preload/files/paths.h"
#include "preload/real.h"
#include "preload/sockets/streams.h"

namespace weft::preload {

namespace {

constinit Process process;

// The child's connection, from before fork to after it.
constinit thread_local int fork_connection __attribute__((tls_model("initial-exec"))) = -1;

// A handler of this thread could come for the table's lock during fork, or find half a connection after it.
constinit thread_local std::uint64_t signals_before_fork __attribute__((tls_model("initial-exec"))) = 0;
void block_signals() {
  const std::uint64_t all = ~std::uint64_t{0};
  kernel_call(SYS_rt_sigprocmask, SIG_BLOCK, &all, &signals_before_fork, sizeof all);
}
void restore_signals() {
  kernel_call(SYS_rt_sigprocmask, SIG_SETMASK, &signals_before_fork, nullptr, sizeof signals_before_fork);
}

// The world knows of the child before it runs. In virtual time that is so for all of them: of a parent and a child that
// call the world for the first time after it, the machine would say which is first. In wall-clock mode a process that
// has never called needs no introduction, and neither does its child.
void before_fork() {
  if (process.page != nullptr || is_virtual()) fork_connection = announce(verbs::Op::kFork);
  block_signals();
  descriptors().lock();
}

void after_fork_in_parent() {
  descriptors().unlock();
  if (fork_connection >= 0) kernel_call(SYS_close, fork_connection);
  fork_connection = -1;
  restore_signals();
}

void after_fork_in_child() {
  descriptors().renew_lock();
  renew_epoll_locks();
  forget_connections_after_fork();
  if (process.page != nullptr) kernel_call(SYS_munmap, process.page, sizeof(verbs::ProcessPage));
  process.page = nullptr;
  process.regions = 0;
  process.doorbell = -1;
  process.mutex = PTHREAD_MUTEX_INITIALIZER;
  process.pid = static_cast<int>(kernel_call(SYS_getpid));
  const int fd = fork_connection;
  fork_connection = -1;
  if (fd >= 0) connect_announced(fd);
  restore_signals();
}

const char* find(char** environment, const char* name) {
  const std::size_t size = strlen(name);
  for (char** entry = environment; entry != nullptr && *entry != nullptr; ++entry) {
    if (strncmp(*entry, name, size) == 0 && (*entry)[size] == '=') return *entry + size + 1;
  }
  return nullptr;
}

// Linked with -z initfirst: no constructor of the program has read a clock before this one. The C library's own
// `environ` may not be set yet, so it is taken from the arguments. Nothing connects here: a shell between `weft exec`
// and the program never comes to be a thread of the world.
__attribute__((constructor)) void start(int, char**, char** environment) {
  find_world(environment);
  find_folder(find(environment, kSysfsVariable));
  if (!process.attached) return;
  if (!process.wall_clock) trap_counter();
  // Where Yama guards memory (ptrace_scope 1), the world, which is no ancestor, may reach it all the same. It is the
  // same user's; who is not may not anyway. Fails where there is no Yama, and nothing is lost.
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
  adopt_inherited_streams();
}

}  // namespace

// The C library's fork without its handlers.
WEFT_EXPORT pid_t _Fork() noexcept {
  if (!process.attached) return WEFT_REAL(_Fork)();
  before_fork();
  const pid_t child = WEFT_REAL(_Fork)();
  if (child == 0) {
    after_fork_in_child();
  } else {
    after_fork_in_parent();
  }
  return child;
}

Process& this_process() {
  return process;
}

void find_world(char** environment) {
  const char* path = find(environment, verbs::kSocketVariable);
  if (path == nullptr || *path == '\0') return;
  if (strlen(path) >= sizeof process.socket_path) die("WEFT_SOCKET is too long: %s", path);
  memcpy(process.socket_path, path, strlen(path) + 1);
  const char* node = find(environment, verbs::kNodeVariable);
  if (node != nullptr) strncpy(process.node, node, sizeof process.node - 1);
  const char* clock = find(environment, verbs::kClockVariable);
  process.wall_clock = clock != nullptr && strcmp(clock, "wall") == 0;
  if (const char* network = find(environment, verbs::kNetworkVariable)) {
    if (strcmp(network, "fabric") == 0) process.network = verbs::StreamNetwork::kFabric;
    if (strcmp(network, "management") == 0) process.network = verbs::StreamNetwork::kManagement;
  }
  process.pid = static_cast<int>(kernel_call(SYS_getpid));
  pthread_key_create(&process.thread_key, disconnect_at_thread_exit);
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  process.attached = true;
}

const verbs::Welcome& welcome() {
  return process.welcome;
}

bool is_virtual() {
  if (!process.attached || process.wall_clock) return false;
  ensure_connected();
  return process.welcome.clock == verbs::Clock::kVirtual;
}

bool is_own_process() {
  return process.pid == static_cast<int>(kernel_call(SYS_getpid));
}

}  // namespace weft::preload
