#include "analyze/counters_check.h"

#include <gtest/gtest.h>

namespace weft::analyze {
namespace {

TEST(ReadCounters, FormsOfTools) {
  const auto ethtool = read_counters("NIC statistics:\n     rx_prio3_pause: 12\n     tx_prio3_pause: 0\n");
  ASSERT_TRUE(ethtool);
  EXPECT_EQ(ethtool->at("rx_prio3_pause"), 12u);
  EXPECT_EQ(ethtool->size(), 2u);
  const auto rdma = read_counters("link mlx5_0/1 rx_write_requests 20 np_cnp_sent 9\n");
  ASSERT_TRUE(rdma);
  EXPECT_EQ(rdma->at("np_cnp_sent"), 9u);
  const auto files = read_counters("/sys/class/infiniband/mlx5_0/ports/1/hw_counters/np_cnp_sent:7\n");
  EXPECT_FALSE(files && files->contains("/sys"));
  const auto relative = read_counters("hw_counters/np_cnp_sent:7\n");
  ASSERT_TRUE(relative);
  EXPECT_EQ(relative->at("np_cnp_sent"), 7u);
  EXPECT_FALSE(read_counters("nothing here"));
  EXPECT_FALSE(read_counters("99999999999999999999999 -1 :::"));
}

struct CountersCheckTest : testing::Test {
  CountersCheckTest() {
    a = addresses.id_of(wire::ipv4_mapped(10, 0, 0, 1));
    b = addresses.id_of(wire::ipv4_mapped(10, 0, 0, 2));
    capture.points.resize(1);
  }
  void see_cnp(AddressId src, AddressId dst, Direction direction = Direction::kUnknown) {
    Frame frame;
    frame.direction = direction;
    frame.kind = FrameKind::kRoce;
    frame.opcode = wire::Opcode::kCnp;
    frame.src = src;
    frame.dst = dst;
    frame.src_mac = src + 1;
    ++capture.points[0].roce;
    check.see(frame, addresses);
  }
  std::size_t differences_with(Counters counters) {
    check.use({{"10.0.0.1", "file", std::move(counters)}});
    for (int i = 0; i < 3; ++i) see_cnp(b, a);
    see_cnp(a, b);
    Findings findings;
    check.finish(capture, Streams(), findings, absent);
    return findings.all().size();
  }
  void see_pause(std::uint64_t mac) {
    Frame frame;
    frame.kind = FrameKind::kPfc;
    frame.src_mac = mac;
    frame.class_enable = 1 << 3;
    check.see(frame, addresses);
  }
  // What is said of counters of 10.0.0.1 at a point where its frames go this way.
  std::vector<Finding> said_of(Counters counters, Direction sent, Direction received) {
    check.use({{"10.0.0.1", "file", std::move(counters)}});
    see_cnp(a, b, sent);
    see_cnp(b, a, received);
    Findings findings;
    check.finish(capture, Streams(), findings, absent);
    return findings.all();
  }
  std::vector<std::string> absent;
  Addresses addresses;
  CaptureSummary capture;
  CountersCheck check;
  AddressId a = 0, b = 0;
};

TEST_F(CountersCheckTest, EqualCounters) {
  EXPECT_EQ(differences_with({{"rp_cnp_handled", 3}, {"np_cnp_sent", 1}}), 0u);
}
TEST_F(CountersCheckTest, SlowRestartsCountAsHandled) {
  EXPECT_EQ(differences_with({{"rp_cnp_handled", 4}, {"rp_cnp_ignored", 1}, {"roce_slow_restart", 2}}), 0u);
}
TEST_F(CountersCheckTest, CounterThatSticks) {
  EXPECT_EQ(differences_with({{"rp_cnp_handled", 3}, {"np_cnp_sent", 0}}), 1u);
}

// At its peer's port the capture cannot say what was lost or marked on the way.
TEST_F(CountersCheckTest, DifferenceAtAnotherPortIsNote) {
  const auto at_peer = said_of({{"np_cnp_sent", 5}}, Direction::kIn, Direction::kOut);
  ASSERT_EQ(at_peer.size(), 1u);
  EXPECT_EQ(at_peer[0].id, "counters.elsewhere");
  EXPECT_NE(at_peer[0].what.find("np_cnp_sent is 5"), std::string::npos) << at_peer[0].what;
}
TEST_F(CountersCheckTest, DifferenceAtPortIsFound) {
  const auto at_port = said_of({{"np_cnp_sent", 5}}, Direction::kOut, Direction::kIn);
  ASSERT_EQ(at_port.size(), 1u);
  EXPECT_EQ(at_port[0].id, "counters.differ");
}
TEST_F(CountersCheckTest, PausesOfAnotherCableAreNotCompared) {
  see_pause(0x900);  // of a switch, at the peer's cable
  const auto said = said_of({{"rx_prio3_pause", 0}, {"np_cnp_sent", 1}}, Direction::kIn, Direction::kOut);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0].id, "counters.elsewhere");
  EXPECT_NE(said[0].what.find("1 pause counter not compared"), std::string::npos) << said[0].what;
}
TEST_F(CountersCheckTest, PausesOfOwnCableAreCompared) {
  see_pause(0x900);
  see_pause(1);  // its own, see_cnp
  const auto said = said_of({{"rx_prio3_pause", 1}, {"tx_prio3_pause", 2}}, Direction::kOut, Direction::kIn);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_NE(said[0].what.find("tx_prio3_pause is 2"), std::string::npos) << said[0].what;
}
TEST_F(CountersCheckTest, UnknownAddressIsNoFinding) {
  check.use({{"10.0.0.9", "file", {{"np_cnp_sent", 1}}}});
  see_cnp(a, b);
  Findings findings;
  check.finish(capture, Streams(), findings, absent);
  EXPECT_TRUE(findings.all().empty());
  EXPECT_EQ(absent, std::vector<std::string>{"10.0.0.9"});
}

TEST(PortCounters, AddressIsRequired) {
  for (const char* argument : {"h0=/dev/null", "=x", "LID =x", "10.0.0=x"}) {
    const auto port = read_port_counters(argument);
    ASSERT_FALSE(port) << argument;
  }
  EXPECT_NE(read_port_counters("h0=/dev/null").error().find("not the address"), std::string::npos);
  EXPECT_NE(read_port_counters("FE80:0::1=/nowhere").error().find("/nowhere"), std::string::npos);
}

}  // namespace
}  // namespace weft::analyze
