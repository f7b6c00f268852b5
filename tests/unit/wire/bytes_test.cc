#include "wire/bytes.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>

namespace weft::wire {
namespace {

TEST(Bytes, BigEndianIsMostSignificantFirst) {
  const std::array<std::uint8_t, 8> bytes = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef};
  EXPECT_EQ(be16(bytes, 1), 0x2345);
  EXPECT_EQ(be24(bytes, 1), 0x234567U);
  EXPECT_EQ(be32(bytes, 4), 0x89abcdefU);
  EXPECT_EQ(be64(bytes, 0), 0x0123456789abcdefU);
  EXPECT_EQ(le32(bytes, 0), 0x67452301U);
}

TEST(Bytes, TwentyFourBitStoreDropsTopByteOnly) {
  std::array<std::uint8_t, 5> bytes = {0xaa, 0xaa, 0xaa, 0xaa, 0xaa};
  put_be24(bytes, 1, 0xff123456);
  EXPECT_EQ(bytes, (std::array<std::uint8_t, 5>{0xaa, 0x12, 0x34, 0x56, 0xaa}));
}

RC_GTEST_PROP(Bytes, StoreThenLoad, (std::uint16_t a, std::uint32_t b, std::uint64_t c)) {
  std::array<std::uint8_t, 16> bytes{};
  put_be16(bytes, 1, a);
  put_be32(bytes, 3, b);
  put_be64(bytes, 7, c);
  RC_ASSERT(be16(bytes, 1) == a);
  RC_ASSERT(be32(bytes, 3) == b);
  RC_ASSERT(be64(bytes, 7) == c);
  put_le32(bytes, 3, b);
  RC_ASSERT(le32(bytes, 3) == b);
  RC_ASSERT(be32(bytes, 3) == __builtin_bswap32(b));
}

}  // namespace
}  // namespace weft::wire
