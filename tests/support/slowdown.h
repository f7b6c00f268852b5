// How long tests wait for programs that they start. On an emulated machine (make other-arch) these take longer:
// WEFT_TEST_SLOWDOWN, 1 where it is not set, multiplies every such time.
#pragma once

#include <cstdlib>
#include <string>

namespace weft::test {

template <typename Time>
Time slowed(Time wait) {
  const char* factor = std::getenv("WEFT_TEST_SLOWDOWN");
  return wait * (factor == nullptr ? 1 : std::atoi(factor));
}

// What a program computes between two calls is taken for spinning on a machine this slow (100 ms of CPU time, or 0.5
// ms; docs/mechanisms/virtual-time.md). Its results are then right, but not the same digits twice, and it says so.
inline bool may_be_taken_for_spinning() {
  return slowed(1) > 1;
}

// The command that ends another one after so many seconds.
inline std::string timeout(int seconds, const std::string& options = "") {
  return "timeout " + options + " " + std::to_string(slowed(seconds)) + " ";
}

}  // namespace weft::test
