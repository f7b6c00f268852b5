// Between engines that run one world together, each with some of its domains: threads of a test now, processes on other
// machines later. Called once in a window, by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time.h"

namespace weft::engine {

// Packets that one domain has sent to a domain of another engine in a window.
struct Parcel {
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
  std::vector<std::byte> bytes;
};

class Exchange {
 public:
  virtual ~Exchange() = default;
  // `next_ps` is when this engine has its next event, what it sends included. Returns the earliest of all engines, and
  // in `received` what they have sent to this one. All engines return from the same meeting together.
  virtual Time_ps meet(Time_ps next_ps, const std::vector<Parcel>& sent, std::vector<Parcel>& received) = 0;
};

}  // namespace weft::engine
