#include "analyze/paths/nearest.h"

#include <gtest/gtest.h>

namespace weft::analyze {
namespace {

class NearestTest : public testing::Test {
 protected:
  StreamId see(PointId point, std::int64_t time_ns, std::uint8_t ttl = 64, std::uint8_t tos = 2,
               std::uint32_t psn = 7) {
    Frame frame;
    frame.kind = FrameKind::kRoce;
    frame.opcode = wire::Opcode::kSendOnly;
    frame.point = point;
    frame.src = 3;
    frame.dst = 4;
    frame.dest_qp = 0x11;
    frame.psn = psn;
    frame.ttl = ttl;
    frame.tos = tos;
    frame.time_ns = time_ns;
    return streams.see(frame);
  }
  Streams streams;
};

TEST_F(NearestTest, FewerRoutersTookFromTtl) {
  const StreamId far = see(0, 10, 62), near = see(1, 20, 64);
  streams[far].answer_ns = 900;
  streams[near].answer_ns = 100;
  EXPECT_TRUE(is_nearer(streams, near, far));
  EXPECT_FALSE(is_nearer(streams, far, near));
  EXPECT_EQ(nearest_point(streams, 3), 1u);
}

TEST_F(NearestTest, AnswersTakeLongerNearRequester) {
  const StreamId far = see(0, 10), near = see(1, 20);
  streams[far].answer_ns = 100;
  streams[near].answer_ns = 900;
  EXPECT_TRUE(is_nearer(streams, near, far));
  EXPECT_FALSE(is_nearer(streams, far, near));
}

TEST_F(NearestTest, FewerMarks) {
  const StreamId far = see(0, 10, 64, 3), near = see(1, 20, 64, 2);
  EXPECT_TRUE(is_nearer(streams, near, far));
}

TEST_F(NearestTest, EarlierFirstPacket) {
  const StreamId near = see(0, 10), far = see(1, 20);
  EXPECT_TRUE(is_nearer(streams, near, far));
  EXPECT_FALSE(is_nearer(streams, far, near));
}

// The capture began while packets were in a queue: the late point has older ones.
TEST_F(NearestTest, AheadAtBothEnds) {
  const StreamId far = see(0, 10, 64, 2, 5), near = see(1, 20, 64, 2, 7);
  see(0, 30, 64, 2, 6);
  see(1, 40, 64, 2, 8);
  EXPECT_TRUE(is_nearer(streams, near, far));
}

TEST_F(NearestTest, AddressThatSentNothing) {
  see(0, 10);
  EXPECT_EQ(nearest_point(streams, 4), kNone);
}

}  // namespace
}  // namespace weft::analyze
