#include "fabric/lag_table.h"

#include <gtest/gtest.h>

#include <map>

namespace weft::fabric {
namespace {

constexpr auto kAllUp = [](std::uint16_t) { return false; };

Destinations lag_hosts() {
  return {{0, 0, 0x0a000001}, {1, 0, 0x0a000002}};
}
engine::PacketBody lag_packet(std::uint32_t udp_src_port) {
  engine::PacketBody packet{};
  packet.src = 0;
  packet.dst = 1;
  packet.udp_src_port = static_cast<std::uint16_t>(udp_src_port);
  return packet;
}

TEST(LagTable, MembersOfOtherPortsAreLeftAlone) {
  LagTable table;
  table.add({4, 7});
  EXPECT_EQ(table.member(3, 0, kAllUp), 3U);
  EXPECT_EQ(table.member(9, 0, kAllUp), 9U) << "beyond every member";
  EXPECT_EQ(table.member(4, 0, kAllUp), 4U);
  EXPECT_EQ(table.member(4, 0xffffffff, kAllUp), 7U);
  EXPECT_EQ(table.member(7, 0, kAllUp), 4U) << "whichever member the route names";
}

// Each quarter of the hash has a member; without one of them the others have thirds.
TEST(LagTable, MemberThatFailsGivesItsPart) {
  LagTable table;
  table.add({1, 2, 3, 5});
  const auto deal = [&](std::uint16_t down) {
    std::map<std::uint32_t, int> count;
    for (std::uint32_t i = 0; i < 1200; ++i)
      ++count[table.member(1, static_cast<std::uint32_t>((std::uint64_t{i} << 32) / 1200 + 1),
                           [&](std::uint16_t port) { return port == down; })];
    return count;
  };
  EXPECT_EQ(deal(0), (std::map<std::uint32_t, int>{{1, 300}, {2, 300}, {3, 300}, {5, 300}}));
  for (const auto& [port, flows] : deal(2)) EXPECT_NEAR(flows, 400, 1) << port;
  EXPECT_EQ(deal(2).count(2), 0U);
  EXPECT_EQ(table.member(1, 0, [](std::uint16_t) { return true; }), 1U) << "none has a signal: it is dropped there";
}

TEST(LagTable, PolicySaysWhatIsHashed) {
  const Destinations hosts = lag_hosts();
  RoutingConfig by_port, by_address;
  by_address.lag_hash_ports = false;
  std::map<std::uint32_t, int> members;
  for (std::uint32_t port = 0xc000; port < 0xc000 + 4000; ++port) {
    ++members[pick(lag_hash(lag_packet(port), hosts, by_port), 4)];
    EXPECT_EQ(lag_hash(lag_packet(port), hosts, by_address), lag_hash(lag_packet(0xc000), hosts, by_address));
  }
  for (const auto& [member, flows] : members) EXPECT_NEAR(flows, 1000, 100) << member;
}

// A switch that chose the LAG itself by ECMP sees only flows of one part of that hash: they still use all members.
TEST(LagTable, IsDealtApartFromRoutes) {
  const Destinations hosts = lag_hosts();
  const RoutingConfig config;
  std::map<std::uint32_t, int> members;
  int flows = 0;
  for (std::uint32_t port = 0xc000; port < 0xc000 + 8000; ++port) {
    if (pick(ecmp_hash(lag_packet(port), hosts.data(), false, ecmp_seed(config.hash_seed)), 2) != 0) continue;
    ++flows;
    ++members[pick(lag_hash(lag_packet(port), hosts, config), 2)];
  }
  EXPECT_NEAR(members[0], flows / 2, flows / 20);
}

}  // namespace
}  // namespace weft::fabric
