#include "nic/queues/completion_queue.h"

#include <gtest/gtest.h>

#include "support/resident.h"

namespace weft::nic {
namespace {

Completion entry(std::uint64_t id, Time_ps visible_ps) {
  Completion c;
  c.wr_id = id;
  c.visible_ps = visible_ps;
  return c;
}

TEST(CompletionQueue, EntryIsVisibleFromItsTime) {
  CompletionQueue queue(4);
  EXPECT_EQ(queue.peek(kNever_ps), nullptr);
  EXPECT_EQ(queue.next_visible_ps(), kNever_ps);
  EXPECT_EQ(queue.push(entry(7, 100)), 100);
  EXPECT_EQ(queue.peek(99), nullptr);
  ASSERT_NE(queue.peek(100), nullptr);
  EXPECT_EQ(queue.peek(100)->wr_id, 7U);
  EXPECT_EQ(queue.next_visible_ps(), 100);
  queue.pop();
  EXPECT_EQ(queue.peek(kNever_ps), nullptr);
}

TEST(CompletionQueue, EntriesKeepOrder) {
  CompletionQueue queue(4);
  queue.push(entry(1, 200));
  EXPECT_EQ(queue.push(entry(2, 150)), 200);
  EXPECT_EQ(queue.peek(199), nullptr);
  queue.pop();
  EXPECT_EQ(queue.peek(200)->wr_id, 2U);
}

TEST(CompletionQueue, WrapsAround) {
  CompletionQueue queue(3);
  for (std::uint64_t i = 0; i < 20; ++i) {
    queue.push(entry(2 * i, 0));
    queue.push(entry(2 * i + 1, 0));
    ASSERT_EQ(queue.peek(0)->wr_id, 2 * i);
    queue.pop();
    ASSERT_EQ(queue.peek(0)->wr_id, 2 * i + 1);
    queue.pop();
  }
}

// The largest that a program may ask for.
TEST(CompletionQueue, MemoryComesWithUse) {
  const std::int64_t before_B = support::resident_B();
  CompletionQueue queue(8'388'672);
  EXPECT_LT(support::resident_B() - before_B, 8 << 20);
  // Growing with entries on both sides of its end.
  std::uint64_t pushed = 0, popped = 0;
  for (int round = 0; round < 8; ++round) {
    for (int i = 0; i < 900; ++i) EXPECT_EQ(queue.push(entry(pushed++, 0)), 0);
    for (int i = 0; i < 300; ++i, queue.pop()) ASSERT_EQ(queue.peek(0)->wr_id, popped++);
  }
  for (; popped < pushed; queue.pop()) ASSERT_EQ(queue.peek(0)->wr_id, popped++);
  EXPECT_EQ(queue.peek(kNever_ps), nullptr);
  EXPECT_EQ(queue.lost(), 0U);
}

TEST(CompletionQueue, OverrunIsAtItsCapacity) {
  CompletionQueue queue(3000);
  for (int i = 0; i < 3000; ++i) ASSERT_EQ(queue.push(entry(1, 0)), 0);
  EXPECT_EQ(queue.push(entry(1, 0)), kNever_ps);
  EXPECT_EQ(queue.lost(), 1U);
}

TEST(CompletionQueue, OverrunLosesAllFurtherEntries) {
  CompletionQueue queue(2);
  queue.push(entry(1, 10));
  EXPECT_EQ(queue.push(entry(2, 20)), 20);
  EXPECT_EQ(queue.lost(), 0U);
  EXPECT_EQ(queue.push(entry(3, 30)), kNever_ps);
  EXPECT_EQ(queue.lost(), 1U);
  queue.pop();
  EXPECT_EQ(queue.peek(20)->wr_id, 2U) << "what was there stays";
  EXPECT_EQ(queue.push(entry(4, 40)), kNever_ps) << "an overrun queue is of no use";
  EXPECT_EQ(queue.lost(), 2U);
  queue.pop();
  EXPECT_EQ(queue.peek(kNever_ps), nullptr);
}

}  // namespace
}  // namespace weft::nic
