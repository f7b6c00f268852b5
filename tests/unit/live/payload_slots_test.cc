// Payload between a process's memory and slots of the pool: the right bytes, in their order, and every slot comes back.
#include <gtest/gtest.h>
#include <unistd.h>

#include <numeric>

#include "live/os/pending_writes.h"
#include "live/os/post_queue.h"

namespace weft::live {
namespace {

std::vector<std::uint8_t> numbered(std::size_t size_B) {
  std::vector<std::uint8_t> bytes(size_B);
  std::iota(bytes.begin(), bytes.end(), std::uint8_t{1});
  return bytes;
}
std::uint64_t address_of(const void* memory) {
  return reinterpret_cast<std::uint64_t>(memory);
}

TEST(PendingWrites, SettlesWhatIsVisibleInOrder) {
  nic::PayloadPool pool;
  PendingWrites writes;
  const std::vector<std::uint8_t> source = numbered(6000);  // more than a slot
  std::vector<std::uint8_t> memory(6000, 0);
  writes.add(address_of(memory.data()), source, pool, 100);
  const std::uint8_t last = 0xee;
  writes.add(address_of(memory.data()), {&last, 1}, pool, 50);  // it does not pass the one before
  writes.settle(getpid(), 99);
  EXPECT_EQ(memory[1], 0);
  writes.settle(getpid(), 100);
  EXPECT_EQ(memory[0], 0xee);
  EXPECT_TRUE(std::equal(source.begin() + 1, source.end(), memory.begin() + 1));
  EXPECT_TRUE(writes.empty());
  EXPECT_EQ(pool.in_use(), 0U);
}

TEST(PendingWrites, OneLostPageDoesNotStopOthers) {
  nic::PayloadPool pool;
  PendingWrites writes;
  const std::vector<std::uint8_t> source = numbered(8);
  std::vector<std::uint8_t> memory(8, 0);
  writes.add(16, source, pool, 0);  // never mapped
  writes.add(address_of(memory.data()), source, pool, 0);
  writes.settle(getpid(), 0);
  EXPECT_EQ(memory, source);
  EXPECT_EQ(pool.in_use(), 0U);
}

TEST(PendingWrites, ClearGivesSlotsBack) {
  nic::PayloadPool pool;
  PendingWrites writes;
  std::uint8_t byte = 0;
  const std::uint32_t slot = pool.take();
  // Two parts of one slot: it goes back once.
  writes.add({kSecond_ps, address_of(&byte), 1, slot, 0, false}, pool);
  writes.add({kSecond_ps, address_of(&byte), 1, slot, 1, true}, pool);
  writes.clear();
  EXPECT_TRUE(writes.empty());
  EXPECT_EQ(pool.in_use(), 0U);
}

TEST(ReadAhead, PacketsHaveTheirBytesAndSlots) {
  nic::PayloadPool pool;
  ReadAhead ahead;
  const std::vector<std::uint8_t> memory = numbered(4096 + 2 + 3);
  ASSERT_TRUE(ahead.add(7, 0, 4096, pool));
  ASSERT_TRUE(ahead.add(8, 0, 2, pool));
  ASSERT_TRUE(ahead.add(9, 0, 3, pool));
  const iovec from{const_cast<std::uint8_t*>(memory.data()), memory.size()};
  ASSERT_TRUE(ahead.read(getpid(), {&from, 1}));
  EXPECT_EQ(ahead.take(7, 0, 4095, pool), engine::kNoSlot) << "of another size";
  std::size_t at = 0;
  for (const auto& [number, size_B] : {std::pair{7U, 4096U}, {8U, 2U}, {9U, 3U}}) {
    const std::uint32_t slot = ahead.take(number, 0, size_B, pool);
    ASSERT_NE(slot, engine::kNoSlot);
    EXPECT_TRUE(std::equal(memory.begin() + static_cast<std::ptrdiff_t>(at),
                           memory.begin() + static_cast<std::ptrdiff_t>(at + size_B), pool[slot].begin()))
        << number;
    pool.give_back(slot);
    at += size_B;
  }
  EXPECT_EQ(ahead.take(7, 0, 4096, pool), engine::kNoSlot) << "it has gone out";
  EXPECT_NE(ahead.take(8, 0, 2, pool), engine::kNoSlot) << "small ones may go out again";
  ahead.clear(pool);
  EXPECT_EQ(pool.in_use(), 1U) << "the packet's own";
}

TEST(ReadAhead, HasRoomForSixteenPackets) {
  nic::PayloadPool pool;
  ReadAhead ahead;
  std::uint32_t count = 0;
  while (count < 100 && ahead.add(1, count * 4096, 4096, pool)) ++count;
  EXPECT_EQ(count, 16U);
  ahead.cut(10, pool);
  EXPECT_EQ(pool.in_use(), 10U);
  ahead.clear(pool);
  EXPECT_EQ(pool.in_use(), 0U);
}

}  // namespace
}  // namespace weft::live
