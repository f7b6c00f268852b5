#include "fabric/shared_buffer.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

namespace weft::fabric {
namespace {

using Place = SharedBuffer::Place;

constexpr std::uint32_t kCell_B = 100;
constexpr std::uint32_t kLossless = 3, kLossy = 0;

// Cells of 100 bytes, a pool of 1000 of them, group 3 lossless.
struct Memory {
  SwitchModel model;
  SwitchQos qos;
  std::vector<SwitchPortConfig> ports;

  explicit Memory(std::size_t port_count = 4) : ports(port_count) {
    model.cell_B = kCell_B;
    qos.ingress_pool_B = 1000 * kCell_B;
    qos.egress_pool_B = 1000 * kCell_B;
    qos.groups[kLossless].lossless = true;
    qos.queues[kLossless].lossless = true;
    for (SwitchPortConfig& port : ports) port.headroom_B[kLossless] = 50 * kCell_B;
  }
  SharedBuffer buffer() const { return {model, qos, ports}; }
};

// How many cells a group gets, one by one.
std::uint32_t fill(SharedBuffer& buffer, std::uint32_t port, std::uint32_t g, Place place) {
  std::uint32_t count = 0;
  while (buffer.admit(0, port, g, 1) == place) ++count;
  return count;
}

TEST(SharedBuffer, CountsWholeCells) {
  for (std::uint32_t cell_B : {80U, 96U, 100U, 144U, 192U, 208U, 254U, 256U}) {
    Memory memory;
    memory.model.cell_B = cell_B;
    SharedBuffer buffer = memory.buffer();
    for (std::uint32_t bytes = 1; bytes < 10'000; ++bytes) {
      ASSERT_EQ(buffer.cells(bytes), bytes / cell_B + (bytes % cell_B != 0 ? 1 : 0)) << bytes << " in " << cell_B;
    }
  }
}

// One group with alpha = 2^n takes a cell as long as what it holds with it is at most alpha times what was free before:
// h <= alpha * (1000 - (h - 1)), so h = floor(alpha * 1001 / (1 + alpha)).
TEST(SharedBuffer, DynamicThresholdOfOneGroup) {
  const std::map<int, std::uint32_t> held = {
      {-3, 111},  // 1001 / 9 = 111.2
      {-2, 200},  // 1001 / 5 = 200.2
      {-1, 333},  // 1001 / 3 = 333.7
      {0, 500},   // 1001 / 2 = 500.5
      {1, 667},   // 2002 / 3 = 667.3
      {2, 800},   // 4004 / 5 = 800.8
      {3, 889},   // 8008 / 9 = 889.8
  };
  for (auto [exponent, cells] : held) {
    Memory memory;
    memory.qos.groups[kLossy].alpha_exponent = static_cast<std::int8_t>(exponent);
    SharedBuffer buffer = memory.buffer();
    EXPECT_EQ(fill(buffer, 0, kLossy, Place::kShared), cells) << "alpha 2^" << exponent;
    EXPECT_EQ(buffer.admit(0, 0, kLossy, 1), Place::kNone);
    EXPECT_EQ(buffer.max_shared_B(0, kLossy), cells * kCell_B);
    EXPECT_EQ(buffer.max_used_B(), cells * kCell_B);
  }
}

// N groups that all want more end at alpha * B / (1 + alpha * N): docs/mechanisms/shared-buffer.md.
TEST(SharedBuffer, FourGroupsWithAlphaOneGetOneFifthEach) {
  SharedBuffer buffer = Memory().buffer();
  bool any = true;
  while (any) {
    any = false;
    for (std::uint32_t port = 0; port < 4; ++port) any |= buffer.admit(0, port, kLossy, 1) == Place::kShared;
  }
  for (std::uint32_t port = 0; port < 4; ++port)
    EXPECT_NEAR(static_cast<double>(buffer.max_shared_B(port, kLossy)), 200 * kCell_B, kCell_B);
}

TEST(SharedBuffer, ReservedCellsAreOutsidePool) {
  Memory memory;
  memory.qos.groups[kLossy].reserved_B = 10 * kCell_B - 50;  // rounded up: 10 cells
  SharedBuffer buffer = memory.buffer();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(buffer.admit(0, 0, kLossy, 1), Place::kShared);
  EXPECT_EQ(buffer.max_used_B(), 0U);
  EXPECT_EQ(buffer.admit(0, 0, kLossy, 1), Place::kShared);
  EXPECT_EQ(buffer.max_used_B(), kCell_B);
  // 10 of its own and 500 of the pool, as without a reserve.
  EXPECT_EQ(fill(buffer, 0, kLossy, Place::kShared), 510U - 11);
}

TEST(SharedBuffer, ReserveIsAvailableWhenPoolIsFull) {
  Memory memory;
  memory.qos.groups[kLossy].alpha_exponent = 7;
  memory.qos.groups[1].reserved_B = 2 * kCell_B;
  SharedBuffer buffer = memory.buffer();
  for (std::uint32_t port = 0; port < 4; ++port) fill(buffer, port, kLossy, Place::kShared);
  EXPECT_EQ(buffer.max_used_B(), buffer.pool_B());
  EXPECT_EQ(buffer.admit(0, 2, 1, 2), Place::kShared);
  EXPECT_EQ(buffer.admit(0, 2, 1, 1), Place::kNone);
}

TEST(SharedBuffer, AlphaAboveOneNeverOverfillsPool) {
  Memory memory;
  memory.qos.groups[kLossy].alpha_exponent = 7;
  SharedBuffer buffer = memory.buffer();
  EXPECT_EQ(buffer.admit(0, 0, kLossy, 900), Place::kShared);
  EXPECT_EQ(buffer.admit(0, 1, kLossy, 101), Place::kNone) << "100 are left, though the threshold is 12800";
  EXPECT_EQ(buffer.admit(0, 1, kLossy, 100), Place::kShared);
}

TEST(SharedBuffer, OnlyLosslessGroupsHaveHeadroom) {
  SharedBuffer buffer = Memory().buffer();
  EXPECT_EQ(fill(buffer, 0, kLossless, Place::kShared), 500U);  // its last, refused, cell went to the headroom
  EXPECT_EQ(buffer.group(0, 0, kLossless).headroom, 1U);
  EXPECT_EQ(fill(buffer, 0, kLossless, Place::kHeadroom), 49U);
  EXPECT_EQ(buffer.admit(0, 0, kLossless, 1), Place::kNone);
  EXPECT_EQ(buffer.max_headroom_B(0, kLossless), 50 * kCell_B);
  EXPECT_EQ(buffer.max_used_B(), 500 * kCell_B) << "headroom is no part of the shared pool";
  EXPECT_EQ(buffer.max_headroom_B(1, kLossless), 0U);
}

TEST(SharedBuffer, DropsWholePacketBeyondHeadroom) {
  SharedBuffer buffer = Memory().buffer();
  fill(buffer, 0, kLossless, Place::kShared);
  EXPECT_EQ(buffer.admit(0, 0, kLossless, 50), Place::kNone) << "49 are left";
  EXPECT_EQ(buffer.group(0, 0, kLossless).headroom, 1U);
  EXPECT_EQ(buffer.admit(0, 0, kLossless, 49), Place::kHeadroom);
}

TEST(SharedBuffer, SharedHeadroomPoolLimitsSumOfGroups) {
  Memory memory;
  memory.qos.headroom_pool_B = 70 * kCell_B;
  memory.qos.groups[kLossless].alpha_exponent = -3;
  SharedBuffer buffer = memory.buffer();
  for (std::uint32_t port = 0; port < 2; ++port) fill(buffer, port, kLossless, Place::kShared);
  EXPECT_EQ(buffer.admit(0, 0, kLossless, 49), Place::kHeadroom);
  EXPECT_EQ(buffer.admit(0, 0, kLossless, 1), Place::kNone) << "its own limit of 50";
  // 50 of 70 are used by port 0 and one by port 1.
  EXPECT_EQ(fill(buffer, 1, kLossless, Place::kHeadroom), 19U);
  buffer.release(0, 0, kLossless, 5);
  EXPECT_EQ(fill(buffer, 1, kLossless, Place::kHeadroom), 5U);
}

TEST(SharedBuffer, ReleaseFreesHeadroomFirst) {
  SharedBuffer buffer = Memory().buffer();
  fill(buffer, 0, kLossless, Place::kShared);
  EXPECT_EQ(buffer.admit(0, 0, kLossless, 9), Place::kHeadroom);  // 10 with the one before
  buffer.release(0, 0, kLossless, 4);
  EXPECT_EQ(buffer.group(0, 0, kLossless).headroom, 6U);
  EXPECT_EQ(buffer.group(0, 0, kLossless).shared, 500U);
  buffer.release(0, 0, kLossless, 10);
  EXPECT_EQ(buffer.group(0, 0, kLossless).headroom, 0U);
  EXPECT_EQ(buffer.group(0, 0, kLossless).shared, 496U);
  buffer.release(0, 0, kLossless, 496);
  EXPECT_TRUE(buffer.is_empty());
}

TEST(SharedBuffer, XonBelowDynamicLimitMinusOffset) {
  Memory memory;
  memory.qos.groups[kLossless].xon_offset_B = 100 * kCell_B;
  SharedBuffer buffer = memory.buffer();
  fill(buffer, 0, kLossless, Place::kShared);  // 500 shared, 1 in the headroom
  EXPECT_FALSE(buffer.is_below_xon(0, 0, kLossless));
  buffer.release(0, 0, kLossless, 1);
  EXPECT_FALSE(buffer.is_below_xon(0, 0, kLossless)) << "the headroom is empty, but the limit is 500";
  // h <= (1000 - h) - 100: at 450.
  buffer.release(0, 0, kLossless, 49);
  EXPECT_FALSE(buffer.is_below_xon(0, 0, kLossless)) << "451";
  buffer.release(0, 0, kLossless, 1);
  EXPECT_TRUE(buffer.is_below_xon(0, 0, kLossless)) << "450";
  // Somebody else's 100 move it: at most 900 - 450 - 100 = 350.
  EXPECT_EQ(buffer.admit(0, 1, kLossy, 100), Place::kShared);
  EXPECT_FALSE(buffer.is_below_xon(0, 0, kLossless));
}

TEST(SharedBuffer, XonAtFixedThresholdIfHigher) {
  Memory memory;
  memory.qos.groups[kLossless].xon_B = 20 * kCell_B;
  memory.qos.groups[kLossless].xon_offset_B = 5000 * kCell_B;  // never
  SharedBuffer buffer = memory.buffer();
  fill(buffer, 0, kLossless, Place::kShared);
  buffer.release(0, 0, kLossless, 501 - 21);
  EXPECT_FALSE(buffer.is_below_xon(0, 0, kLossless));
  buffer.release(0, 0, kLossless, 1);
  EXPECT_TRUE(buffer.is_below_xon(0, 0, kLossless)) << "20";
}

TEST(SharedBuffer, XonRequiresEmptyHeadroom) {
  Memory memory;
  memory.qos.groups[kLossless].xon_B = 1000 * kCell_B;
  SharedBuffer buffer = memory.buffer();
  fill(buffer, 0, kLossless, Place::kShared);
  EXPECT_FALSE(buffer.is_below_xon(0, 0, kLossless));
  buffer.release(0, 0, kLossless, 1);
  EXPECT_TRUE(buffer.is_below_xon(0, 0, kLossless));
}

TEST(SharedBuffer, SlicesByIngressPipe) {
  Memory memory(8);
  memory.model.buffer_split = BufferSplit::kIngressPipe;
  memory.model.pipes = 4;
  memory.model.buffer_slices = 2;
  SharedBuffer buffer = memory.buffer();
  for (std::uint32_t in = 0; in < 8; ++in) {
    for (std::uint32_t out = 0; out < 8; ++out) EXPECT_EQ(buffer.slice(in, out), in / 4) << in << " " << out;
  }
  EXPECT_EQ(buffer.pool_B(), 1000 * kCell_B) << "the memory is divided, not multiplied";
  // Alpha 1: half of a slice of 500, and what happens in the other slice does not matter.
  EXPECT_EQ(fill(buffer, 0, kLossy, Place::kShared), 250U);
  std::uint32_t count = 0;
  while (buffer.admit(1, 5, kLossy, 1) == Place::kShared) ++count;
  EXPECT_EQ(count, 250U);
}

TEST(SharedBuffer, SlicesByPipePair) {
  Memory memory(8);
  memory.model.buffer_split = BufferSplit::kPipePair;
  memory.model.pipes = 4;
  memory.model.buffer_slices = 4;
  SharedBuffer buffer = memory.buffer();
  for (std::uint32_t in = 0; in < 8; ++in) {
    for (std::uint32_t out = 0; out < 8; ++out)
      EXPECT_EQ(buffer.slice(in, out), in / 4 * 2 + out / 4) << in << " " << out;
  }
}

TEST(SharedBuffer, OneSharedMemoryHasOneSlice) {
  Memory memory(8);
  memory.model.pipes = 4;
  memory.model.buffer_slices = 4;
  SharedBuffer buffer = memory.buffer();
  EXPECT_EQ(buffer.slice(7, 0), 0U);
  EXPECT_EQ(buffer.pool_B(), 1000 * kCell_B);
}

TEST(SharedBuffer, LossyQueueHasOwnThreshold) {
  Memory memory;
  memory.qos.queues[kLossy].alpha_exponent = -1;
  memory.qos.queues[kLossy].reserved_B = 10 * kCell_B;
  SharedBuffer buffer = memory.buffer();
  std::uint32_t held = 0;
  for (; buffer.egress_has_room(0, kLossy, held, 1); ++held) buffer.egress_take(kLossy, held, 1);
  // 10 reserved and x of the pool: 10 + x <= 10 + (1000 - (x - 1)) / 2, so x = 333.
  EXPECT_EQ(held, 343U);
  std::uint32_t second = 0;  // another queue: its own reserve, and y <= (1000 - 333 - (y - 1)) / 2, so y = 222
  for (; buffer.egress_has_room(0, kLossy, second, 1); ++second) buffer.egress_take(kLossy, second, 1);
  EXPECT_EQ(second, 232U);
  buffer.egress_give(kLossy, second, second);
  EXPECT_FALSE(buffer.egress_has_room(0, kLossy, held, 1)) << "back where it was";
  buffer.egress_give(kLossy, held, 1);
  EXPECT_TRUE(buffer.egress_has_room(0, kLossy, held - 1, 1));
}

TEST(SharedBuffer, LosslessQueueIsLimitedByGroupOnly) {
  SharedBuffer buffer = Memory().buffer();
  EXPECT_TRUE(buffer.egress_has_room(0, kLossless, 1'000'000, 100));
  buffer.egress_take(kLossless, 0, 1'000'000);
  EXPECT_TRUE(buffer.egress_has_room(0, kLossy, 0, 500)) << "it takes nothing of the lossy pool";
}

// Whatever comes and goes: the pool's use is what the groups hold beyond their reserves, no limit is passed, and in the
// end nothing is left.
RC_GTEST_PROP(SharedBuffer, AccountingStaysConsistent, ()) {
  Memory memory(3);
  memory.qos.ingress_pool_B = *rc::gen::inRange(0, 300) * kCell_B;
  memory.qos.headroom_pool_B = *rc::gen::element(0, 60) * kCell_B;
  for (std::size_t g = 0; g < kClasses; ++g) {
    memory.qos.groups[g].alpha_exponent = static_cast<std::int8_t>(*rc::gen::inRange(-4, 5));
    memory.qos.groups[g].reserved_B = *rc::gen::inRange(0, 20) * kCell_B;
    memory.qos.groups[g].lossless = g % 2 == 1;
    for (SwitchPortConfig& port : memory.ports) port.headroom_B[g] = 30 * kCell_B;
  }
  SharedBuffer buffer = memory.buffer();
  struct Kept {
    std::uint32_t port, g, count;
  };
  std::vector<Kept> kept;
  const std::uint32_t pool = static_cast<std::uint32_t>(memory.qos.ingress_pool_B / kCell_B);
  const auto steps = *rc::gen::container<std::vector<std::tuple<std::uint8_t, std::uint32_t, std::uint32_t>>>(
      rc::gen::tuple(rc::gen::inRange<std::uint8_t>(0, 3), rc::gen::inRange(0u, 1000u), rc::gen::inRange(1u, 12u)));
  for (auto [what, where, count] : steps) {
    if (what == 0 && !kept.empty()) {
      std::size_t i = where % kept.size();
      buffer.release(0, kept[i].port, kept[i].g, kept[i].count);
      kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      Kept packet{where % 3, where / 3 % 8, count};
      Place place = buffer.admit(0, packet.port, packet.g, packet.count);
      RC_ASSERT(place != Place::kHeadroom || memory.qos.groups[packet.g].lossless);
      if (place != Place::kNone) kept.push_back(packet);
    }
    std::uint64_t used = 0, headroom = 0;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> expected;
    for (const Kept& packet : kept) expected[{packet.port, packet.g}] += packet.count;
    for (std::uint32_t port = 0; port < 3; ++port) {
      for (std::uint32_t g = 0; g < kClasses; ++g) {
        const SharedBuffer::Group& group = buffer.group(0, port, g);
        RC_ASSERT(group.shared + group.headroom == (expected[{port, g}]));
        RC_ASSERT(group.headroom <= 30U);
        auto reserved = static_cast<std::uint32_t>(memory.qos.groups[g].reserved_B / kCell_B);
        used += group.shared > reserved ? group.shared - reserved : 0;
        headroom += group.headroom;
      }
    }
    RC_ASSERT(used <= pool);
    RC_ASSERT(memory.qos.headroom_pool_B == 0 || headroom <= 60U);
    RC_ASSERT(buffer.max_used_B() >= used * kCell_B && buffer.max_used_B() <= buffer.pool_B());
  }
  for (const Kept& packet : kept) buffer.release(0, packet.port, packet.g, packet.count);
  RC_ASSERT(buffer.is_empty());
  // The pool's own account went back too: a group gets again what an empty buffer gives.
  SharedBuffer fresh = memory.buffer();
  for (std::uint32_t count : {1U, 5U, 50U, 200U})
    RC_ASSERT(buffer.admit(0, 0, 0, count) == fresh.admit(0, 0, 0, count));
}

}  // namespace
}  // namespace weft::fabric
