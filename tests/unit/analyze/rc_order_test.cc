// Packets late, twice or missing: told apart by who asks for them, by what the wire allows and by where they are seen.
#include <gtest/gtest.h>

#include "unit/analyze/rc_capture.h"

namespace weft::analyze {
namespace {

constexpr PointId kNear = 0, kFar = 1;

class RcOrderTest : public RcCaptureTest {
 protected:
  void only_at(std::uint32_t psn, PointId point, std::uint32_t qp = 0x11, Direction direction = Direction::kUnknown) {
    Frame frame;
    frame.point = point;
    frame.direction = direction;
    frame.src = 0;
    frame.dst = 1;
    frame.dest_qp = qp;
    frame.opcode = Opcode::kSendOnly;
    frame.psn = psn;
    frame.payload_B = 64;
    frame.wire_B = 128;
    frame.ack_req = true;
    see(frame);
  }
  void ack_at(std::uint32_t psn, std::uint32_t msn, PointId point) {
    answer(Opcode::kAck, psn, kAckAll, msn, 0, point);
  }
  // Ten messages at both points; the near one does not see the ACK of the fifth, nor is it needed.
  void messages_without_one_ack() {
    for (std::uint32_t psn = 100; psn < 110; ++psn) {
      only_at(psn, kNear);
      only_at(psn, kFar);
      ack_at(psn, psn - 99, kFar);
      if (psn != 104) ack_at(psn, psn - 99, kNear);
    }
  }
  bool says(std::string_view id, std::string_view text) const {
    return std::ranges::any_of(findings_.all(), [&](const Finding& finding) {
      return finding.id == id && finding.what.find(text) != std::string::npos;
    });
  }
};

// 20 us of fibre, and a timer below the round trip: the ACK of the copy is on its way when the capture ends.
TEST_F(RcOrderTest, AnswersOnTheirWayAtEndAreNotLost) {
  only_at(100, kNear);
  wait(20'000);
  only_at(100, kFar);
  ack_at(100, 1, kFar);
  wait(20'000);
  ack_at(100, 1, kNear);
  only_at(101, kNear);
  wait(20'000);
  only_at(101, kFar);
  ack_at(101, 2, kFar);
  wait(13'000);
  only_at(101, kNear);
  only_at(101, kFar);
  ack_at(101, 2, kFar);
  wait(2'000);
  ack_at(101, 2, kNear);
  finish();
  EXPECT_FALSE(says("psn.lost", "answers")) << findings_.all()[0].what;
}

// A later ACK makes up for it: it may be the capture's loss.
TEST_F(RcOrderTest, AnswerThatNothingMissesIsNotCaptured) {
  messages_without_one_ack();
  EXPECT_EQ(found(), None{"capture.lost"});
}

TEST_F(RcOrderTest, AnswerThatNothingMissesIsLostBesideOtherLosses) {
  messages_without_one_ack();
  const auto on_other_queue_pair = [this](std::uint32_t psn, std::uint8_t syndrome, PointId point) {
    Frame frame;
    frame.point = point;
    frame.src = 1;
    frame.dst = 0;
    frame.dest_qp = 0x23;
    frame.opcode = Opcode::kAck;
    frame.psn = psn;
    frame.has_aeth = true;
    frame.syndrome = syndrome;
    see(frame);
  };
  for (const std::uint32_t psn : {5000, 5001, 5002}) {
    only_at(psn, kNear, 0x12);
    if (psn != 5001) only_at(psn, kFar, 0x12);
  }
  for (const PointId point : {kFar, kNear}) on_other_queue_pair(5001, kNakSequence, point);
  for (const std::uint32_t psn : {5001, 5002})
    for (const PointId point : {kNear, kFar}) only_at(psn, point, 0x12);
  for (const PointId point : {kFar, kNear}) on_other_queue_pair(5002, kAckAll, point);
  EXPECT_EQ(found(), (None{"psn.lost", "psn.lost"}));
  EXPECT_TRUE(says("psn.lost", "1 of 10 answers"));
}

// The capture begins between a loss and the timer: what is retransmitted was sent before, and so was what is not.
TEST_F(RcOrderTest, SentBeforeCaptureIsNotMissedByIt) {
  for (const std::uint32_t psn : {120, 121, 122}) only_at(psn, kNear);
  wait(2'000'000);
  only_at(110, kNear);
  ack(112, 12);
  for (std::uint32_t psn = 113; psn < 123; ++psn) only_at(psn, kNear);
  ack(122, 22);
  found();
  EXPECT_FALSE(says("capture.lost", "acknowledged")) << findings_.all()[0].what;
}

// A switch before the first point copied the packet; only a port that sends it knows that its requester did.
TEST_F(RcOrderTest, PacketTwiceAtBothPoints) {
  for (const std::uint32_t psn : {100, 101, 101, 102}) {
    only_at(psn, kNear);
    only_at(psn, kFar);
  }
  for (const PointId point : {kFar, kNear}) ack_at(102, 3, point);
  EXPECT_EQ(found(), None{"psn.duplicate"});
}

TEST_F(RcOrderTest, PacketTwiceAtPortThatSends) {
  for (const std::uint32_t psn : {100, 101, 101, 102}) {
    only_at(psn, kNear, 0x11, Direction::kOut);
    only_at(psn, kFar, 0x11, Direction::kIn);
  }
  for (const PointId point : {kFar, kNear}) ack_at(102, 3, point);
  EXPECT_EQ(found(), None{"psn.spurious"});
}

// Later than what was asked for in its place.
TEST_F(RcOrderTest, ResponseBehindItsCopyIsLateNotLost) {
  request(Opcode::kReadRequest, 100, 0, 4096, true);
  answer(Opcode::kReadResponseFirst, 100, kAckAll, 1, 1024);
  answer(Opcode::kReadResponseMiddle, 102, 0, 0, 1024);
  answer(Opcode::kReadResponseLast, 103, kAckAll, 1, 1024);
  request(Opcode::kReadRequest, 101, 0, 3072, true);
  answer(Opcode::kReadResponseFirst, 101, kAckAll, 1, 1024);
  answer(Opcode::kReadResponseMiddle, 102, 0, 0, 1024);
  answer(Opcode::kReadResponseMiddle, 101, 0, 0, 1024);  // the first one
  answer(Opcode::kReadResponseLast, 103, kAckAll, 1, 1024);
  EXPECT_EQ(found(), None{"psn.reordered"});
  EXPECT_TRUE(says("psn.reordered", "1 READ response came late"));
}

// 128 B take 10 ns at 100 Gb/s: two packets of one queue pair that are 1 ns apart and out of order were never so on
// the wire.
TEST_F(RcOrderTest, PacketsCloserThanWireAllows) {
  capture_.points[kNear].speed_bps = 100'000'000'000;
  for (const std::uint32_t psn : {100, 101, 103}) only_at(psn, kNear);
  now_ns_ -= 999;
  only_at(102, kNear);
  for (const std::uint32_t psn : {104, 105}) only_at(psn, kNear);
  ack(105, 6);
  EXPECT_EQ(found(), None{"capture.order"});
  EXPECT_TRUE(says("capture.order", "closer to their neighbours than the wire allows"));
}

TEST_F(RcOrderTest, PacketBehindItsAckIsInexactStamps) {
  for (const std::uint32_t psn : {100, 101, 103}) only_at(psn, kNear);
  ack(103, 4);
  now_ns_ -= 700;
  only_at(102, kNear);
  for (const std::uint32_t psn : {104, 105}) only_at(psn, kNear);
  ack(105, 6);
  EXPECT_EQ(found(), None{"capture.order"});
}

}  // namespace
}  // namespace weft::analyze
