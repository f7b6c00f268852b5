// How long tests wait for programs that they start. On an emulated machine (make other-arch) these take longer:
// WEFT_TEST_SLOWDOWN, 1 where it is not set, multiplies every such time.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

namespace weft::test {

inline int slowdown() {
  const char* factor = std::getenv("WEFT_TEST_SLOWDOWN");
  return factor == nullptr ? 1 : std::atoi(factor);
}

// A time that something is given before the next thing happens.
inline std::chrono::milliseconds slowed(std::chrono::milliseconds wait) {
  return wait * slowdown();
}

// A limit of seconds or tries, for what takes much less on an idle machine: longer by what waits for each core.
inline int slowed(int limit) {
  double load = 0;
  std::ifstream("/proc/loadavg") >> load;
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  return limit * slowdown() * (1 + static_cast<int>(load) / cores);
}

// What a program computes between two calls is taken for spinning on a machine this slow (100 ms of CPU time, or 0.5
// ms; docs/mechanisms/virtual-time.md). Its results are then right, but not the same digits twice, and it says so.
inline bool may_be_taken_for_spinning() {
  return slowdown() > 1;
}

// The command that ends another one after so many seconds.
inline std::string timeout(int seconds, const std::string& options = "") {
  return "timeout " + options + " " + std::to_string(slowed(seconds)) + " ";
}

}  // namespace weft::test
