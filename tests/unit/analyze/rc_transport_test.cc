#include <gtest/gtest.h>

#include "analyze/rc/transport.h"
#include "unit/analyze/rc_capture.h"

namespace weft::analyze {
namespace {

using RcTransportTest = RcCaptureTest;

TEST_F(RcTransportTest, HealthyWritesHaveNoFindingAndExactFigures) {
  write(100, 4);
  ack(103, 1);
  write(104, 2);
  ack(105, 2);
  EXPECT_EQ(found(), None{});
  EXPECT_EQ(conversation().messages, 2u);
  EXPECT_EQ(conversation().goodput_B, 6u * 1024);
  EXPECT_EQ(conversation().path_mtu_B, 1024u);
  EXPECT_EQ(conversation().message_B_least, 2048u);
  EXPECT_EQ(conversation().message_B_most, 4096u);
  EXPECT_EQ(conversation().ack_latency_p50_ns, 1000);
  EXPECT_EQ(conversation().message_latency_p99_ns, 4000);
  EXPECT_EQ(conversation().verbs, std::vector<std::string>{"WRITE"});
  EXPECT_EQ(verdict("psn"), Verdict::kHealthy);
  EXPECT_EQ(verdict("nak"), Verdict::kNotEnough);
}

TEST_F(RcTransportTest, PsnWrapsAround) {
  write(0xfffffe, 4);
  ack(1, 1);
  EXPECT_EQ(found(), None{});
  EXPECT_EQ(conversation().messages, 1u);
}

TEST_F(RcTransportTest, StartWithinMessageIsHealthy) {
  request(Opcode::kWriteMiddle, 50);
  request(Opcode::kWriteMiddle, 51);
  ack(40, 7);
  request(Opcode::kWriteLast, 52, 100, 0, true);
  ack(52, 9);
  only(53);
  ack(53, 10);
  EXPECT_EQ(found(), None{});
}

TEST_F(RcTransportTest, OneDirectionAloneIsHealthy) {
  write(100, 4);
  write(104, 4);
  EXPECT_EQ(found(), None{});
  EXPECT_EQ(conversation().messages, 2u);
  EXPECT_EQ(verdict("ack"), Verdict::kNotEnough);
}

TEST_F(RcTransportTest, NakShowsLossBehindPoint) {
  write(100, 8);
  ack(102, 0, kNakSequence);
  for (std::uint32_t psn = 102; psn < 107; ++psn) request(Opcode::kWriteMiddle, psn);
  request(Opcode::kWriteLast, 107, 1024, 0, true);
  ack(107, 1);
  EXPECT_EQ(found(), None{"psn.lost"});
  EXPECT_EQ(conversation().retransmitted, 6u);
  EXPECT_EQ(conversation().naks, 1u);
  EXPECT_EQ(conversation().goodput_B, 8u * 1024);
  EXPECT_NE(findings_.all()[0].what.find("and the responder"), std::string::npos);
}

TEST_F(RcTransportTest, LossBetweenTwoPointsIsNamed) {
  for (std::uint32_t psn = 100; psn < 104; ++psn)
    for (const PointId point : {0u, 1u})
      if (point == 0 || psn != 101) request(Opcode::kSendOnly, psn, 64, 0, true, point);
  for (const PointId point : {1u, 0u}) answer(Opcode::kAck, 101, kNakSequence, 1, 0, point);
  for (std::uint32_t psn = 101; psn < 104; ++psn)
    for (const PointId point : {0u, 1u}) request(Opcode::kSendOnly, psn, 64, 0, true, point);
  for (const PointId point : {1u, 0u}) answer(Opcode::kAck, 103, kAckAll, 4, 0, point);
  capture_.points[0].name = "one";
  capture_.points[1].name = "two";
  EXPECT_EQ(found(), None{"psn.lost"});
  EXPECT_NE(findings_.all()[0].what.find("1 of 7 requests lost between one and two"), std::string::npos)
      << findings_.all()[0].what;
  EXPECT_EQ(conversation().points, 2);
  EXPECT_EQ(conversation().goodput_B, 4u * 64);
}

// The capture begins while packets are on their way: the late point has seen 100 and 101, the early one had them
// before.
TEST_F(RcTransportTest, PacketsOnTheirWayAtStartAreNotLost) {
  capture_.points[0].name = "early";
  capture_.points[1].name = "late";
  for (std::uint32_t psn = 100; psn < 108; ++psn) {
    request(Opcode::kWriteMiddle, psn, 1024, 0, false, 1);
    if (psn < 106) request(Opcode::kWriteMiddle, psn + 2, 1024, 0, false, 0);
  }
  EXPECT_EQ(found(), None{});
  ASSERT_EQ(conversations_.at(0).forward.flows.size(), 2u);
  EXPECT_EQ(conversations_.at(0).forward.flows[0]->first_psn, 102u);
}

TEST_F(RcTransportTest, SentAgainWithoutAnswersIsNotHealthy) {
  write(100, 8);
  write(100, 8);
  EXPECT_EQ(found(), None{});
  EXPECT_EQ(verdict("psn"), Verdict::kNotEnough);
  EXPECT_EQ(verdict("recovery"), Verdict::kNotEnough);
}

TEST_F(RcTransportTest, NewConnectionOnQueuePairIsNoLoss) {
  write(100, 8);
  ack(107, 1);
  wait(2'000'000);
  write(400'000, 8);
  ack(400'007, 1);
  wait(2'000'000);
  write(100'000, 8);
  ack(100'007, 1);
  EXPECT_EQ(found(), None{});
  EXPECT_EQ(conversation().messages, 3u);
}

TEST_F(RcTransportTest, NewConnectionWithSamePsnIsNoTimeout) {
  for (int connection = 0; connection < 2; ++connection) {
    for (std::uint32_t message = 0; message < 4; ++message) {
      write(100 + 8 * message, 8);
      ack(107 + 8 * message, 1 + message);
    }
    wait(20'000'000);
  }
  EXPECT_EQ(found(), None{});
}

TEST_F(RcTransportTest, LatePacketIsReorderedNotLost) {
  only(100);
  only(102);
  only(101);
  only(103);
  ack(103, 4);
  EXPECT_EQ(found(), None{"psn.reordered"});
  EXPECT_EQ(conversation().retransmitted, 0u);
}

TEST_F(RcTransportTest, PacketTwiceIsDuplicate) {
  only(100);
  ack(100, 1);
  only(101);
  only(101);
  only(102);
  ack(102, 3);
  EXPECT_EQ(found(), None{"psn.duplicate"});
}

TEST_F(RcTransportTest, PacketsAgainWithoutReasonAreSpurious) {
  for (std::uint32_t psn = 100; psn < 105; ++psn) only(psn);
  ack(104, 5);
  for (std::uint32_t psn = 101; psn < 105; ++psn) only(psn);
  only(105);
  ack(105, 6);
  EXPECT_TRUE(finds("psn.spurious"));
}

TEST_F(RcTransportTest, AckedButNotSeenIsCaptureLoss) {
  only(100);
  only(102);
  ack(102, 3);
  EXPECT_EQ(found(), None{"capture.lost"});
}

TEST_F(RcTransportTest, PsnsNeverSentAreGap) {
  only(100);
  ack(100, 1);
  only(105);
  ack(101, 1, kNakSequence);
  wait(2'000'000);
  only(106);
  EXPECT_TRUE(finds("psn.gap"));
}

TEST_F(RcTransportTest, OpcodesOutOfOrder) {
  request(Opcode::kWriteFirst, 100, 1024, 3072);
  request(Opcode::kSendOnly, 101, 64);
  EXPECT_TRUE(finds("opcode-sequence.broken"));
}

TEST_F(RcTransportTest, ShortMiddlePacketBreaksPathMtu) {
  request(Opcode::kSendFirst, 100);
  request(Opcode::kSendMiddle, 101, 512);
  request(Opcode::kSendLast, 102, 4);
  EXPECT_EQ(found(), None{"integrity.path-mtu"});
}

TEST_F(RcTransportTest, RethLengthDiffersFromPayload) {
  request(Opcode::kWriteFirst, 100, 1024, 4096);
  request(Opcode::kWriteLast, 101, 1024, 0, true);
  ack(101, 1);
  EXPECT_EQ(found(), None{"message-length.reth"});
}

// The path MTU is known with the first response; a NAK came before it, and a new READ follows what is asked again.
TEST_F(RcTransportTest, ReadBehindRepeatedOnesIsCounted) {
  request(Opcode::kReadRequest, 100, 0, 2048);
  request(Opcode::kReadRequest, 102, 0, 2048);
  ack(100, 0, kNakSequence);
  request(Opcode::kReadRequest, 100, 0, 2048);
  request(Opcode::kReadRequest, 102, 0, 2048);
  request(Opcode::kReadRequest, 104, 0, 2048);
  for (std::uint32_t psn = 100; psn < 106; psn += 2) {
    answer(Opcode::kReadResponseFirst, psn, kAckAll, (psn - 98) / 2, 1024);
    answer(Opcode::kReadResponseLast, psn + 1, kAckAll, (psn - 98) / 2, 1024);
  }
  finish();
  EXPECT_EQ(conversation().goodput_B, 6u * 1024);
  EXPECT_EQ(conversation().to_a_B, 6u * 1024);
  EXPECT_EQ(conversation().to_b_B, 0u);
  EXPECT_EQ(conversation().retransmitted, 2u);
  EXPECT_EQ(verdict("read-response"), Verdict::kHealthy);
}

TEST_F(RcTransportTest, AtomicsMoveOneWordEach) {
  request(Opcode::kFetchAdd, 100, 0);
  request(Opcode::kCompareSwap, 101, 0);
  answer(Opcode::kAtomicAck, 100, kAckAll, 1);
  answer(Opcode::kAtomicAck, 101, kAckAll, 2);
  EXPECT_EQ(found(), None{});
  EXPECT_EQ(conversation().goodput_B, 16u);
}

// IBTA annex A19: one PSN each; the answer is a READ response of no bytes.
TEST_F(RcTransportTest, FlushAndAtomicWriteTakePsns) {
  only(100);
  ack(100, 1);
  request(static_cast<Opcode>(0x1c), 101, 0);
  answer(Opcode::kReadResponseOnly, 101, kAckAll, 2);
  request(static_cast<Opcode>(0x1d), 102, 0);
  answer(Opcode::kReadResponseOnly, 102, kAckAll, 3);
  only(103);
  ack(103, 4);
  EXPECT_EQ(found(), None{});
  EXPECT_EQ(conversation().messages, 4u);
  EXPECT_EQ(conversation().verbs, (std::vector<std::string>{"SEND", "FLUSH", "ATOMIC_WRITE"}));
}

TEST_F(RcTransportTest, NakOfPacketBeforeCaptureExplainsRetransmission) {
  streams_.know({0, 0x22}, {1, 0x11});
  for (std::uint32_t psn = 101; psn < 106; ++psn) only(psn);
  ack(100, 0, kNakSequence);
  for (std::uint32_t psn = 100; psn < 106; ++psn) only(psn);
  ack(105, 6);
  only(106);
  ack(106, 7);
  EXPECT_EQ(found(), None{});
}

TEST_F(RcTransportTest, MessageWithoutItsFirstPacketHasNoSize) {
  request(Opcode::kSendMiddle, 100);
  request(Opcode::kSendLast, 101, 512, 0, true);
  ack(101, 1);
  finish();
  EXPECT_EQ(conversation().messages, 1u);
  EXPECT_FALSE(conversation().sizes_known);
}

// Both ends send: what one gets is not added to what the other gets.
TEST_F(RcTransportTest, DirectionsAreApart) {
  const auto send = [this](AddressId src, AddressId dst, std::uint32_t qp, Opcode opcode, std::uint32_t payload_B) {
    Frame frame;
    frame.src = src;
    frame.dst = dst;
    frame.dest_qp = qp;
    frame.opcode = opcode;
    frame.psn = 7;
    frame.payload_B = payload_B;
    frame.ack_req = payload_B > 0;
    frame.has_aeth = opcode == Opcode::kAck;
    frame.syndrome = kAckAll;
    frame.msn = 1;
    see(frame);
  };
  send(0, 1, 0x11, Opcode::kSendOnly, 700);
  send(1, 0, 0x22, Opcode::kAck, 0);
  send(1, 0, 0x22, Opcode::kSendOnly, 300);
  send(0, 1, 0x11, Opcode::kAck, 0);
  finish();
  EXPECT_EQ(conversation().goodput_B, 1000u);
  EXPECT_EQ(conversation().to_b_B, 700u);
  EXPECT_EQ(conversation().to_a_B, 300u);
}

}  // namespace
}  // namespace weft::analyze
