#include "analyze/classes/traffic_class.h"

#include <gtest/gtest.h>

#include "unit/analyze/congestion_frames.h"

namespace weft::analyze {
namespace {

void send_with_tos(CongestionBench& bench, AddressId src, std::uint8_t tos, std::uint32_t count = 20, PointId point = 0,
                   std::int64_t from_ns = 1'000) {
  for (std::uint32_t i = 0; i < count; ++i) {
    Frame frame = data_frame(from_ns + i * 1'000, src, 1, 0x10 + src, i);
    frame.tos = tos;
    frame.point = point;
    bench.see(frame);
  }
}

TEST(TrafficClass, OneClassIsHealthy) {
  CongestionBench bench;
  for (const AddressId src : {2u, 3u, 4u}) send_with_tos(bench, src, 0x6a);
  bench.finish();
  EXPECT_TRUE(bench.analysis.findings.healthy());
  EXPECT_EQ(bench.verdict("traffic-class"), Verdict::kHealthy);
}

TEST(TrafficClass, ChangeWithinStreamIsFound) {
  CongestionBench bench;
  send_with_tos(bench, 2, 0x6a);
  send_with_tos(bench, 2, 0x02, 5);
  bench.finish();
  const Finding* found = bench.find("traffic-class.mixed");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->count, 5u);
  EXPECT_EQ(found->evidence.at(1).frame, 21u);
}

// A trunk and an access port in one capture: the tag comes and goes, the DSCP stays. Another priority is another class.
TEST(TrafficClass, TagThatComesAndGoesIsNoOtherClass) {
  for (const bool other_priority : {false, true}) {
    CongestionBench bench;
    for (std::uint32_t i = 0; i < 20; ++i) {
      Frame frame = data_frame(1'000 * i, 0, 1, 0x11, i);
      if (i % 2 == 1) frame.vlan_tci = 3 << 13 | 42;
      if (i % 2 == 0 && other_priority) frame.vlan_tci = 4 << 13 | 42;
      bench.see(frame);
    }
    bench.finish();
    const Finding* mixed = bench.find("traffic-class.mixed");
    EXPECT_EQ(mixed != nullptr, other_priority);
    if (mixed != nullptr) EXPECT_NE(mixed->what.find("PCP 3"), std::string::npos) << mixed->what;
  }
}

TEST(TrafficClass, CeMarksAreNotAnotherClass) {
  CongestionBench bench;
  send_with_tos(bench, 2, 0x6a);
  send_with_tos(bench, 2, 0x6b, 5);
  bench.finish();
  EXPECT_EQ(bench.find("traffic-class.mixed"), nullptr);
}

TEST(TrafficClass, RewriteBetweenPointsIsFound) {
  for (const std::uint8_t behind : {std::uint8_t{0x6a}, std::uint8_t{0x02}}) {
    CongestionBench bench({"h2:p0", "h1:p0"});
    send_with_tos(bench, 2, 0x6a);
    send_with_tos(bench, 2, behind, 20, 1, 5'000);
    bench.finish();
    const Finding* found = bench.find("traffic-class.rewritten");
    EXPECT_EQ(found != nullptr, behind == 0x02);
    if (found != nullptr) EXPECT_EQ(found->where, "h1:p0");
  }
}

TEST(TrafficClass, OneUnmarkedSenderAmongOthersIsFound) {
  CongestionBench bench;
  for (const AddressId src : {2u, 3u, 4u}) send_with_tos(bench, src, 0x6a);
  send_with_tos(bench, 5, 0x02);
  bench.finish();
  const Finding* found = bench.find("traffic-class.wrong");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->where, "10.0.0.5 > 10.0.0.1 qp 0x000015");
}

TEST(TrafficClass, TwoClassesOnPurposeAreHealthy) {
  CongestionBench bench;
  for (const AddressId src : {2u, 3u, 4u}) send_with_tos(bench, src, 0x6a);
  for (const AddressId src : {5u, 6u}) send_with_tos(bench, src, 0x12);
  bench.finish();
  EXPECT_TRUE(bench.analysis.findings.healthy());
}

TEST(TrafficClass, DirectionsOfConnectionHaveOneClass) {
  CongestionBench bench;
  send_with_tos(bench, 2, 0x6a);
  Frame ack = ack_frame(50'000, 1, 2, 0x21, 5);
  ack.tos = 0x02;
  bench.see(ack);
  bench.finish();
  EXPECT_NE(bench.find("traffic-class.wrong"), nullptr);
}

TEST(TrafficClass, NotEctIsFoundWithClass) {
  CongestionBench with_class, without;
  send_with_tos(with_class, 2, 0x68);
  send_with_tos(without, 2, 0x00);
  with_class.finish();
  without.finish();
  EXPECT_NE(with_class.find("traffic-class.not-ect"), nullptr);
  EXPECT_TRUE(without.analysis.findings.healthy());
  EXPECT_NE(without.find("traffic-class.no-ecn"), nullptr);
}

TEST(TrafficClass, CnpsInClassOfDataAreFound) {
  for (const std::uint8_t tos : {std::uint8_t{0x6a}, std::uint8_t{0xc2}}) {
    CongestionBench bench;
    send_with_tos(bench, 2, 0x6a);
    bench.see(ack_frame(50'000, 1, 2, 0x21, 5));
    Frame cnp = cnp_frame(51'000, 1, 2, 0x21);
    cnp.tos = tos;
    bench.see(cnp);
    bench.finish();
    EXPECT_EQ(bench.find("traffic-class.cnp") != nullptr, tos == 0x6a);
  }
}

TEST(TrafficClass, MarksOnLinkWithRoomAreFound) {
  for (const std::int64_t gap_ns : {3'342, 334}) {  // a tenth of the link, and all of it
    CongestionBench bench;
    for (std::uint32_t i = 0; i < 500; ++i) {
      Frame frame = data_frame(1'000 + i * gap_ns, 2, 1, 0x11, i);
      frame.tos = 0x6b;
      bench.see(frame);
    }
    bench.finish();
    EXPECT_EQ(bench.find("traffic-class.ce-share") != nullptr, gap_ns > 1'000);
  }
}

}  // namespace
}  // namespace weft::analyze
