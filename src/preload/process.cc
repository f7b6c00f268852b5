#include "preload/process.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "preload/descriptors.h"
#include "preload/paths.h"
#include "preload/real.h"

namespace weft::preload {

namespace {

constinit Process process;

// The child has no thread of the world yet: its first call says hello with its own number. Streams stay the parent's.
void after_fork_in_child() {
  forget_connections_after_fork();
  descriptors().disown_streams();
  if (process.page != nullptr) syscall(SYS_munmap, process.page, sizeof(verbs::ProcessPage));
  process.page = nullptr;
  process.regions = 0;
  process.doorbell = -1;
  process.mutex = PTHREAD_MUTEX_INITIALIZER;
  process.pid = static_cast<int>(syscall(SYS_getpid));
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
}

}  // namespace

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
  process.pid = static_cast<int>(syscall(SYS_getpid));
  pthread_key_create(&process.thread_key, disconnect_at_thread_exit);
  pthread_atfork(nullptr, nullptr, after_fork_in_child);
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
  return process.pid == static_cast<int>(syscall(SYS_getpid));
}

}  // namespace weft::preload
