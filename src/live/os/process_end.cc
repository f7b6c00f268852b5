#include "live/os/process_end.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

namespace weft::live {

namespace {

constexpr int kEndPatience_ms = 100;  // real time from closing descriptors to the end

struct KernelState {
  char state = 'X';
  unsigned flags = 0;
};

KernelState state_of(const std::string& path) {
  FILE* file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return {};
  char text[512];
  const std::size_t size = std::fread(text, 1, sizeof(text) - 1, file);
  std::fclose(file);
  text[size] = 0;
  // The name is in brackets and may hold anything.
  const std::size_t bracket = std::string_view(text, size).rfind(')');
  KernelState found;
  if (bracket == std::string_view::npos ||
      std::sscanf(text + bracket + 1, " %c %*d %*d %*d %*d %*d %u", &found.state, &found.flags) != 2)
    return {};
  return found;
}

}  // namespace

bool is_exiting(int pid) {
  constexpr unsigned kExiting = 0x4;  // PF_EXITING of linux/sched.h
  const KernelState found = state_of(fmt::format("/proc/{}/stat", pid));
  return found.state == 'Z' || found.state == 'X' || (found.flags & kExiting) != 0;
}

bool is_asleep(int pid) {
  std::error_code error;
  std::filesystem::directory_iterator threads(fmt::format("/proc/{}/task", pid), error);
  if (error) return false;
  for (; threads != std::filesystem::directory_iterator(); threads.increment(error)) {
    const char state = state_of(threads->path() / "stat").state;
    if (state != 'S' && state != 'T' && state != 't') return false;
  }
  return true;
}

std::vector<int> children_of(int pid) {
  std::vector<int> children;
  char path[64];
  std::snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
  FILE* file = std::fopen(path, "re");
  if (file == nullptr) return children;
  for (int child; std::fscanf(file, "%d", &child) == 1;) children.push_back(child);
  std::fclose(file);
  return children;
}

void await_exit(int pid) {
  if (pid <= 0 || !is_exiting(pid)) return;
  const auto fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (fd < 0) return;
  pollfd ended{fd, POLLIN, 0};
  poll(&ended, 1, kEndPatience_ms);
  close(fd);
}

}  // namespace weft::live
