#include "serve/http/connection_threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <thread>

namespace weft::serve {
namespace {

using namespace std::chrono_literals;

TEST(ConnectionThreads, RefusesBeyondLimit) {
  ConnectionThreads threads(3);
  std::latch go(1);
  std::atomic<int> ran{0};
  const auto job = [&] {
    go.wait();
    ++ran;
  };
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(threads.enqueue(job)) << i;
  EXPECT_FALSE(threads.enqueue(job));
  go.count_down();
  for (int i = 0; i < 1000 && ran < 3; ++i) std::this_thread::sleep_for(1ms);
  // A thread that has finished takes another.
  bool taken = false;
  for (int i = 0; i < 1000 && !taken; ++i) {
    taken = threads.enqueue(job);
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_TRUE(taken);
  threads.shutdown();
  EXPECT_EQ(ran, 4);
}

}  // namespace
}  // namespace weft::serve
