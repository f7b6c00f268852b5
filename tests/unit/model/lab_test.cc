#include "model/lab.h"

#include <gtest/gtest.h>

namespace weft::lab {
namespace {

TEST(LabModel, AddressesRoundTrip) {
  for (const char* text : {"10.0.0.1", "192.168.255.254", "fd00::1", "2001:db8::ff00:42:8329"}) {
    IpAddress address;
    std::uint32_t prefix_bits = 0;
    ASSERT_TRUE(parse_address(std::string(text) + "/20", address, prefix_bits)) << text;
    EXPECT_EQ(to_string(address), text);
    EXPECT_EQ(prefix_bits, 20U);
  }
  IpAddress address;
  std::uint32_t prefix_bits = 0;
  ASSERT_TRUE(parse_address("10.0.0.1/24", address, prefix_bits));
  EXPECT_EQ(address.bytes[9], 0);
  EXPECT_EQ(address.bytes[10], 0xff);  // ::ffff:10.0.0.1, the GID
  EXPECT_EQ(address.bytes[12], 10);
}

TEST(LabModel, RejectsInvalidAddresses) {
  IpAddress address;
  std::uint32_t prefix_bits = 0;
  for (const char* text : {"10.0.0.1", "10.0.0.1/", "10.0.0.1/33", "10.0.0.1/0", "10.0.0.1/024", "10.0.0/24",
                           "10.0.0.256/24", "fd00::1/129", "/24", "", "vm00/24"}) {
    EXPECT_FALSE(parse_address(text, address, prefix_bits)) << text;
  }
}

TEST(LabModel, Subnets) {
  const auto at = [](const char* text) {
    IpAddress address;
    std::uint32_t prefix_bits = 0;
    EXPECT_TRUE(parse_address(text, address, prefix_bits));
    return address;
  };
  EXPECT_TRUE(same_subnet(at("10.0.0.1/24"), at("10.0.0.254/24"), 24));
  EXPECT_FALSE(same_subnet(at("10.0.0.1/24"), at("10.0.1.1/24"), 24));
  EXPECT_TRUE(same_subnet(at("10.0.0.1/24"), at("10.0.1.1/24"), 23));
  EXPECT_FALSE(same_subnet(at("10.0.0.1/31"), at("10.0.0.2/31"), 31));
  EXPECT_TRUE(same_subnet(at("fd00::1/64"), at("fd00::2/64"), 64));
  EXPECT_FALSE(same_subnet(at("fd00::1/64"), at("10.0.0.1/24"), 8));
}

TEST(LabModel, Words) {
  EXPECT_EQ(to_string(CableKind::kFibre), "fibre");
  EXPECT_EQ(to_string(Fec::kBaseR), "base-r");
}

}  // namespace
}  // namespace weft::lab
