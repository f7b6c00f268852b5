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

// The command that ends another one after so many seconds.
inline std::string timeout(int seconds, const std::string& options = "") {
  return "timeout " + options + " " + std::to_string(slowed(seconds)) + " ";
}

}  // namespace weft::test
