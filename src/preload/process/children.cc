// Waiting for children in virtual time. A wait in the kernel would look to the world like any sleep there: it would go
// on without the thread. The world gets a descriptor of each child instead (pidfd_open), and looks at it when a process
// has ended, so that the wait ends at the virtual time at which the child did.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "preload/process/process.h"
#include "preload/real.h"
#include "preload/sockets/streams.h"

namespace weft::preload {

namespace {

// Real descriptors of children, closed in the end.
class Children {
 public:
  ~Children() {
    for (std::size_t i = 0; i < count_; ++i) kernel_call(SYS_close, fds_[i]);
  }
  void add(pid_t pid) {
    if (count_ == verbs::kMaxRealItems) {
      all_ = false;
      return;
    }
    traced_ = traced_ || is_traced(pid);
    const long fd = kernel_call(SYS_pidfd_open, pid, 0);
    if (fd >= 0) fds_[count_++] = static_cast<int>(fd);
    all_ = all_ && fd >= 0;
  }
  // Adds the children of all threads of this process; false: the kernel does not tell.
  bool add_all() {
    const long folder = kernel_call(SYS_openat, AT_FDCWD, "/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return false;
    bool told = false;
    alignas(dirent64) char entries[2048];
    for (long size_B; (size_B = kernel_call(SYS_getdents64, folder, entries, sizeof entries)) > 0;) {
      for (long at = 0; at < size_B;) {
        const auto* entry = reinterpret_cast<const dirent64*>(entries + at);
        at += entry->d_reclen;
        if (entry->d_name[0] != '.') told = add_of_thread(static_cast<int>(folder), entry->d_name) || told;
      }
    }
    kernel_call(SYS_close, folder);
    return told;
  }
  bool empty() const { return count_ == 0; }
  // One of them stops time and again, which its descriptor does not tell.
  bool traced() const { return traced_; }

  // Until one of them has ended, or the time has come.
  int park() const {
    // With more children than the world can look at, one may end unseen: it is looked for now and then.
    constexpr std::int64_t kLook_ps = 1'000 * kPsPerUs;
    verbs::WaitItem items[verbs::kMaxRealItems];
    for (std::size_t i = 0; i < count_; ++i) {
      items[i] = {verbs::WaitItem::kReal, static_cast<std::uint32_t>(i), POLLIN, 0};
    }
    const std::int64_t until_ps = all_ ? kForever_ps : verbs::weft_now_ps() + kLook_ps;
    verbs::Wait wait{until_ps, static_cast<std::uint32_t>(count_), 0};
    std::size_t size_B = count_ * sizeof(verbs::WaitItem);
    const iovec request[2] = {{&wait, sizeof wait}, {items, size_B}};
    return call_in_pieces(verbs::Op::kWait, request, 2, items, &size_B, nullptr, {fds_, count_});
  }

 private:
  bool add_of_thread(int folder, const char* tid) {
    char path[280], text[4096];
    snprintf(path, sizeof path, "%s/children", tid);
    const long file = kernel_call(SYS_openat, folder, path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    pid_t pid = 0;
    for (long size_B; (size_B = kernel_call(SYS_read, file, text, sizeof text)) > 0;) {
      for (long i = 0; i < size_B; ++i) {
        if (text[i] >= '0' && text[i] <= '9') {
          pid = pid * 10 + (text[i] - '0');
        } else if (pid != 0) {
          add(pid);
          pid = 0;
        }
      }
    }
    if (pid != 0) add(pid);
    kernel_call(SYS_close, file);
    return true;
  }

  static bool is_traced(pid_t pid) {
    char path[32], text[1024];
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    const long file = kernel_call(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    const long size_B = kernel_call(SYS_read, file, text, sizeof text - 1);
    kernel_call(SYS_close, file);
    text[size_B > 0 ? size_B : 0] = 0;
    const char* line = strstr(text, "\nTracerPid:");
    return line != nullptr && atoi(line + sizeof "\nTracerPid:" - 1) == this_process().pid;
  }

  int fds_[verbs::kMaxRealItems];
  std::size_t count_ = 0;
  bool all_ = true, traced_ = false;
};

// `ask` looks for children without waiting and returns what the call would: 0 for none yet. So does this function where
// the kernel has to be asked all the same.
template <typename Ask>
pid_t wait_in_world(pid_t pid, Ask ask) {
  for (;;) {
    const pid_t found = ask();
    if (found != 0) return found;
    Children children;
    if (pid > 0) {
      children.add(pid);
    } else {
      children.add_all();
    }
    if (children.empty() || children.traced()) return 0;
    if (const int error = children.park()) return error == EINTR ? fail(error) : 0;
  }
}

// The kernel alone can answer: no world, real time, a thread that the world does not know, no wait, or one for children
// that are traced, which do not only end.
bool is_plain(int options) {
  const Process& process = this_process();
  return (options & (WNOHANG | __WALL)) != 0 || !process.attached || process.wall_clock || process.page == nullptr ||
         !is_own_process() || !is_virtual();
}

}  // namespace

WEFT_EXPORT pid_t wait4(pid_t pid, int* status, int options, struct rusage* usage) noexcept {
  if (!is_plain(options)) {
    const pid_t found = wait_in_world(pid, [&] { return WEFT_REAL(wait4)(pid, status, options | WNOHANG, usage); });
    if (found != 0) return found;
  }
  return WEFT_REAL(wait4)(pid, status, options, usage);
}

WEFT_EXPORT pid_t waitpid(pid_t pid, int* status, int options) {
  return wait4(pid, status, options, nullptr);
}

WEFT_EXPORT pid_t wait3(int* status, int options, struct rusage* usage) noexcept {
  return wait4(-1, status, options, usage);
}

WEFT_EXPORT pid_t wait(int* status) {
  return wait4(-1, status, 0, nullptr);
}

WEFT_EXPORT int waitid(idtype_t type, id_t id, siginfo_t* info, int options) {
  if (!is_plain(options) && info != nullptr && (type == P_ALL || type == P_PID || type == P_PGID)) {
    const pid_t found = wait_in_world(type == P_PID ? static_cast<pid_t>(id) : -1, [&]() -> pid_t {
      info->si_pid = 0;
      const int done = WEFT_REAL(waitid)(type, id, info, options | WNOHANG);
      return done < 0 ? done : info->si_pid;
    });
    if (found != 0) return found < 0 ? -1 : 0;
  }
  return WEFT_REAL(waitid)(type, id, info, options);
}

}  // namespace weft::preload
