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
  void see_cnp(AddressId src, AddressId dst) {
    Frame frame;
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
    check.finish(capture, Streams(), findings);
    return findings.all().size();
  }
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

}  // namespace
}  // namespace weft::analyze
