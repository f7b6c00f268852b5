#include "live/os/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "live/os/descriptor_limit.h"

namespace weft::live {

namespace {

constexpr int kPipe_B = 1 << 20;  // a program that waits for its reader looks as if it were outside of the world

std::vector<std::string> environment_with(const Variables& variables) {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    if (std::none_of(variables.begin(), variables.end(), [&](const auto& v) { return v.first == name; }))
      entries.emplace_back(text);
  }
  for (const auto& [name, value] : variables) entries.push_back(name + "=" + value);
  return entries;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (const std::string& text : texts) list.push_back(const_cast<char*>(text.c_str()));
  list.push_back(nullptr);
  return list;
}

// Between fork and exec: only what is safe there.
[[noreturn]] void become(char** words, char** environment, int output, int failure) {
  setpgid(0, 0);
  restore_descriptor_limit();
  // It would not end otherwise.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (int signal_number : {SIGINT, SIGTERM, SIGPIPE}) signal(signal_number, SIG_DFL);
  int none = open("/dev/null", O_RDONLY);
  if (none >= 0) dup2(none, 0);
  dup2(output, 1);
  dup2(output, 2);
  const int persona = personality(0xffffffff);
  if (persona >= 0) personality(static_cast<unsigned long>(persona) | ADDR_NO_RANDOMIZE);
  execvpe(words[0], words, environment);
  const int error = errno;
  [[maybe_unused]] ssize_t size = write(failure, &error, sizeof(error));
  _exit(127);
}

}  // namespace

tl::expected<std::unique_ptr<Child>, int> Child::start(const std::vector<std::string>& words,
                                                       const Variables& variables) {
  int output[2], failure[2];
  if (pipe2(output, O_CLOEXEC) != 0) return tl::unexpected(errno);
  if (pipe2(failure, O_CLOEXEC) != 0) {
    const int error = errno;
    for (int fd : output) close(fd);
    return tl::unexpected(error);
  }
  fcntl(output[0], F_SETPIPE_SZ, kPipe_B);
  const std::vector<std::string> environment = environment_with(variables);
  std::vector<char*> word_pointers = pointers(words), environment_pointers = pointers(environment);
  const pid_t pid = fork();
  int error = errno;
  if (pid == 0) become(word_pointers.data(), environment_pointers.data(), output[1], failure[1]);
  close(output[1]);
  close(failure[1]);
  ssize_t got = 0;
  if (pid > 0) {
    setpgid(pid, pid);  // parent and child both try; the first wins
    do got = read(failure[0], &error, sizeof(error));
    while (got < 0 && errno == EINTR);
  }
  close(failure[0]);
  if (pid > 0 && got == 0) return std::unique_ptr<Child>(new Child(pid, output[0]));
  if (pid > 0) waitpid(pid, nullptr, 0);
  close(output[0]);
  return tl::unexpected(error);
}

Child::Child(int pid, int output) : pid_(pid), output_fd_(output), collector_([this] { collect(); }) {}

Child::~Child() {
  kill();
  while (!has_ended()) usleep(1000);
  close(output_fd_);
}

// In a thread of its own: the world may be busy for long.
void Child::collect() {
  char bytes[1 << 14];
  for (;;) {
    const bool last = last_look_;
    pollfd fd{output_fd_, POLLIN, 0};
    const int ready = poll(&fd, 1, last ? 0 : 50);
    // Something that left the group may hold the pipe open forever.
    if (ready <= 0 && last) return;
    if (ready <= 0) continue;
    const ssize_t size = read(output_fd_, bytes, sizeof(bytes));
    if (size == 0 || (size < 0 && errno != EINTR)) return;
    if (size < 0) continue;
    std::lock_guard lock(mutex_);
    const auto kept = std::min(static_cast<std::size_t>(size), kMostOutput_B - output_.size());
    output_.append(bytes, kept);
    left_out_B_ += static_cast<std::size_t>(size) - kept;
  }
}

bool Child::has_ended() {
  if (ended_) return true;
  if (waitpid(pid_, &wait_status_, WNOHANG) != pid_) return false;
  ended_ = true;
  ::kill(-pid_, SIGKILL);
  last_look_ = true;
  collector_.join();
  return true;
}

void Child::kill() {
  if (!ended_) ::kill(-pid_, SIGKILL);
}

std::string Child::output() const {
  std::lock_guard lock(mutex_);
  return output_;
}

std::uint64_t Child::left_out_B() const {
  std::lock_guard lock(mutex_);
  return left_out_B_;
}

}  // namespace weft::live
