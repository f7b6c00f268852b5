#include "wire/ipv4.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "unit/wire/arbitrary.h"
#include "unit/wire/hex.h"
#include "unit/wire/public_frames.h"

namespace weft::wire {
namespace {

TEST(Ipv4, ReadsConnectXPacket) {
  const auto view = Ipv4View::parse(Bytes(kCx4Cnp).subspan(14));
  ASSERT_TRUE(view);
  EXPECT_EQ(view->header_size_B(), 20U);
  EXPECT_EQ(view->tos(), tos(48, Ecn::kEct0));
  EXPECT_EQ(view->total_length_B(), 60);
  EXPECT_EQ(view->id(), 0x718c);
  EXPECT_TRUE(view->dont_fragment());
  EXPECT_FALSE(view->is_fragment());
  EXPECT_EQ(view->ttl(), 64);
  EXPECT_EQ(view->protocol(), kIpProtocolUdp);
  EXPECT_EQ(view->checksum(), 0x9161);
  EXPECT_TRUE(view->checksum_ok());
  EXPECT_EQ(view->src(), (Ipv4Address{10, 0, 17, 1}));
  EXPECT_EQ(view->dst(), (Ipv4Address{10, 0, 18, 1}));
  EXPECT_EQ(view->payload().size(), 40U);
}

TEST(Ipv4, ChecksumCoversEveryByte) {
  auto packet = std::vector<std::uint8_t>(kCx4Cnp.begin() + 14, kCx4Cnp.end());
  for (std::size_t at = 1; at < kIpv4Size_B; ++at) {
    if (at == 2 || at == 3) continue;  // the length: parse refuses it first
    packet[at] ^= 0x10;
    const auto view = Ipv4View::parse(packet);
    ASSERT_TRUE(view) << at;
    EXPECT_FALSE(view->checksum_ok()) << at;
    packet[at] ^= 0x10;
  }
}

TEST(Ipv4, ChecksumOfOddLength) {
  EXPECT_EQ(internet_checksum(hex("01")), 0xfeff);
  EXPECT_EQ(internet_checksum(hex("ffff 0001")), 0xfffe) << "the carry comes back";
  EXPECT_EQ(internet_checksum({}), 0xffff);
}

TEST(Ipv4, RejectsInconsistentLengths) {
  auto packet = std::vector<std::uint8_t>(kCx4Cnp.begin() + 14, kCx4Cnp.end());
  EXPECT_EQ(Ipv4View::parse(Bytes(packet).first(19)).error(), WireError::kTruncated);
  EXPECT_EQ(Ipv4View::parse(Bytes(packet).first(59)).error(), WireError::kTruncated);
  packet[0] = 0x65;
  EXPECT_EQ(Ipv4View::parse(packet).error(), WireError::kBadIpVersion);
  packet[0] = 0x44;
  EXPECT_EQ(Ipv4View::parse(packet).error(), WireError::kBadIpHeaderLength);
  packet[0] = 0x4f;
  packet[3] = 59;  // shorter than its header of 60
  EXPECT_EQ(Ipv4View::parse(packet).error(), WireError::kBadIpHeaderLength);
}

TEST(Ipv4, TosFields) {
  EXPECT_EQ(tos(26, Ecn::kEct0), 106);
  EXPECT_EQ(tos(26, Ecn::kCe), 107);
  EXPECT_EQ(dscp_of_tos(106), 26);
  EXPECT_EQ(ecn_of_tos(107), Ecn::kCe);
}

RC_GTEST_PROP(Ipv4, RoundTrip, ()) {
  const auto payload_B = static_cast<std::uint16_t>(any_below(200));
  const Ipv4Header header{.tos = any<std::uint8_t>(),
                          .total_length_B = static_cast<std::uint16_t>(kIpv4Size_B + payload_B),
                          .id = any<std::uint16_t>(),
                          .dont_fragment = any<bool>(),
                          .ttl = any<std::uint8_t>(),
                          .protocol = any<std::uint8_t>(),
                          .src = any_bytes<4>(),
                          .dst = any_bytes<4>()};
  std::array<std::uint8_t, 256> bytes{};
  write_ipv4(header, bytes);
  const auto view = Ipv4View::parse(bytes);
  RC_ASSERT(view.has_value());
  RC_ASSERT(view->header() == header);
  RC_ASSERT(view->checksum_ok());
  RC_ASSERT(view->payload().size() == payload_B);
}

}  // namespace
}  // namespace weft::wire
