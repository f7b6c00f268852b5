#include "live/os/process_end.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <string_view>

namespace weft::live {

namespace {

constexpr int kExitPatience_ms = 100;  // real time from closing descriptors to the end

}  // namespace

// Its descriptors are closed already, or are just being closed. One that executes another program keeps some.
bool is_exiting(int pid) {
  constexpr unsigned kExiting = 0x4;  // PF_EXITING of linux/sched.h
  char path[64];
  std::snprintf(path, sizeof(path), "/proc/%d/stat", pid);
  FILE* file = std::fopen(path, "re");
  if (file == nullptr) return true;
  char text[512];
  const std::size_t size = std::fread(text, 1, sizeof(text) - 1, file);
  std::fclose(file);
  text[size] = 0;
  // The name is in brackets and may hold anything.
  const std::size_t bracket = std::string_view(text, size).rfind(')');
  if (bracket == std::string_view::npos) return true;
  char state = 0;
  unsigned flags = 0;
  if (std::sscanf(text + bracket + 1, " %c %*d %*d %*d %*d %*d %u", &state, &flags) != 2) return true;
  return state == 'Z' || state == 'X' || (flags & kExiting) != 0;
}

void await_exit(int pid) {
  if (pid <= 0 || !is_exiting(pid)) return;
  const auto fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (fd < 0) return;
  pollfd ended{fd, POLLIN, 0};
  poll(&ended, 1, kExitPatience_ms);
  close(fd);
}

}  // namespace weft::live
