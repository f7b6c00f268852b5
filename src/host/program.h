// A program on a host's CPU: a loop that posts, polls and waits. It is stepped at the times it asks for,
// and when something that it waits for becomes visible. Between two steps it may be any number of instructions ahead
// of nothing: every observation (a poll) happens at the time of its step.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace weft::nic {
class Device;
}

namespace weft::host {

class Program {
 public:
  virtual ~Program() = default;
  // Runs at `now_ps`; returns when it wants to run again, or kNever_ps to wait for a completion or a memory write.
  virtual Time_ps step(Time_ps now_ps) = 0;
  // A completion queue for which the program waits has an entry, visible from then on; `tag` is the queue's.
  virtual void completion_visible(std::uint32_t tag, Time_ps visible_ps) { (void)tag, (void)visible_ps; }
  // A WRITE into memory that the program watches is visible from `visible_ps` on.
  virtual void memory_written(Time_ps visible_ps) { (void)visible_ps; }
  // The same, for a program that watches several: which.
  virtual void region_written(const nic::Device& device, std::uint32_t key, Time_ps visible_ps) {
    (void)device, (void)key;
    memory_written(visible_ps);
  }
};

}  // namespace weft::host
