// For tests that ask the world's side directly, with no program: nobody waits for threads.
#pragma once

#include <memory>

#include "live/os/node.h"

namespace weft::live {

struct NoThreads final : ThreadWaiter {
  Outcome wait_for(Thread&, Request&) override { return Outcome::kGone; }
  bool is_awake(const Thread&) override { return false; }
  void execute(const std::shared_ptr<Thread>&, const Request&, Time_ps) override {}
  void thread_ended(const std::shared_ptr<Thread>&, Time_ps) override {}
};

}  // namespace weft::live
