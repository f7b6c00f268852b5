#include "wire/mtu.h"

#include <gtest/gtest.h>

#include "wire/roce_frame.h"

namespace weft::wire {
namespace {

TEST(Mtu, PathMtuMatchesLinux) {
  EXPECT_EQ(path_mtu_from_netdev_mtu(1500), 1024U);
  EXPECT_EQ(path_mtu_from_netdev_mtu(2143), 1024U);
  EXPECT_EQ(path_mtu_from_netdev_mtu(2144), 2048U);
  EXPECT_EQ(path_mtu_from_netdev_mtu(4191), 2048U);
  EXPECT_EQ(path_mtu_from_netdev_mtu(4192), 4096U);
  EXPECT_EQ(path_mtu_from_netdev_mtu(9000), 4096U);
  EXPECT_EQ(path_mtu_from_netdev_mtu(352), 256U);
  EXPECT_EQ(path_mtu_from_netdev_mtu(351), 0U);
  EXPECT_EQ(path_mtu_from_netdev_mtu(0), 0U);
}

// 82 bytes around the payload of an IPv4 packet without extension headers: 58 headers, FCS 4, preamble 8, gap 12.
TEST(Mtu, LineCostOfMiddlePacketAndAck) {
  RoceHeaders headers;
  headers.opcode = Opcode::kWriteMiddle;
  EXPECT_EQ(line_size_B(roce_frame_size_B(headers, 256)), 338U);
  EXPECT_EQ(line_size_B(roce_frame_size_B(headers, 1024)), 1106U);
  EXPECT_EQ(line_size_B(roce_frame_size_B(headers, 4096)), 4178U);
  headers.opcode = Opcode::kAck;
  EXPECT_EQ(line_size_B(roce_frame_size_B(headers, 0)), 86U);
  EXPECT_EQ(line_size_B(1), 84U);
  headers.opcode = Opcode::kCnp;
  EXPECT_EQ(line_size_B(roce_frame_size_B(headers, 0)), 98U);
}

TEST(Mtu, InterfaceMtusGivePathMtuThatFitsOrNone) {
  std::uint32_t before_B = 0;
  for (std::uint32_t netdev_B = 0; netdev_B < 10'000; ++netdev_B) {
    const std::uint32_t path_B = path_mtu_from_netdev_mtu(netdev_B);
    EXPECT_TRUE(path_B == 0 || is_path_mtu(path_B)) << netdev_B;
    EXPECT_TRUE(path_B == 0 || path_B + kIboeHeaderReserve_B <= netdev_B) << netdev_B;
    EXPECT_GE(path_B, before_B);
    before_B = path_B;
  }
  EXPECT_FALSE(is_path_mtu(1500));
  EXPECT_FALSE(is_path_mtu(128));
  EXPECT_FALSE(is_path_mtu(8192));
}

}  // namespace
}  // namespace weft::wire
