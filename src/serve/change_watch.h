// Checks periodically, while a client listens, whether runs or worlds were added, changed or removed, and publishes it.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "serve/http/event_hub.h"
#include "serve/runs/run_list.h"

namespace weft::serve {

class ChangeWatch {
 public:
  // Both outlive it.
  ChangeWatch(EventHub& hub, RunList& runs);
  ~ChangeWatch();

 private:
  void work();

  EventHub& hub_;
  RunList& runs_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace weft::serve
