#include "analyze/clock_offsets.h"

#include <gtest/gtest.h>

namespace weft::analyze {
namespace {

struct ClockOffsetsTest : testing::Test {
  ClockOffsetsTest() {
    for (const char* file : {"a.pcap", "b.pcap"}) {
      CapturePoint point;
      point.file = file;
      capture.points.push_back(point);
    }
  }
  void see(PointId point, std::int64_t time_ns, AddressId src, std::uint32_t psn) {
    Frame frame;
    frame.kind = FrameKind::kRoce;
    frame.opcode = src == 0 ? wire::Opcode::kWriteMiddle : wire::Opcode::kAck;
    frame.time_ns = time_ns;
    frame.point = point;
    frame.src = src;
    frame.dst = 1 - src;
    frame.dest_qp = 0x11;
    frame.psn = psn;
    clocks.see(frame, capture);
  }
  // Requests pass a.pcap 2 us before b.pcap, answers the other way; the clock of b is ahead.
  void exchange(std::uint32_t packets, std::int64_t ahead_ns, bool answers = true) {
    std::vector<std::tuple<std::int64_t, PointId, AddressId, std::uint32_t>> frames;
    for (std::uint32_t i = 0; i < packets; ++i) {
      const std::int64_t start_ns = 10'000 * i, queue_ns = 100 * (i % 7);
      frames.push_back({start_ns, 0, 0, i});
      frames.push_back({start_ns + 2'000 + queue_ns + ahead_ns, 1, 0, i});
      if (!answers) continue;
      frames.push_back({start_ns + 3'000 + queue_ns + ahead_ns, 1, 1, i});
      frames.push_back({start_ns + 5'000 + 2 * queue_ns, 0, 1, i});
    }
    std::sort(frames.begin(), frames.end());  // as files are merged
    for (const auto& [time_ns, point, src, psn] : frames) see(point, time_ns, src, psn);
  }
  CaptureSummary capture;
  ClockOffsets clocks;
};

TEST_F(ClockOffsetsTest, OffsetIsFoundFromBothWays) {
  exchange(100, 1'000'000);
  const auto offsets = clocks.offsets();
  ASSERT_EQ(offsets.size(), 1u);
  EXPECT_NEAR(static_cast<double>(offsets[0].offset_ns), 1'000'000, 2'000);
  EXPECT_LE(offsets[0].uncertainty_ns, 2'500);
  EXPECT_EQ(offsets[0].packets, 200u);
}

TEST_F(ClockOffsetsTest, OffsetMayBeNegativeOrNone) {
  for (const std::int64_t ahead_ns : {std::int64_t{-3'000'000'000}, std::int64_t{0}}) {
    clocks = {};
    exchange(50, ahead_ns);
    ASSERT_EQ(clocks.offsets().size(), 1u);
    EXPECT_NEAR(static_cast<double>(clocks.offsets()[0].offset_ns), static_cast<double>(ahead_ns), 2'000);
  }
}

TEST_F(ClockOffsetsTest, OneWayTellsNothing) {
  exchange(100, 1'000'000, false);
  EXPECT_TRUE(clocks.offsets().empty());
}

TEST_F(ClockOffsetsTest, PointsOfOneFileHaveOneClock) {
  capture.points[1].file = "a.pcap";
  exchange(100, 1'000'000);
  EXPECT_TRUE(clocks.offsets().empty());
}

TEST_F(ClockOffsetsTest, LongCapturesAreThinnedOut) {
  exchange(200'000, 5'000'000'000);
  ASSERT_EQ(clocks.offsets().size(), 1u);
  EXPECT_NEAR(static_cast<double>(clocks.offsets()[0].offset_ns), 5e9, 2'000);
  EXPECT_LT(clocks.offsets()[0].packets, 40'000u);
}

}  // namespace
}  // namespace weft::analyze
