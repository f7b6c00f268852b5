#include "wire/uet.h"

#include <gtest/gtest.h>

#include <string_view>

namespace weft::wire {
namespace {

Bytes bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// RFC 3720, B.4, and the check value of the CRC catalogue.
TEST(Uet, Crc32cOfKnownVectors) {
  EXPECT_EQ(crc32c(bytes_of("123456789")), 0xe3069283u);
  EXPECT_EQ(crc32c(std::vector<std::uint8_t>(32, 0)), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::vector<std::uint8_t>(32, 0xff)), 0x62a8ab43u);
}

TEST(Uet, ShortHeadersAreRefused) {
  std::vector<std::uint8_t> pds = {0x10, 0x00, 0, 0, 0, 0, 0, 9, 0, 1, 0, 2};  // type 2
  ASSERT_TRUE(parse_pds(pds));
  EXPECT_EQ(parse_pds(pds)->psn, 9u);
  for (std::size_t size_B = 0; size_B < pds.size(); ++size_B)
    EXPECT_FALSE(parse_pds(Bytes(pds).first(size_B))) << size_B;
}

}  // namespace
}  // namespace weft::wire
