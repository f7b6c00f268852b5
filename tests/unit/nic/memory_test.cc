#include "nic/memory.h"

#include <gtest/gtest.h>

namespace weft::nic {
namespace {

TEST(Memory, KeysNameTheirRegion) {
  MemoryTable table(1, 0);
  std::uint32_t a = table.add(0x1000, 100, {});
  std::uint32_t b = table.add(0x2000, 200, {});
  EXPECT_NE(a, b);
  ASSERT_NE(table.find(a), nullptr);
  EXPECT_EQ(table.find(a)->va, 0x1000U);
  EXPECT_EQ(table.find(b)->length_B, 200U);
  EXPECT_EQ(table.find(a ^ 1), nullptr);
  EXPECT_EQ(table.find(0), nullptr);
  EXPECT_EQ(table.find(b + 0x100), nullptr);
}

TEST(Memory, AnInvalidatedKeyIsUnknown) {
  MemoryTable table(1, 0);
  std::uint32_t key = table.add(0x1000, 100, {});
  table.find(key)->valid = false;
  EXPECT_EQ(table.find(key), nullptr);
}

TEST(Memory, CoversExactlyItsBytes) {
  MemoryRegion region;
  region.va = 0x1000;
  region.length_B = 100;
  EXPECT_TRUE(region.covers(0x1000, 100));
  EXPECT_TRUE(region.covers(0x1000 + 99, 1));
  EXPECT_TRUE(region.covers(0x1000 + 100, 0));
  EXPECT_FALSE(region.covers(0x1000, 101));
  EXPECT_FALSE(region.covers(0x1000 + 100, 1));
  EXPECT_FALSE(region.covers(0xfff, 1));
  EXPECT_FALSE(region.covers(0x1001, 0xffffffffffffffffULL)) << "no overflow";
  EXPECT_FALSE(region.covers(0xffffffffffffffffULL, 2));
}

TEST(Memory, BytesAreReadAndWrittenAtTheirAddress) {
  MemoryTable table(1, 0);
  std::vector<std::uint8_t> bytes(16);
  MemoryRegion& region = *table.find(table.add(0x1000, 16, {}, bytes));
  const std::uint8_t in[] = {1, 2, 3};
  MemoryTable::write(region, 0x1005, in);
  EXPECT_EQ(bytes[4], 0);
  EXPECT_EQ(bytes[5], 1);
  EXPECT_EQ(bytes[7], 3);
  EXPECT_EQ(bytes[8], 0);
  std::uint8_t out[4] = {};
  MemoryTable::read(region, 0x1004, out);
  EXPECT_EQ(std::vector<std::uint8_t>(out, out + 4), (std::vector<std::uint8_t>{0, 1, 2, 3}));
}

TEST(Memory, ARegionWithoutBytesReadsAsAPatternOfItsOffset) {
  MemoryTable table(1, 0);
  MemoryRegion& region = *table.find(table.add(0x1000, 100'000, {}));
  std::uint8_t whole[600];
  MemoryTable::read(region, 0x1000, whole);
  std::uint8_t part[100];
  MemoryTable::read(region, 0x1000 + 250, part);
  EXPECT_TRUE(std::equal(part, part + 100, whole + 250));
  EXPECT_NE(whole[1], whole[2]);
}

TEST(MemoryDeathTest, BytesMustCoverTheRegion) {
  MemoryTable table(1, 0);
  std::vector<std::uint8_t> bytes(15);
  EXPECT_DEATH(table.add(0x1000, 16, {}, bytes), "length differ");
}

}  // namespace
}  // namespace weft::nic
