// A thread for each connection, created when needed, up to a limit; further connections are refused.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace weft::serve {

class ConnectionThreads {
 public:
  explicit ConnectionThreads(std::size_t most) : most_(most) {}
  ~ConnectionThreads() { shutdown(); }
  // False: all threads are in use.
  bool enqueue(std::function<void()> job);
  // Runs what is queued and waits for all.
  void shutdown();

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  std::vector<std::thread> threads_;
  std::size_t most_, idle_ = 0;
  bool ends_ = false;
};

}  // namespace weft::serve
