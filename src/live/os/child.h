// A program that this process starts: in a process group of its own, with its output collected while it runs. Its
// addresses are not randomised and what it draws with srand48 and its like follows from a seed, so that it prints the
// same again where it can.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <tl/expected.hpp>
#include <vector>

#include "live/os/environment.h"

namespace weft::live {

class Child {
 public:
  static constexpr std::size_t kMostOutput_B = 256 << 10;  // that is kept; the rest is counted

  // The error is the errno of what could not be done, for instance that there is no such program.
  static tl::expected<std::unique_ptr<Child>, int> start(const std::vector<std::string>& words,
                                                         const Variables& variables);
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  // Ends it.
  ~Child();

  // Also the number of its process group.
  int pid() const { return pid_; }
  // True once it has ended; what it left running in its group ends with it.
  bool has_ended();
  void kill();
  // As waitpid gives it, when it has ended.
  int wait_status() const { return wait_status_; }
  // Complete when it has ended.
  std::string output() const;
  std::uint64_t left_out_B() const;

 private:
  Child(int pid, int output);
  void collect();

  int pid_;
  int output_fd_;
  bool ended_ = false;
  int wait_status_ = 0;
  mutable std::mutex mutex_;
  std::string output_;            // under the mutex
  std::uint64_t left_out_B_ = 0;  // under the mutex
  std::atomic<bool> last_look_{false};
  std::thread collector_;
};

}  // namespace weft::live
