#include <gtest/gtest.h>

#include "analyze/rc/findings.h"
#include "unit/analyze/rc_capture.h"

namespace weft::analyze {
namespace {

using RcFindingsTest = RcCaptureTest;

TEST_F(RcFindingsTest, RemoteAccessError) {
  request(Opcode::kWriteOnly, 100, 64, 64, true);
  ack(100, 0, kNakAccess);
  EXPECT_EQ(found(), None{"nak.remote-access"});
  EXPECT_EQ(conversation().goodput_B, 0u);
  EXPECT_EQ(conversation().messages, 0u);
}

TEST_F(RcFindingsTest, SecondNakBeforeMissingPacketIsRepeated) {
  for (std::uint32_t psn = 100; psn < 104; ++psn) only(psn);
  ack(101, 1, kNakSequence);
  ack(101, 1, kNakSequence);
  for (std::uint32_t psn = 101; psn < 104; ++psn) only(psn);
  ack(103, 4);
  EXPECT_TRUE(finds("nak.repeated"));
}

TEST_F(RcFindingsTest, NakOfWhatWasAcknowledged) {
  for (std::uint32_t psn = 100; psn < 104; ++psn) only(psn);
  ack(102, 3);
  ack(101, 3, kNakSequence);
  EXPECT_TRUE(finds("nak.psn"));
}

TEST_F(RcFindingsTest, AckRunsBackwards) {
  for (std::uint32_t psn = 100; psn < 104; ++psn) only(psn);
  wait(20'000);
  ack(103, 4);
  ack(101, 2);
  EXPECT_TRUE(finds("ack.backwards"));
}

TEST_F(RcFindingsTest, AckOfWhatWasNotSent) {
  only(100);
  ack(100, 1);
  ack(109, 10);
  wait(10'000);
  only(101);
  EXPECT_TRUE(finds("ack.unsent"));
}

TEST_F(RcFindingsTest, AckReqWithoutAnswer) {
  only(100);
  ack(100, 1);
  only(101);
  write(102, 2);
  wait(5'000'000);
  request(Opcode::kSendFirst, 104);
  EXPECT_TRUE(finds("ack.missing"));
}

TEST_F(RcFindingsTest, MsnThatSkips) {
  only(100);
  ack(100, 1);
  only(101);
  ack(101, 5);
  EXPECT_EQ(found(), None{"msn.wrong"});
}

TEST_F(RcFindingsTest, SendsBeyondCredits) {
  only(100);
  ack(100, 1, 1);  // one credit; one more may be tried
  for (std::uint32_t psn = 101; psn < 104; ++psn) only(psn);
  EXPECT_TRUE(finds("credits.exceeded"));
}

TEST_F(RcFindingsTest, CreditsThatAreKept) {
  only(100);
  ack(100, 1, 2);
  only(101);
  only(102);
  ack(102, 3, 2);
  EXPECT_EQ(found(), None{});
  EXPECT_EQ(verdict("credits"), Verdict::kHealthy);
}

TEST_F(RcFindingsTest, ReadOfThreeResponses) {
  request(Opcode::kReadRequest, 100, 0, 3000, true);
  answer(Opcode::kReadResponseFirst, 100, kAckAll, 1, 1024);
  answer(Opcode::kReadResponseMiddle, 101, 0, 0, 1024);
  answer(Opcode::kReadResponseLast, 102, kAckAll, 1, 952);
  request(Opcode::kReadRequest, 103, 0, 8, true);
  answer(Opcode::kReadResponseOnly, 103, kAckAll, 2, 8);
  EXPECT_EQ(found(), None{});
  EXPECT_EQ(conversation().messages, 2u);
  EXPECT_EQ(conversation().goodput_B, 3008u);
  EXPECT_EQ(verdict("read-response"), Verdict::kHealthy);
}

TEST_F(RcFindingsTest, ReadResponsesThatEndTooEarly) {
  request(Opcode::kReadRequest, 100, 0, 3000, true);
  answer(Opcode::kReadResponseFirst, 100, kAckAll, 1, 1024);
  answer(Opcode::kReadResponseLast, 101, kAckAll, 1, 952);
  EXPECT_TRUE(finds("read-response.broken"));
}

TEST_F(RcFindingsTest, GapInReadResponsesIsImpliedNak) {
  request(Opcode::kReadRequest, 100, 0, 4096, true);
  answer(Opcode::kReadResponseFirst, 100, kAckAll, 1, 1024);
  answer(Opcode::kReadResponseMiddle, 102, 0, 0, 1024);
  answer(Opcode::kReadResponseLast, 103, kAckAll, 1, 1024);
  request(Opcode::kReadRequest, 101, 0, 3072, true);
  answer(Opcode::kReadResponseFirst, 101, kAckAll, 1, 1024);
  answer(Opcode::kReadResponseMiddle, 102, 0, 0, 1024);
  answer(Opcode::kReadResponseLast, 103, kAckAll, 1, 1024);
  EXPECT_EQ(found(), None{"read-response.lost"});
  EXPECT_EQ(transport_.retransmissions().at(0).cause, Cause::kImpliedNak);
  EXPECT_EQ(conversation().messages, 1u);
}

// Responses of the first time come after the READs were asked for again, and the second READ is refused once.
TEST_F(RcFindingsTest, RepeatedResponsesAreCountedOnce) {
  const auto read = [this](std::uint32_t first, std::uint32_t end) {
    request(Opcode::kReadRequest, first, 0, (end - first) * 1024, true);
  };
  const auto respond = [this](std::initializer_list<std::uint32_t> psns, std::uint32_t first, std::uint32_t end) {
    for (const std::uint32_t psn : psns)
      answer(psn == first     ? Opcode::kReadResponseFirst
             : psn + 1 == end ? Opcode::kReadResponseLast
                              : Opcode::kReadResponseMiddle,
             psn, kAckAll, 1, 1024);
  };
  for (std::uint32_t psn = 100; psn < 124; psn += 8) read(psn, psn + 8);
  respond({100, 102, 103}, 100, 108);
  read(101, 108);
  read(108, 116);
  read(116, 124);
  respond({104, 105, 106, 107}, 100, 108);
  ack(108, 1, kNakSequence);
  respond({102, 103, 104, 106, 107}, 101, 108);
  respond({108, 109, 111, 112, 113, 114, 115}, 108, 116);
  read(101, 108);
  read(108, 116);
  read(116, 124);
  respond({101, 102, 103, 104, 105, 106, 107}, 101, 108);
  respond({108, 109, 110, 111, 112, 113, 114, 115}, 108, 116);
  respond({116, 117, 118, 119, 120, 121, 122, 123}, 116, 124);
  EXPECT_TRUE(finds("read-response.lost"));
  EXPECT_EQ(conversation().to_a_B, 24u * 1024);
  EXPECT_EQ(conversation().messages, 3u);
}

// Nobody asks for it again: the requester has it, the capture has not.
TEST_F(RcFindingsTest, ResponseMissingInCapture) {
  write(90, 2);
  ack(91, 1);
  for (std::uint32_t psn = 92; psn < 116; psn += 4) {
    request(Opcode::kReadRequest, psn, 0, 4096, true);
    answer(Opcode::kReadResponseFirst, psn, kAckAll, 2, 1024);
    if (psn != 100) answer(Opcode::kReadResponseMiddle, psn + 1, 0, 0, 1024);
    answer(Opcode::kReadResponseMiddle, psn + 2, 0, 0, 1024);
    answer(Opcode::kReadResponseLast, psn + 3, kAckAll, 2, 1024);
  }
  EXPECT_EQ(found(), None{"capture.lost"});
  EXPECT_EQ(findings_.all()[0].count, 1u);
  EXPECT_EQ(conversation().messages, 7u);
  EXPECT_EQ(conversation().to_a_B, 23u * 1024);
}

TEST_F(RcFindingsTest, ReadRequestMissingInCapture) {
  for (std::uint32_t psn = 92; psn < 116; psn += 4)
    if (psn != 100) request(Opcode::kReadRequest, psn, 0, 4096, true);
  for (std::uint32_t psn = 92; psn < 116; ++psn)
    answer(psn % 4 == 0   ? Opcode::kReadResponseFirst
           : psn % 4 == 3 ? Opcode::kReadResponseLast
                          : Opcode::kReadResponseMiddle,
           psn, kAckAll, 2, 1024);
  EXPECT_EQ(found(), None{"capture.lost"});
  EXPECT_EQ(findings_.all()[0].count, 1u);
  EXPECT_EQ(conversation().messages, 6u);
  EXPECT_EQ(conversation().to_a_B, 24u * 1024);
}

// Sixteen READs were on their way when the capture began: their responses are no answers to what it holds.
TEST_F(RcFindingsTest, ReadsInFlightAtBeginning) {
  for (std::uint32_t psn = 0; psn < 80; ++psn) {
    if (psn % 4 == 0) request(Opcode::kReadRequest, psn + 64, 0, 4096, true);
    answer(psn % 4 == 0   ? Opcode::kReadResponseFirst
           : psn % 4 == 3 ? Opcode::kReadResponseLast
                          : Opcode::kReadResponseMiddle,
           psn, kAckAll, 2, 1024);
  }
  EXPECT_EQ(found(), None{});
  EXPECT_EQ(conversations_.size(), 1u);
  EXPECT_EQ(conversation().to_a_B, 80u * 1024);
  EXPECT_GE(conversation().messages, 4u);
}

// Seen at the responder: all responses are there, and the requester asks again.
TEST_F(RcFindingsTest, ReadAskedAgainMeansResponsesLostBehindPoint) {
  request(Opcode::kReadRequest, 100, 0, 2048, true);
  request(Opcode::kReadRequest, 102, 0, 2048, true);
  for (int time = 0; time < 2; ++time) {
    for (std::uint32_t psn = 100; psn < 104; psn += 2) {
      if (time == 1) request(Opcode::kReadRequest, psn, 0, 2048, true);
      answer(Opcode::kReadResponseFirst, psn, kAckAll, 1, 1024);
      answer(Opcode::kReadResponseLast, psn + 1, kAckAll, 1 + (psn - 100) / 2, 1024);
    }
    wait(20'000);
  }
  EXPECT_EQ(found(), None{"read-response.lost"});
  EXPECT_NE(findings_.all()[0].what.find("and the requester"), std::string::npos) << findings_.all()[0].what;
}

TEST_F(RcFindingsTest, ReadsWithoutRethCannotBeJudged) {
  Frame read;
  read.src = 0;
  read.dst = 1;
  read.dest_qp = 0x11;
  read.opcode = Opcode::kReadRequest;
  for (std::uint32_t psn = 100; psn < 109; psn += 3) {
    read.psn = psn;
    see(read);
    answer(Opcode::kReadResponseFirst, psn, kAckAll, 1, 1024);
    answer(Opcode::kReadResponseMiddle, psn + 1, 0, 0, 1024);
    answer(Opcode::kReadResponseLast, psn + 2, kAckAll, 1, 952);
  }
  EXPECT_EQ(found(), None{});
  EXPECT_EQ(verdict("read-response"), Verdict::kNotEnough);
}

TEST_F(RcFindingsTest, RnrNakAndItsWait) {
  only(100);
  ack(100, 0, kRnr640us);
  wait(700'000);
  only(100);
  ack(100, 1);
  EXPECT_EQ(found(), None{"rnr.no-receive"});
  EXPECT_EQ(conversation().messages, 1u);
}

TEST_F(RcFindingsTest, SentAgainBeforeRnrTimer) {
  only(100);
  ack(100, 0, kRnr640us);
  wait(100'000);
  only(100);
  ack(100, 1);
  EXPECT_TRUE(finds("rnr.early"));
}

TEST_F(RcFindingsTest, RnrRetriesUsedUp) {
  only(100);
  ack(100, 0, kRnr640us);
  wait(10'000'000);
  Frame other;  // somebody else talks on
  other.src = 2;
  other.dst = 3;
  other.dest_qp = 0x33;
  other.opcode = Opcode::kSendOnly;
  see(other);
  EXPECT_TRUE(finds("rnr.exhausted"));
}

TEST_F(RcFindingsTest, WaitGivesTimeoutExponent) {
  only(100);
  ack(100, 1);
  only(101);
  wait(4'194'304 - 1000);  // 4.096 us x 2^10
  only(101);
  ack(101, 2);
  EXPECT_EQ(found(), None{"timeout.waited"});
  EXPECT_NE(findings_.all()[0].what.find("timeout 10"), std::string::npos) << findings_.all()[0].what;
  EXPECT_EQ(conversation().retransmitted, 1u);
}

TEST_F(RcFindingsTest, EightAttemptsExhaustRetries) {
  for (int attempt = 0; attempt < 8; ++attempt) {
    only(100);
    wait(67'000'000);
  }
  EXPECT_EQ(found(), None{"timeout.retries-exhausted"});
  EXPECT_EQ(conversation().goodput_B, 0u);
}

TEST_F(RcFindingsTest, FirstPacketAgainIsGoBackZero) {
  write(100, 8);
  ack(103, 0, kNakSequence);
  write(100, 8);
  ack(107, 1);
  EXPECT_TRUE(finds("recovery.go-back-0"));
}

TEST_F(RcFindingsTest, MissingPacketAloneIsSelectiveRepeat) {
  write(100, 8);
  ack(103, 0, kNakSequence);
  request(Opcode::kWriteMiddle, 103);
  only(108);
  ack(108, 2);
  EXPECT_TRUE(finds("recovery.selective"));
}

TEST_F(RcFindingsTest, SlowNakAndSlowReaction) {
  write(100, 8, {102});
  wait(200'000);
  ack(102, 0, kNakSequence);
  wait(900'000);
  for (std::uint32_t psn = 102; psn < 107; ++psn) request(Opcode::kWriteMiddle, psn);
  request(Opcode::kWriteLast, 107, 1024, 0, true);
  ack(107, 1);
  write(108, 4);  // all of it passes here, so that no copy can have been lost before this point
  ack(109, 1, kNakSequence);
  wait(900'000);
  for (std::uint32_t psn = 109; psn < 111; ++psn) request(Opcode::kWriteMiddle, psn);
  request(Opcode::kWriteLast, 111, 1024, 0, true);
  ack(111, 2);
  const std::vector<std::string> ids = found();
  for (const char* id : {"psn.lost", "nak-latency.generation", "nak-latency.reaction"})
    EXPECT_NE(std::find(ids.begin(), ids.end(), id), ids.end()) << id;
}

// Behind the loss: the copy that came at once was lost as well, and the timer brought the next one.
TEST_F(RcFindingsTest, LostCopyIsNotSlowReaction) {
  write(100, 8, {102});
  ack(102, 0, kNakSequence);
  wait(4'000'000);
  for (std::uint32_t psn = 102; psn < 107; ++psn) request(Opcode::kWriteMiddle, psn);
  request(Opcode::kWriteLast, 107, 1024, 0, true);
  ack(107, 1);
  EXPECT_EQ(found(), None{"psn.lost"});
}

TEST_F(RcFindingsTest, SlowReactionsSeenBehindLoss) {
  for (std::uint32_t psn = 100; psn < 140; psn += 8) {
    write(psn, 8, {psn + 2});
    ack(psn + 2, 0, kNakSequence);
    wait(4'000'000);
    for (std::uint32_t again = psn + 2; again < psn + 7; ++again) request(Opcode::kWriteMiddle, again);
    request(Opcode::kWriteLast, psn + 7, 1024, 0, true);
    ack(psn + 7, (psn - 92) / 8);
  }
  EXPECT_EQ(found(), (None{"nak-latency.reaction", "psn.lost"}));
}

// Of what is retransmitted the first packet is lost again, before this point: nothing but the timer brings it.
TEST_F(RcFindingsTest, FirstPacketLostAgainIsNotSpurious) {
  write(100, 8, {102});
  ack(102, 0, kNakSequence);
  for (std::uint32_t psn = 103; psn < 107; ++psn) request(Opcode::kWriteMiddle, psn);
  request(Opcode::kWriteLast, 107, 1024, 0, true);
  wait(4'000'000);
  for (std::uint32_t psn = 102; psn < 107; ++psn) request(Opcode::kWriteMiddle, psn);
  request(Opcode::kWriteLast, 107, 1024, 0, true);
  ack(107, 1);
  EXPECT_EQ(found(), (None{"psn.lost", "timeout.waited"}));
  EXPECT_EQ(findings_.all()[0].count, 2u);
  EXPECT_EQ(conversation().goodput_B, 8u * 1024);
}

TEST_F(RcFindingsTest, LossWithinRetransmissionIsBeforeThisPoint) {
  write(100, 8, {102});
  ack(102, 0, kNakSequence);
  request(Opcode::kWriteMiddle, 102);
  request(Opcode::kWriteMiddle, 103);
  request(Opcode::kWriteMiddle, 105);
  ack(104, 0, kNakSequence);
  for (std::uint32_t psn = 104; psn < 107; ++psn) request(Opcode::kWriteMiddle, psn);
  request(Opcode::kWriteLast, 107, 1024, 0, true);
  ack(107, 1);
  EXPECT_EQ(found(), None{"psn.lost"});
  EXPECT_EQ(findings_.all().size(), 1u);
  EXPECT_NE(findings_.all()[0].what.find("2 of "), std::string::npos) << findings_.all()[0].what;
  EXPECT_NE(findings_.all()[0].what.find("between the requester"), std::string::npos) << findings_.all()[0].what;
}

// What follows the first packet is lost again; the responder asks for it, so it had kept nothing.
TEST_F(RcFindingsTest, LostTailIsNotSelectiveRepeat) {
  write(100, 5, {102});
  ack(102, 0, kNakSequence);
  request(Opcode::kWriteMiddle, 102);
  only(105);
  ack(103, 0, kNakSequence);
  request(Opcode::kWriteMiddle, 103);
  request(Opcode::kWriteLast, 104, 1024, 0, true);
  only(105);
  ack(105, 2);
  EXPECT_FALSE(finds("recovery.selective"));
  EXPECT_EQ(ids_of(findings_), None{"psn.lost"});
}

// It comes behind the NAK, and the responder has discarded what had overtaken it.
TEST_F(RcFindingsTest, PacketBehindItsNakIsLate) {
  write(100, 8, {102});
  ack(102, 0, kNakSequence);
  request(Opcode::kWriteMiddle, 102);
  only(108);
  ack(103, 0, kNakSequence);
  for (std::uint32_t psn = 103; psn < 107; ++psn) request(Opcode::kWriteMiddle, psn);
  request(Opcode::kWriteLast, 107, 1024, 0, true);
  only(108);
  ack(108, 2);
  EXPECT_EQ(found(), None{"psn.reordered"});
  EXPECT_EQ(conversation().retransmitted, 6u);
}

// Later than the round trip of its NAK: both the packet and what was sent for it come.
TEST_F(RcFindingsTest, PacketBehindItsRetransmissionIsLate) {
  write(100, 8, {102});
  ack(102, 0, kNakSequence);
  for (std::uint32_t psn = 102; psn < 107; ++psn) request(Opcode::kWriteMiddle, psn);
  request(Opcode::kWriteLast, 107, 1024, 0, true);
  ack(107, 1);
  wait(20'000);
  request(Opcode::kWriteMiddle, 102);
  wait(20'000);
  only(108);
  ack(108, 2);
  EXPECT_EQ(found(), None{"psn.reordered"});
  EXPECT_EQ(conversation().retransmitted, 6u);
  EXPECT_EQ(verdict("psn"), Verdict::kFound);
}

TEST_F(RcFindingsTest, PacketAmongItsRetransmissionIsLate) {
  write(100, 8, {102});
  ack(102, 0, kNakSequence);
  for (const std::uint32_t psn : {102, 103, 104, 102, 105, 106}) request(Opcode::kWriteMiddle, psn);
  request(Opcode::kWriteLast, 107, 1024, 0, true);
  ack(107, 1);
  EXPECT_EQ(found(), None{"psn.reordered"});
  EXPECT_EQ(conversation().retransmitted, 6u);
}

// The figure in the table of conversations is explained, or the check does not call it healthy.
TEST_F(RcFindingsTest, RetransmissionsWithoutReasonAreNotHealthy) {
  write(100, 40);
  for (std::uint32_t psn = 110; psn < 139; ++psn) request(Opcode::kWriteMiddle, psn);
  request(Opcode::kWriteLast, 139, 1024, 0, true);
  EXPECT_EQ(found(), None{});
  EXPECT_EQ(conversation().retransmitted, 30u);
  EXPECT_EQ(verdict("psn"), Verdict::kNotEnough);
}

TEST_F(RcFindingsTest, EndlessRestartsAreLivelock) {
  for (int attempt = 0; attempt < 6; ++attempt) {
    write(100, 64);
    ack(140, 0, kNakSequence);
  }
  EXPECT_TRUE(finds("livelock.no-progress"));
}

TEST_F(RcFindingsTest, TablesHaveRowsOfMessagesAndRetransmissions) {
  only(100);
  only(101);
  ack(100, 0, kNakSequence);
  only(100);
  only(101);
  ack(101, 2);
  finish();
  ASSERT_EQ(tables_.size(), 3u);
  EXPECT_EQ(tables_[0].name, "qps");
  EXPECT_EQ(tables_[1].rows.size(), 1u);
  EXPECT_EQ(tables_[2].name, "messages");
  EXPECT_EQ(tables_[2].rows.size(), 2u);
}

}  // namespace
}  // namespace weft::analyze
