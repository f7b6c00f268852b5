// Every way of the C library to start a program. On x86-64 PR_SET_TSC survives execve, and the new program's loader
// reads the counter before any handler is there. The trap is therefore off in the thread that starts a program, and on
// again when that thread goes on. A child of vfork or posix_spawn inherits the setting of the thread that makes it.
// system, popen and wordexp call posix_spawn inside the C library, which cannot be interposed, so they are wrapped too:
// during system and wordexp a signal handler of the same thread that reads the counter itself sees the machine's.
// Between vfork and exec the memory is the parent's: nothing is allocated here.
// Not covered: a program that makes the execve system call without the C library (docs/LIMITS.md).
#include <dlfcn.h>
#include <errno.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <wordexp.h>

#include "preload/process/process.h"
#include "preload/real.h"

namespace weft::preload {

namespace {

template <typename Function, typename... Arguments>
auto start(Function* real, Arguments... arguments) {
  const CounterUntrapped untrapped;
  return real(arguments...);
}

// The world, which knows this process, waits for the program that comes in its place. A child of vfork has only its
// parent's connection.
template <typename Function, typename... Arguments>
int execute(Function* real, Arguments... arguments) {
  if (thread.page != nullptr && thread.call == nullptr && is_own_process()) {
    std::size_t none_B = 0;
    call_in_pieces(verbs::Op::kExec, nullptr, 0, nullptr, &none_B, nullptr);
  }
  return start(real, arguments...);
}

// execl, execlp and execle: their arguments as an array on the stack, as the C library has it.
enum class Environment { kOwn, kAfterList };
template <typename Function>
int start_with_list(Function* real, const char* file, const char* first, va_list list, Environment which) {
  va_list counted;
  va_copy(counted, list);
  std::size_t count = 0;
  for (const char* argument = first; argument != nullptr; argument = va_arg(counted, const char*)) ++count;
  va_end(counted);
  auto** argv = static_cast<char**>(__builtin_alloca((count + 1) * sizeof(char*)));
  argv[0] = const_cast<char*>(first);
  for (std::size_t i = 1; i <= count; ++i) argv[i] = va_arg(list, char*);
  char** envp = which == Environment::kAfterList ? va_arg(list, char**) : environ;
  return execute(real, file, argv, envp);
}

using PidfdSpawn = int(int*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*, char* const[],
                       char* const[]);

// glibc has pidfd_spawn from 2.39 on. Programs that look for it take ENOSYS as the kernel's and use posix_spawn.
template <typename... Arguments>
int start_with_pidfd(const char* name, Arguments... arguments) {
  auto* real = reinterpret_cast<PidfdSpawn*>(dlsym(RTLD_NEXT, name));
  return real == nullptr ? ENOSYS : start(real, arguments...);
}

}  // namespace

WEFT_EXPORT int execve(const char* path, char* const argv[], char* const envp[]) noexcept {
  return execute(WEFT_REAL(execve), path, argv, envp);
}
WEFT_EXPORT int execv(const char* path, char* const argv[]) noexcept {
  return execute(WEFT_REAL(execv), path, argv);
}
WEFT_EXPORT int execvp(const char* file, char* const argv[]) noexcept {
  return execute(WEFT_REAL(execvp), file, argv);
}
WEFT_EXPORT int execvpe(const char* file, char* const argv[], char* const envp[]) noexcept {
  return execute(WEFT_REAL(execvpe), file, argv, envp);
}
WEFT_EXPORT int fexecve(int fd, char* const argv[], char* const envp[]) noexcept {
  return execute(WEFT_REAL(fexecve), fd, argv, envp);
}
WEFT_EXPORT int execveat(int folder_fd, const char* path, char* const argv[], char* const envp[], int flags) noexcept {
  return execute(WEFT_REAL(execveat), folder_fd, path, argv, envp, flags);
}

WEFT_EXPORT int execl(const char* path, const char* first, ...) noexcept {
  va_list list;
  va_start(list, first);
  const int result = start_with_list(WEFT_REAL(execve), path, first, list, Environment::kOwn);
  va_end(list);
  return result;
}
WEFT_EXPORT int execlp(const char* file, const char* first, ...) noexcept {
  va_list list;
  va_start(list, first);
  const int result = start_with_list(WEFT_REAL(execvpe), file, first, list, Environment::kOwn);
  va_end(list);
  return result;
}
WEFT_EXPORT int execle(const char* path, const char* first, ...) noexcept {
  va_list list;
  va_start(list, first);
  const int result = start_with_list(WEFT_REAL(execve), path, first, list, Environment::kAfterList);
  va_end(list);
  return result;
}

WEFT_EXPORT int posix_spawn(pid_t* __restrict pid, const char* __restrict path,
                            const posix_spawn_file_actions_t* __restrict actions,
                            const posix_spawnattr_t* __restrict attributes, char* const argv[__restrict_arr],
                            char* const envp[__restrict_arr]) {
  return start(WEFT_REAL(posix_spawn), pid, path, actions, attributes, argv, envp);
}
WEFT_EXPORT int posix_spawnp(pid_t* __restrict pid, const char* __restrict file,
                             const posix_spawn_file_actions_t* __restrict actions,
                             const posix_spawnattr_t* __restrict attributes, char* const argv[__restrict_arr],
                             char* const envp[__restrict_arr]) {
  return start(WEFT_REAL(posix_spawnp), pid, file, actions, attributes, argv, envp);
}
WEFT_EXPORT int pidfd_spawn(int* pidfd, const char* path, const posix_spawn_file_actions_t* actions,
                            const posix_spawnattr_t* attributes, char* const argv[], char* const envp[]) {
  return start_with_pidfd("pidfd_spawn", pidfd, path, actions, attributes, argv, envp);
}
WEFT_EXPORT int pidfd_spawnp(int* pidfd, const char* file, const posix_spawn_file_actions_t* actions,
                             const posix_spawnattr_t* attributes, char* const argv[], char* const envp[]) {
  return start_with_pidfd("pidfd_spawnp", pidfd, file, actions, attributes, argv, envp);
}

WEFT_EXPORT int system(const char* command) {
  return start(WEFT_REAL(system), command);
}
WEFT_EXPORT FILE* popen(const char* command, const char* mode) {
  return start(WEFT_REAL(popen), command, mode);
}
WEFT_EXPORT int wordexp(const char* __restrict words, wordexp_t* __restrict out, int flags) {
  return start(WEFT_REAL(wordexp), words, out, flags);
}

}  // namespace weft::preload
