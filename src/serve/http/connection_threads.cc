#include "serve/http/connection_threads.h"

#include <system_error>
#include <utility>

namespace weft::serve {

bool ConnectionThreads::enqueue(std::function<void()> job) {
  const std::lock_guard lock(mutex_);
  if (idle_ <= jobs_.size() && threads_.size() >= most_) return false;
  jobs_.push_back(std::move(job));
  if (idle_ < jobs_.size() && threads_.size() < most_) {
    try {
      threads_.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
      // The existing threads will run it; there is at least one, or the server would not have started.
    }
  }
  changed_.notify_one();
  return true;
}

void ConnectionThreads::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    changed_.wait(lock, [this] { return ends_ || !jobs_.empty(); });
    --idle_;
    if (jobs_.empty()) return;
    {
      const std::function<void()> job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      job();
    }
    lock.lock();
  }
}

void ConnectionThreads::shutdown() {
  std::vector<std::thread> threads;
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    threads.swap(threads_);
  }
  changed_.notify_all();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace weft::serve
