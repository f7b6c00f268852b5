#include "nic/memory.h"

#include <gtest/gtest.h>

namespace weft::nic {
namespace {

TEST(Memory, KeysSelectRegion) {
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

TEST(Memory, InvalidatedKeyIsUnknown) {
  MemoryTable table(1, 0);
  std::uint32_t key = table.add(0x1000, 100, {});
  table.find(key)->valid = false;
  EXPECT_EQ(table.find(key), nullptr);
}

TEST(Memory, CoversExactRange) {
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

TEST(Memory, ReadsAndWritesBytesAtAddress) {
  MemoryTable table(1, 0);
  std::vector<std::uint8_t> bytes(16);
  MemoryRegion& region = *table.find(table.add(0x1000, 16, {}, bytes));
  const std::uint8_t in[] = {1, 2, 3};
  EXPECT_TRUE(MemoryTable::write(region, 0x1005, in, 0));
  EXPECT_EQ(bytes[4], 0);
  EXPECT_EQ(bytes[5], 1);
  EXPECT_EQ(bytes[7], 3);
  EXPECT_EQ(bytes[8], 0);
  std::uint8_t out[4] = {};
  EXPECT_TRUE(MemoryTable::read(region, 0x1004, out));
  EXPECT_EQ(std::vector<std::uint8_t>(out, out + 4), (std::vector<std::uint8_t>{0, 1, 2, 3}));
}

TEST(Memory, RegionWithoutBytesReadsAsPattern) {
  MemoryTable table(1, 0);
  MemoryRegion& region = *table.find(table.add(0x1000, 100'000, {}));
  std::uint8_t whole[600];
  EXPECT_TRUE(MemoryTable::read(region, 0x1000, whole));
  std::uint8_t part[100];
  EXPECT_TRUE(MemoryTable::read(region, 0x1000 + 250, part));
  EXPECT_TRUE(std::equal(part, part + 100, whole + 250));
  EXPECT_NE(whole[1], whole[2]);
}

// Bytes that only somebody else can reach.
struct Far {
  std::vector<std::uint8_t> bytes = std::vector<std::uint8_t>(64);
  Time_ps visible_ps = 0;
  bool gone = false;
  RegionAccess access{this, &Far::read, &Far::write};

  static bool read(void* self, std::uint64_t va, std::span<std::uint8_t> out) {
    Far& far = *static_cast<Far*>(self);
    std::copy_n(far.bytes.begin() + static_cast<std::ptrdiff_t>(va - 0x1000), out.size(), out.begin());
    return !far.gone;
  }
  static bool write(void* self, std::uint64_t va, std::span<const std::uint8_t> in, Time_ps visible_ps) {
    Far& far = *static_cast<Far*>(self);
    std::copy(in.begin(), in.end(), far.bytes.begin() + static_cast<std::ptrdiff_t>(va - 0x1000));
    far.visible_ps = visible_ps;
    return !far.gone;
  }
};

TEST(Memory, RemoteRegionUsesItsAccessFunctions) {
  MemoryTable table(1, 0);
  Far far;
  MemoryRegion& region = *table.find(table.add(0x1000, 64, {}, far.access));
  EXPECT_TRUE(region.has_bytes());
  const std::uint8_t in[] = {1, 2, 3};
  EXPECT_TRUE(MemoryTable::write(region, 0x1005, in, 77));
  EXPECT_EQ(far.visible_ps, 77);
  EXPECT_EQ(far.bytes[7], 3);
  std::uint8_t out[2] = {};
  EXPECT_TRUE(MemoryTable::read(region, 0x1006, out));
  EXPECT_EQ(out[0], 2);
  far.gone = true;
  EXPECT_FALSE(MemoryTable::read(region, 0x1006, out));
  EXPECT_FALSE(MemoryTable::write(region, 0x1005, in, 78));
}

TEST(Memory, RemovedKeyNeverMatchesNextRegion) {
  MemoryTable table(1, 0);
  std::uint32_t a = table.add(0x1000, 100, {});
  std::uint32_t b = table.add(0x2000, 100, {});
  EXPECT_TRUE(table.remove(a));
  EXPECT_EQ(table.find(a), nullptr);
  EXPECT_FALSE(table.remove(a)) << "twice";
  EXPECT_FALSE(table.remove(0));
  EXPECT_FALSE(table.remove(b ^ 1));
  table.find(b)->valid = false;
  EXPECT_TRUE(table.remove(b)) << "a peer's invalidation is no deregistration";
  std::uint32_t c = table.add(0x3000, 100, {});
  EXPECT_EQ(c >> 8, a >> 8) << "the oldest place first";
  EXPECT_NE(c, a);
  EXPECT_EQ(table.find(a), nullptr);
  EXPECT_EQ(table.find(c)->va, 0x3000U);
  EXPECT_EQ(table.add(0x4000, 100, {}) >> 8, b >> 8);
  EXPECT_EQ(table.add(0x5000, 100, {}) >> 8, 3U);
}

TEST(MemoryDeathTest, BytesMustCoverRegion) {
  MemoryTable table(1, 0);
  std::vector<std::uint8_t> bytes(15);
  EXPECT_DEATH(table.add(0x1000, 16, {}, bytes), "length differ");
}

}  // namespace
}  // namespace weft::nic
