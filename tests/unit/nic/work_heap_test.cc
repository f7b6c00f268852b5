#include "nic/work_heap.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace weft::nic {
namespace {

TEST(ContextRing, KeepsOrderOnGrowth) {
  ContextRing ring;
  std::uint32_t in = 0;
  std::uint32_t out = 0;
  for (int round = 0; round < 50; ++round) {
    for (int i = 0; i < 7; ++i) ring.push(in++);
    for (int i = 0; i < 5; ++i) ASSERT_EQ(ring.pop(), out++);
  }
  while (!ring.empty()) ASSERT_EQ(ring.pop(), out++);
  EXPECT_EQ(in, out);
}

// Whatever the order of insertion: by time, then by context.
RC_GTEST_PROP(WorkHeap, OrdersByTimeAndContext, (std::vector<std::pair<std::uint8_t, std::uint8_t>> entries)) {
  WorkHeap<1> heap;
  for (auto [time, context] : entries) heap.push(time, context);
  std::sort(entries.begin(), entries.end());
  for (auto [time, context] : entries) {
    RC_ASSERT(heap.next_ps() == time);
    WorkHeap<1>::Entry entry = heap.pop();
    RC_ASSERT(entry.time_ps == time);
    RC_ASSERT(entry.context == context);
  }
  RC_ASSERT(heap.empty());
  RC_ASSERT(heap.next_ps() == kNever_ps);
}

}  // namespace
}  // namespace weft::nic
