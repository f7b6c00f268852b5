#include "live/verbs/grh.h"

#include <gtest/gtest.h>

#include <array>

#include "fabric/link.h"
#include "wire/ipv4.h"
#include "wire/ipv6.h"

namespace weft::live {
namespace {

constexpr std::uint32_t kTransport_B = 12 + 8;  // BTH and DETH

fabric::AddressBook book(bool v4) {
  fabric::AddressBook addresses(2);
  for (std::size_t i = 0; i < 2; ++i) {
    addresses[i].v4 = v4;
    addresses[i].ip = v4 ? wire::ipv4_mapped(10, 0, 0, static_cast<std::uint8_t>(i + 1)) : wire::IpAddress{0xfd};
    addresses[i].ip[15] = static_cast<std::uint8_t>(i + 1);
  }
  return addresses;
}

engine::Packet datagram(bool v4) {
  engine::Packet packet;
  packet.src = 0;
  packet.dst = 1;
  packet.tos = 0x6a;
  packet.payload_B = 101;
  packet.header_words = static_cast<std::uint8_t>(fabric::extra_words(v4, false) + kTransport_B / 4);
  return packet;
}

// As the wire had it, so that ibv_init_ah_from_wc finds a good checksum.
TEST(Grh, HoldsWholeIpv4Header) {
  std::array<std::uint8_t, nic::kGrh_B> bytes;
  write_grh(datagram(true), book(true), nullptr, bytes);
  std::vector<std::uint8_t> whole(bytes.begin() + 20, bytes.end());
  whole.resize(1000);
  const auto ip = wire::Ipv4View::parse(whole);
  ASSERT_TRUE(ip);
  EXPECT_TRUE(ip->checksum_ok());
  EXPECT_EQ(ip->total_length_B(), 20 + 8 + kTransport_B + 104 + 4);
  EXPECT_EQ(ip->tos(), 0x6a);
  EXPECT_EQ(ip->src(), (wire::Ipv4Address{10, 0, 0, 1}));
  EXPECT_EQ(ip->dst(), (wire::Ipv4Address{10, 0, 0, 2}));
}

TEST(Grh, NamesGroupAsDestination) {
  std::array<std::uint8_t, nic::kGrh_B> bytes;
  const nic::GroupGid group = wire::ipv4_mapped(239, 1, 1, 1);
  write_grh(datagram(true), book(true), &group, bytes);
  EXPECT_TRUE(std::equal(bytes.begin() + 36, bytes.end(), group.begin() + 12));
}

TEST(Grh, HoldsIpv6Header) {
  std::array<std::uint8_t, nic::kGrh_B> bytes;
  write_grh(datagram(false), book(false), nullptr, bytes);
  std::vector<std::uint8_t> whole(bytes.begin(), bytes.end());
  whole.resize(1000);
  const auto ip = wire::Ipv6View::parse(whole);
  ASSERT_TRUE(ip);
  EXPECT_EQ(ip->payload_length_B(), 8 + kTransport_B + 104 + 4);
  EXPECT_EQ(ip->next_header(), 17);
  EXPECT_EQ(ip->traffic_class(), 0x6a);
  EXPECT_EQ(ip->dst()[15], 2);
}

}  // namespace
}  // namespace weft::live
