#include "analyze/frames/uet_check.h"

#include <gtest/gtest.h>

#include "analyze/frames/decode.h"
#include "unit/analyze/finding_ids.h"

namespace weft::analyze {
namespace {

using Packet = std::vector<std::uint8_t>;

// Ethernet, IPv4, UDP 4793, the given PDS bytes, 64 bytes of payload and the CRC.
Packet uet_packet(bool from_a, std::vector<std::uint8_t> pds) {
  pds.resize(pds.size() + 64, 0x5a);
  const auto udp_B = static_cast<std::uint16_t>(8 + pds.size() + 4);
  const auto ip_B = static_cast<std::uint16_t>(20 + udp_B);
  Packet bytes(14 + ip_B, 0);
  wire::put_be16(bytes, 12, 0x0800);
  bytes[14] = 0x45;
  wire::put_be16(bytes, 16, ip_B);
  bytes[22] = 64;
  bytes[23] = 17;
  wire::put_be32(bytes, 26, from_a ? 0x0a000001 : 0x0a000002);
  wire::put_be32(bytes, 30, from_a ? 0x0a000002 : 0x0a000001);
  wire::put_be16(bytes, 24, wire::internet_checksum(wire::Bytes(bytes).subspan(14, 20)));
  wire::put_be16(bytes, 34, 0x8000);
  wire::put_be16(bytes, 36, wire::kUetUdpPort);
  wire::put_be16(bytes, 38, udp_B);
  std::copy(pds.begin(), pds.end(), bytes.begin() + 42);
  wire::put_be32(bytes, bytes.size() - 4, wire::uet_crc(wire::Bytes(bytes).subspan(14, bytes.size() - 18), 20));
  return bytes;
}

// Type, flags, PSN; source and destination context 1 and 2.
std::vector<std::uint8_t> pds_bytes(int type, int flags, std::uint32_t psn, std::size_t size_B = 12) {
  std::vector<std::uint8_t> pds(size_B);
  wire::put_be16(pds, 0, static_cast<std::uint16_t>(type << 11 | 3 << 7 | flags));
  wire::put_be32(pds, 4, psn);
  wire::put_be16(pds, 8, type <= 3 ? 1 : 2);
  wire::put_be16(pds, 10, type <= 3 ? 2 : 1);
  return pds;
}
Packet uet_request(std::uint32_t psn, int flags = 0) {
  return uet_packet(true, pds_bytes(2, flags, psn));
}
Packet uet_sack(std::uint32_t cumulative, std::uint16_t offset, std::uint64_t bitmap) {
  std::vector<std::uint8_t> pds = pds_bytes(8, 0, cumulative, 32);
  wire::put_be16(pds, 14, offset);
  wire::put_be64(pds, 16, bitmap);
  return uet_packet(false, pds);
}
Packet uet_nack(std::uint32_t psn, std::uint8_t code) {
  std::vector<std::uint8_t> pds = pds_bytes(10, 0, psn, 16);
  pds[2] = code;
  return uet_packet(false, pds);
}

struct UetCheckTest : testing::Test {
  void see(Packet bytes, std::uint32_t wire_B = 0) {
    Frame frame;
    frame.number = ++number;
    decode(1, bytes, wire_B == 0 ? static_cast<std::uint32_t>(bytes.size()) : wire_B, {}, addresses, frame);
    ASSERT_EQ(frame.kind, FrameKind::kUet);
    check.see(frame);
  }
  Ids ids() {
    Findings findings;
    check.finish(addresses, findings);
    Ids all = ids_of(findings);
    std::erase(all, "uet.seen");
    return all;
  }
  Addresses addresses;
  UetCheck check;
  std::uint64_t number = 0;
};

TEST_F(UetCheckTest, SprayedPacketsAndSackAreWell) {
  for (std::uint32_t psn : {100u, 102u, 101u, 104u, 103u}) see(uet_request(psn));
  see(uet_sack(101, 1, 0b111));
  EXPECT_EQ(ids(), Ids{});
}

TEST_F(UetCheckTest, NackAsksForRetransmission) {
  for (std::uint32_t psn : {100u, 101u, 102u}) see(uet_request(psn));
  see(uet_nack(101, 0x12));  // packet not received
  see(uet_request(101, 0x10));
  EXPECT_EQ(ids(), Ids{});
}

TEST_F(UetCheckTest, NackOfTrimmedPacket) {
  for (std::uint32_t psn : {100u, 101u}) see(uet_request(psn));
  see(uet_nack(100, 0x01));
  see(uet_request(100, 0x10));
  EXPECT_EQ(ids(), Ids{"uet.trim"});
}

TEST_F(UetCheckTest, SackLeavesOutWhatIsSentAgain) {
  for (std::uint32_t psn : {100u, 101u, 102u}) see(uet_request(psn));
  see(uet_sack(100, 1, 0b10));
  see(uet_request(101, 0x10));
  EXPECT_EQ(ids(), Ids{});
}

TEST_F(UetCheckTest, RetransmissionThatNothingAskedFor) {
  for (std::uint32_t psn : {100u, 101u, 102u}) see(uet_request(psn));
  see(uet_request(101, 0x10));
  EXPECT_EQ(ids(), Ids{"uet.timeout"});
}

TEST_F(UetCheckTest, DuplicateWithoutFlag) {
  for (std::uint32_t psn : {100u, 101u, 101u}) see(uet_request(psn));
  EXPECT_EQ(ids(), Ids{"uet.duplicate"});
}

TEST_F(UetCheckTest, WrongCrc) {
  Packet bytes = uet_request(100);
  bytes[80] ^= 1;
  see(bytes);
  EXPECT_EQ(ids(), Ids{"uet.crc"});
}

TEST_F(UetCheckTest, SackOfWhatWasNotSent) {
  see(uet_request(100));
  see(uet_sack(100, 1, 0b1));
  EXPECT_EQ(ids(), Ids{"uet.sack"});
}

// Extension headers before a UDP header with two bytes behind it: no room for a CRC.
TEST_F(UetCheckTest, TooShortForCrc) {
  Packet bytes(14 + 40 + 16 + 8 + 2, 0);
  wire::put_be16(bytes, 12, 0x86dd);
  bytes[14] = 0x60;
  wire::put_be16(bytes, 18, 16 + 8 + 2);
  bytes[20] = 60;  // destination options, two of them
  bytes[54] = 60;
  bytes[62] = 17;
  wire::put_be16(bytes, 72, wire::kUetUdpPort);
  wire::put_be16(bytes, 74, 8 + 2);
  wire::put_be16(bytes, 78, 1 << 11);
  see(bytes);
  EXPECT_EQ(ids(), Ids{"uet.crc"});
}

TEST_F(UetCheckTest, TrimmedPacket) {
  Packet bytes = uet_request(100);
  bytes.resize(80);
  see(bytes, 80);
  EXPECT_EQ(ids(), Ids{"uet.trim"});
}

TEST_F(UetCheckTest, SnappedPacketIsNotTrimmed) {
  Packet bytes = uet_request(100);
  const auto whole_B = static_cast<std::uint32_t>(bytes.size());
  bytes.resize(80);
  see(bytes, whole_B);
  EXPECT_EQ(ids(), Ids{});
}

}  // namespace
}  // namespace weft::analyze
