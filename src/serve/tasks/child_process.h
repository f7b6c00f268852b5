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
  // `words` are the program's path and its arguments. Call it on a thread that lasts as long as the child may.
  static tl::expected<ChildProcess, std::string> start(const std::vector<std::string>& words,
                                                       const ChildLimits& limits);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess();

  // Of the pipes, which do not block; -1 after its end.
  int output() const { return output_; }
  int errors() const { return errors_; }
  // Appends what is there and can be had at once; false at the end of the pipe.
  static bool take(int fd, std::string& to);
  // To the whole group.
  void signal(int number) const;
  // The exit status when it has ended, 128 and the signal's number as a shell has it; then the rest of its group is
  // ended, too.
  std::optional<int> reap();

 private:
  ChildProcess() = default;
  void close_pipes();

  pid_t pid_ = -1;
  int output_ = -1, errors_ = -1;
};

}  // namespace weft::serve
