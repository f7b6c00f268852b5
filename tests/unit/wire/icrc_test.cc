#include "wire/icrc.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "unit/wire/hex.h"
#include "unit/wire/public_frames.h"

namespace weft::wire {
namespace {

Bytes ip_packet(const std::vector<std::uint8_t>& frame) {
  return Bytes(frame).subspan(14, frame.size() - 14 - 4);
}
std::uint32_t carried(const std::vector<std::uint8_t>& frame) {
  return le32(frame, frame.size() - 4);
}

// UC SEND Only over IPv4 (secdev/scapy, test/contrib/roce.uts); ICRC bytes 78 f3 53 f3.
const std::vector<std::uint8_t> kUcSendOnly = hex(R"(
    4501 0040 0478 4000 4011 b4d5 c0a8 0007 c0a8 0007 c000 12b7 002c aca2 2460 ffff 0000 00d3 00cf 1710
    4630 818b e289 35d9 0e9a 9550 5401 be88 5e50 0000)");

// WRITE Only of 5 bytes over IPv6, ICRC computed with Python's zlib.
const std::vector<std::uint8_t> kIpv6WriteOnly = hex(R"(
    6a81 2345 0030 113f 2001 0db8 0000 0000 0000 0000 0000 0001 2001 0db8 0000 0000 0000 0000 0000 0002
    c132 12b7 0030 0000 0a30 ffff 8000 0012 8000 00ff 0000 ffff 1234 5000 0000 abcd 0000 0005 7765 6674
    2100 0000)");

TEST(Icrc, PublishedVectors) {
  EXPECT_EQ(icrc(ip_packet(kCx4Cnp)), carried(kCx4Cnp));
  EXPECT_EQ(carried(kCx4Cnp), 0x2a00fd82U) << "bytes 82 fd 00 2a";
  EXPECT_EQ(icrc(ip_packet(kRxeReadRequest)), carried(kRxeReadRequest));
  EXPECT_EQ(icrc_v1(ip_packet(kRoceV1WriteOnly)), carried(kRoceV1WriteOnly));
  EXPECT_EQ(icrc_v1(ip_packet(kRoceV1Ack)), carried(kRoceV1Ack));
  EXPECT_EQ(icrc(kUcSendOnly), le32(hex("78f353f3"), 0));
  EXPECT_EQ(icrc(kIpv6WriteOnly), le32(hex("851983b3"), 0));
}

// The bits that can change on the way without breaking the ICRC are exactly those of `masked_bytes`.
// The IP version, and with IPv4 the header length beside it, decide how a packet is read: left alone.
template <typename Function>
void expect_masked(std::vector<std::uint8_t> packet, Function icrc_of, const std::set<std::size_t>& masked_bytes) {
  const std::uint32_t before = icrc_of(packet);
  const bool is_ipv4 = packet[0] == 0x45;
  for (std::size_t at = is_ipv4 ? 1 : 0; at < packet.size(); ++at) {
    for (int bit = 0; bit < (at == 0 ? 4 : 8); ++bit) {
      packet[at] = static_cast<std::uint8_t>(packet[at] ^ 1 << bit);
      EXPECT_EQ(icrc_of(packet) == before, masked_bytes.contains(at)) << "byte " << at << " bit " << bit;
      packet[at] = static_cast<std::uint8_t>(packet[at] ^ 1 << bit);
    }
  }
}

TEST(Icrc, Ipv4MasksTosTtlChecksumsAndCongestionBits) {
  const Bytes packet = ip_packet(kRxeReadRequest);
  expect_masked({packet.begin(), packet.end()}, icrc, {1, 8, 10, 11, 26, 27, 32});
}

TEST(Icrc, Ipv6MasksTrafficClassFlowLabelHopLimitChecksumAndCongestionBits) {
  expect_masked(kIpv6WriteOnly, icrc, {0, 1, 2, 3, 7, 46, 47, 52});
}

TEST(Icrc, RoceV1MasksGrh) {
  const Bytes packet = ip_packet(kRoceV1WriteOnly);
  expect_masked({packet.begin(), packet.end()}, icrc_v1, {0, 1, 2, 3, 7, 44});
}

TEST(IcrcDeathTest, ShortPacketBreaksInvariant) {
  EXPECT_DEATH(icrc({}), "empty");
  EXPECT_DEATH(icrc(ip_packet(kRxeReadRequest).first(39)), "shorter than its headers");
  EXPECT_DEATH(icrc(hex("46")), "neither IPv6 nor IPv4");
}

}  // namespace
}  // namespace weft::wire
