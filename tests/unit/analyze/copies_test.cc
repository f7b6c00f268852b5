#include "analyze/copies.h"

#include <gtest/gtest.h>

namespace weft::analyze {
namespace {

struct CopiesTest : testing::Test {
  CopiesTest() { capture.points.resize(1); }

  PointId see(std::uint32_t psn, std::uint8_t ttl, Direction direction = Direction::kUnknown) {
    Frame frame;
    frame.kind = FrameKind::kRoce;
    frame.opcode = wire::Opcode::kWriteMiddle;
    frame.src = 0;
    frame.dst = 1;
    frame.dest_qp = 0x11;
    frame.psn = psn;
    frame.ttl = ttl;
    frame.direction = direction;
    frame.point = copies.point_of(frame, streams, capture);
    streams.see(frame);
    return frame.point;
  }
  CaptureSummary capture;
  Streams streams;
  Copies copies;
};

TEST_F(CopiesTest, SecondCopyHasItsOwnPoint) {
  EXPECT_EQ(see(100, 64), 0u);
  EXPECT_EQ(see(101, 64), 0u);
  EXPECT_EQ(see(100, 63), 1u);
  EXPECT_EQ(see(102, 64), 0u);
  EXPECT_EQ(see(101, 63), 1u);
  EXPECT_EQ(capture.points.at(1).name, "1 hop on");
  Findings findings;
  copies.finish(capture, findings);
  ASSERT_EQ(findings.all().size(), 1u);
  EXPECT_EQ(findings.all()[0].count, 2u);
}

TEST_F(CopiesTest, RetransmissionKeepsItsTtl) {
  for (const std::uint32_t psn : {100u, 101u, 102u, 101u, 102u}) EXPECT_EQ(see(psn, 64), 0u);
}

TEST_F(CopiesTest, ChangedPathIsNoCopy) {
  EXPECT_EQ(see(100, 64), 0u);
  EXPECT_EQ(see(101, 62), 0u);
  EXPECT_EQ(see(102, 62), 0u);
  EXPECT_EQ(see(101, 62), 0u) << "sent again on the new path";
}

TEST_F(CopiesTest, PortWithDirectionsHasNoCopies) {
  EXPECT_EQ(see(100, 64, Direction::kIn), 0u);
  EXPECT_EQ(see(100, 63, Direction::kOut), 0u);
}

}  // namespace
}  // namespace weft::analyze
