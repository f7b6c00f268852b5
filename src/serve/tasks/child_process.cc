#include "serve/tasks/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

namespace weft::serve {

namespace {

void limit(int what, std::uint64_t most) {
  const rlimit both{most, most};
  setrlimit(static_cast<__rlimit_resource>(what), &both);
}

// Between fork and exec: only async-signal-safe calls.
[[noreturn]] void become_task(char** words, const ChildLimits& limits, int output, int errors, int failure) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGINT);
  for (int number : {SIGINT, SIGTERM, SIGPIPE, SIGHUP, SIGCHLD}) std::signal(number, SIG_DFL);
  // Writing beyond the file size limit fails with an error, which the program reports.
  std::signal(SIGXFSZ, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int null = open("/dev/null", O_RDONLY);
  if (null >= 0) dup2(null, 0);
  dup2(output, 1);
  dup2(errors, 2);
  dup2(failure, 3);
  fcntl(3, F_SETFD, FD_CLOEXEC);
  close_range(4, ~0U, 0);
  limit(RLIMIT_CORE, 0);
  if (limits.file_B > 0) limit(RLIMIT_FSIZE, limits.file_B);
  if (limits.cpu_s > 0) limit(RLIMIT_CPU, limits.cpu_s);
  if (limits.memory_B > 0) limit(RLIMIT_AS, limits.memory_B);
  execv(words[0], words);
  const int error = errno;
  [[maybe_unused]] const ssize_t size = write(3, &error, sizeof(error));
  _exit(127);
}

void close_pair(int (&ends)[2]) {
  for (int fd : ends) {
    if (fd >= 0) close(fd);
  }
}

}  // namespace

ChildProcess::ChildProcess(ChildProcess&& other) noexcept {
  *this = std::move(other);
}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(output_, other.output_);
  std::swap(errors_, other.errors_);
  return *this;
}

ChildProcess::~ChildProcess() {
  close_pipes();
  if (pid_ <= 0) return;
  kill(-pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void ChildProcess::close_pipes() {
  for (int* fd : {&output_, &errors_}) {
    if (*fd >= 0) close(std::exchange(*fd, -1));
  }
}

tl::expected<ChildProcess, std::string> ChildProcess::start(const std::vector<std::string>& words,
                                                            const ChildLimits& limits) {
  int output[2] = {-1, -1}, errors[2] = {-1, -1}, failure[2] = {-1, -1};
  // Above 3, because the child uses the lower numbers.
  const auto make_pipe = [](int(&ends)[2]) {
    int low[2];
    if (pipe2(low, O_CLOEXEC) != 0) return false;
    for (int i = 0; i < 2; ++i) {
      ends[i] = fcntl(low[i], F_DUPFD_CLOEXEC, 10);
      close(low[i]);
    }
    return ends[0] >= 0 && ends[1] >= 0;
  };
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  pid_t pid = -1;
  if (make_pipe(output) && make_pipe(errors) && make_pipe(failure)) pid = fork();
  if (pid == 0) become_task(pointers.data(), limits, output[1], errors[1], failure[1]);
  int error = pid < 0 ? errno : 0;
  for (int* fd : {&output[1], &errors[1], &failure[1]}) {
    if (*fd >= 0) close(std::exchange(*fd, -1));
  }
  if (pid > 0) {
    setpgid(pid, pid);  // also here: a signal to the group may be sent at once
    ssize_t got = 0;
    do got = read(failure[0], &error, sizeof(error));
    while (got < 0 && errno == EINTR);
    if (got == static_cast<ssize_t>(sizeof(error))) {
      waitpid(pid, nullptr, 0);
    } else {
      error = 0;
    }
  }
  close_pair(failure);
  if (error != 0) {
    close_pair(output);
    close_pair(errors);
    return tl::unexpected(fmt::format("{} could not be started: {}", words.front(), std::strerror(error)));
  }
  ChildProcess child;
  child.pid_ = pid;
  child.output_ = output[0];
  child.errors_ = errors[0];
  for (int fd : {output[0], errors[0]}) fcntl(fd, F_SETFL, O_NONBLOCK);
  return child;
}

bool ChildProcess::take(int fd, std::string& to) {
  char piece[16384];
  constexpr int kPieces = 64;  // per call: a process with endless output does not delay the others
  for (int i = 0; i < kPieces && fd >= 0; ++i) {
    const ssize_t got = read(fd, piece, sizeof(piece));
    if (got == 0) return false;
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    to.append(piece, static_cast<std::size_t>(got));
  }
  return fd >= 0;
}

void ChildProcess::signal(int number) const {
  if (pid_ > 0) kill(-pid_, number);
}

std::optional<int> ChildProcess::reap() {
  if (pid_ <= 0) return std::nullopt;
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0)
    return std::nullopt;
  kill(-pid_, SIGKILL);  // before its number can be reused
  int status = 0;
  waitpid(std::exchange(pid_, -1), &status, 0);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace weft::serve
