// The part of the program that starts other programs, in every way that the C library has.
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wordexp.h>

#include <initializer_list>

#include "unit/preload/program.h"

namespace {

constexpr const char* kTrue = "/bin/true";
constexpr const char* kMissing = "/bin/weft-no-such-program";
char* const kArguments[] = {const_cast<char*>("true"), const_cast<char*>("an argument"), nullptr};
char* const kNoEnvironment[] = {nullptr};

// exec family: what the call does in a process that can be replaced.
struct Exec {
  const char* name;
  int (*run)(const char* path);
};
const Exec kExecs[] = {
    {"execve", [](const char* path) { return execve(path, kArguments, environ); }},
    {"execve_clean", [](const char* path) { return execve(path, kArguments, kNoEnvironment); }},
    {"execv", [](const char* path) { return execv(path, kArguments); }},
    {"execvp", [](const char* path) { return execvp(path, kArguments); }},
    {"execvpe", [](const char* path) { return execvpe(path, kArguments, environ); }},
    {"execl", [](const char* path) { return execl(path, "true", "1", "2", "3", nullptr); }},
    {"execlp", [](const char* path) { return execlp(path, "true", nullptr); }},
    {"execle", [](const char* path) { return execle(path, "true", "1", nullptr, kNoEnvironment); }},
    {"fexecve", [](const char* path) { return fexecve(open(path, O_RDONLY | O_CLOEXEC), kArguments, environ); }},
    {"execveat", [](const char* path) { return execveat(AT_FDCWD, path, kArguments, environ, 0); }},
};

// Exit status of a child; 128 + signal when killed.
int status_of(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, 0) != child) return -1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int spawn(decltype(&posix_spawn) how, const char* path, char* const environment[]) {
  pid_t child = 0;
  const int error = how(&child, path, nullptr, nullptr, kArguments, environment);
  return error != 0 ? 1000 + error : status_of(child);
}

int expand(const char* words) {
  wordexp_t found{};
  const int error = wordexp(words, &found, 0);
  const int count = error == 0 ? static_cast<int>(found.we_wordc) : -1;
  wordfree(&found);
  return count;
}

// The trap is on: the CPU's counter lies between two reads of the virtual clock.
bool counter_is_virtual() {
  const int64_t before_ns = monotonic_ns();
  const auto now = static_cast<int64_t>(counter());
  return before_ns < now && now < monotonic_ns();
}

int starts() {
  for (const Exec& exec : kExecs) {
    for (const char* path : {kTrue, WEFT_COUNTER_READER}) {
      const pid_t child = fork();
      if (child == 0) {
        exec.run(path);
        _exit(99);
      }
      print(exec.name, status_of(child));
    }
    const pid_t child = vfork();
    if (child == 0) {
      exec.run(kTrue);
      _exit(99);
    }
    print(exec.name, status_of(child));
  }
  print("posix_spawn", spawn(posix_spawn, kTrue, environ));
  print("posix_spawn", spawn(posix_spawn, WEFT_COUNTER_READER, environ));
  print("posix_spawn", spawn(posix_spawn, kTrue, kNoEnvironment));
  print("posix_spawnp", spawn(posix_spawnp, "true", environ));
  print("system", system("echo x | cat >/dev/null && env -i /bin/true && " WEFT_COUNTER_READER));
  FILE* pipe = popen("echo 5 | cat", "r");
  int five = 0;
  print("popen_reads", fscanf(pipe, "%d", &five) == 1 ? five : -1);
  print("popen", pclose(pipe));
  print("wordexp", expand("$(echo two words)"));
  print("counter_is_virtual", counter_is_virtual());
  return 0;
}

int failed_starts() {
  for (const Exec& exec : kExecs) {
    const int result = exec.run(kMissing);
    print(exec.name, result == -1 && counter_is_virtual());
  }
  print("posix_spawn", spawn(posix_spawn, kMissing, environ) == 1000 + ENOENT && counter_is_virtual());
  print("posix_spawnp", spawn(posix_spawnp, kMissing, environ) == 1000 + ENOENT && counter_is_virtual());
  print("system", WEXITSTATUS(system("exec /bin/weft-no-such-program 2>/dev/null")) == 127 && counter_is_virtual());
  print("popen", popen("true", "neither r nor w") == nullptr && counter_is_virtual());
  return 0;
}

}  // namespace

const Case kStartCases[] = {
    {"starts", starts},
    {"failed_starts", failed_starts},
};
const int kStartCaseCount = sizeof kStartCases / sizeof kStartCases[0];
