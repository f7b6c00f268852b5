// A program that the server has started: in a process group of its own, with limits, its output in two pipes. It ends
// with the server.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace weft::serve {

struct ChildLimits {
  std::uint64_t memory_B = 0;  // of address space; 0: none
  std::uint64_t file_B = 0;    // of each file that it writes; 0: none
  std::uint64_t cpu_s = 0;     // 0: none
};

class ChildProcess {
 public:
  // `words` are the program's path and its arguments. Call it on a thread that lives as long as the child.
  static tl::expected<ChildProcess, std::string> start(const std::vector<std::string>& words,
                                                       const ChildLimits& limits);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess();

  // The pipes, non-blocking; -1 after their end.
  int output() const { return output_; }
  int errors() const { return errors_; }
  // Appends the available bytes without blocking; false at the end of the pipe.
  static bool take(int fd, std::string& to);
  // To the whole group.
  void signal(int number) const;
  // The exit status when it has ended, or 128 plus the signal number as in a shell; the rest of its group is then
  // killed as well.
  std::optional<int> reap();

 private:
  ChildProcess() = default;
  void close_pipes();

  pid_t pid_ = -1;
  int output_ = -1, errors_ = -1;
};

}  // namespace weft::serve
