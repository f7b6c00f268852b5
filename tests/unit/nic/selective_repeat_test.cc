// Selective repeat of RC: what is on the wire, what is retransmitted, and what stays go-back-N.
#include "nic/transports/selective_repeat.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/injecting_pair.h"
#include "wire/aeth_syndrome.h"

namespace weft::nic {
namespace {

using fabric::FaultAction;
using fabric::FaultFrames;
using support::drop_request;
using support::Frame;
using support::Injected;
using support::InjectingPair;
using support::RcOptions;
using support::RcPair;
using wire::Opcode;

using Psns = std::vector<std::uint32_t>;

RcOptions repeats(std::vector<fabric::FaultRule> there = {}, std::vector<fabric::FaultRule> back = {}) {
  RcOptions options;
  options.transport = &kSelectiveRcTransport;
  options.pair.faults[0] = std::move(there);
  options.pair.faults[1] = std::move(back);
  return options;
}

// What side 0 retransmitted, relative to its first PSN; a probe asks for an ACK, and these messages end with the last
// one.
Psns sent_again(const RcPair& pair, bool probes) {
  Psns list;
  for (const Frame& frame : pair.sent(0)) {
    if (frame.retransmission() && frame.ack_req() == probes) list.push_back((frame.psn() - 1000) & kPsnMask);
  }
  return list;
}

void expect_delivered(RcPair& pair, std::size_t size_B) {
  EXPECT_EQ(pair.only_completion().status, WcStatus::kSuccess);
  EXPECT_TRUE(pair.same_bytes(0, 4096, size_B));
  EXPECT_TRUE(pair.ledger_balances());
  EXPECT_EQ(pair.slots_in_use(), 0U);
}

TEST(SelectiveRc, WritePacketsCarryOwnAddress) {
  RcPair pair(repeats());
  pair.post(WrOpcode::kWrite, 3 * 1024 + 5, 0, 4096);
  pair.run();
  expect_delivered(pair, 3 * 1024 + 5);
  ASSERT_EQ(pair.sent(0).size(), 4U);
  for (std::uint32_t i = 0; i < 4; ++i) {
    const Frame& frame = pair.sent(0)[i];
    EXPECT_EQ(frame.opcode(), Opcode::kWriteOnly);
    EXPECT_EQ(frame.cold.va, pair.node(1).va() + 4096 + 1024 * i);
    EXPECT_EQ(frame.cold.dma_len, i < 3 ? 1024U : 5U);
    EXPECT_EQ(frame.ack_req(), i == 3);
  }
}

// Four of 200 packets are lost, one of them twice: five are retransmitted, each once, and none waits for a timeout.
TEST(SelectiveRc, RetransmitsOnlyLostPackets) {
  RcPair pair(repeats({drop_request(3), drop_request(70), drop_request(71), drop_request(71, 2), drop_request(150)}));
  pair.post(WrOpcode::kWrite, 200 * 1024, 0, 4096);
  pair.run();
  expect_delivered(pair, 200 * 1024);
  Psns again = sent_again(pair, false);
  std::sort(again.begin(), again.end());
  EXPECT_EQ(again, (Psns{3, 70, 71, 71, 150}));
  EXPECT_LE(sent_again(pair, true).size(), 5U) << "a probe for each repair at most";
  EXPECT_EQ(pair.counters(0).local_ack_timeout_err, 0U);
  EXPECT_EQ(pair.counters(0).packet_seq_err, 0U) << "as counted on a BlueField-3";
  EXPECT_GE(pair.counters(1).out_of_sequence, 3U);
}

// Nobody finds out but the timer: a packet is lost twice, and every probe.
TEST(SelectiveRc, TimerFindsWhatProbesDoNot) {
  std::vector<fabric::FaultRule> faults = {drop_request(10), drop_request(10, 2)};
  for (std::uint32_t n = 2; n < 5; ++n) faults.push_back(drop_request(49, n));
  RcOptions options = repeats(faults);
  options.attributes.timeout = 8;
  RcPair pair(options);
  pair.post(WrOpcode::kWrite, 50 * 1024, 0, 4096);
  pair.run();
  expect_delivered(pair, 50 * 1024);
  EXPECT_EQ(pair.counters(0).local_ack_timeout_err, 1U);
  EXPECT_EQ(sent_again(pair, false), (Psns{10, 10}));
}

// A packet that never arrives ends the queue pair as ever, and does not fill the cable meanwhile.
TEST(SelectiveRc, GivesUpOnPacketThatNeverArrives) {
  fabric::FaultRule never = support::always(FaultAction::kDrop);
  never.frames = FaultFrames::kRequest;
  never.psn = 10;
  RcOptions options = repeats({never});
  options.attributes.timeout = 8;
  RcPair pair(options);
  pair.post(WrOpcode::kWrite, 50 * 1024, 0, 4096);
  pair.run();
  EXPECT_EQ(pair.only_completion().status, WcStatus::kRetryExceeded);
  EXPECT_EQ(pair.counters(0).local_ack_timeout_err, 7U);
  EXPECT_LT(pair.sent(0).size(), 300U);
}

// The end of a message is lost: nothing comes behind it.
TEST(SelectiveRc, LostTailIsFoundByTimer) {
  RcOptions options = repeats({drop_request(7), drop_request(8), drop_request(9)});
  options.attributes.timeout = 8;
  RcPair pair(options);
  pair.post(WrOpcode::kWrite, 10 * 1024, 0, 4096);
  pair.run();
  expect_delivered(pair, 10 * 1024);
  EXPECT_EQ(pair.counters(0).local_ack_timeout_err, 1U);
  EXPECT_EQ(sent_again(pair, false), (Psns{0, 7, 8})) << "the oldest that is not acknowledged, and what is missing";
}

TEST(SelectiveRc, LostReportsAndAcksAreMadeGood) {
  for (std::uint32_t n : {0U, 1U, 2U, 3U}) {
    fabric::FaultRule lost = support::always(FaultAction::kDrop);
    lost.frames = FaultFrames::kResponse;
    lost.start_ps = us(5 * n);
    lost.end_ps = us(5 * n + 8);
    RcOptions options = repeats({drop_request(3), drop_request(30), drop_request(60)}, {lost});
    options.attributes.timeout = 8;
    RcPair pair(options);
    pair.post(WrOpcode::kWrite, 100 * 1024, 0, 4096);
    pair.run();
    expect_delivered(pair, 100 * 1024);
  }
}

// A change of order that is over before the NAK would leave costs nothing; a longer one costs a packet.
TEST(SelectiveRc, ReorderedPacketsAreNotLost) {
  for (Time_ps late_ps : {ns(500), us(5)}) {
    fabric::FaultRule late = support::fault(FaultAction::kDelay, FaultFrames::kRequest, 20);
    late.delay_ps = late_ps;
    RcPair pair(repeats({late}));
    pair.post(WrOpcode::kWrite, 50 * 1024, 0, 4096);
    pair.run();
    expect_delivered(pair, 50 * 1024);
    EXPECT_EQ(sent_again(pair, false), late_ps < us(1) ? Psns{} : Psns{20});
    EXPECT_EQ(pair.counters(1).naks_sent, late_ps < us(1) ? 0U : 1U);
  }
}

TEST(SelectiveRc, CopiesAreTakenOnce) {
  fabric::FaultRule twice = support::always(FaultAction::kDuplicate);
  twice.frames = FaultFrames::kRequest;
  twice.delay_ps = us(2);
  RcPair pair(repeats({drop_request(5), twice}));
  pair.post(WrOpcode::kWrite, 50 * 1024, 0, 4096);
  pair.run();
  expect_delivered(pair, 50 * 1024);
}

TEST(SelectiveRc, PsnsWrap) {
  RcOptions options = repeats({drop_request(3), drop_request(10), drop_request(11), drop_request(12)});
  options.psn[0] = 0xfffff5;
  RcPair pair(options);
  pair.post(WrOpcode::kWrite, 100 * 1024, 0, 4096);
  pair.run();
  expect_delivered(pair, 100 * 1024);
  EXPECT_EQ(pair.counters(0).local_ack_timeout_err, 0U);
  EXPECT_LT(pair.counters(0).retransmitted_packets, 10U);
}

// No more packets are in flight than the window has, and it is not waited for longer than a round trip.
TEST(SelectiveRc, WindowLimitsPacketsInFlight) {
  for (std::uint32_t window : {1U, 16U, 40U}) {
    RcOptions options = repeats();
    options.pair.model[0].tx_psn_window = window;
    RcPair pair(options);
    pair.post(WrOpcode::kWrite, 80 * 1024, 0, 4096);
    pair.run();
    expect_delivered(pair, 80 * 1024);
    const auto& sent = pair.sent(0);
    std::size_t most = 0;
    for (std::size_t i = 0; i < sent.size(); ++i) {
      std::size_t acked = 0;
      for (const Frame& ack : pair.sent(1)) {
        if (ack.time_ps + us(1) < sent[i].time_ps) acked = ack.psn() - 1000 + 1;
      }
      most = std::max(most, i + 1 - acked);
    }
    EXPECT_LE(most, window);
    EXPECT_GE(most, window * 9 / 10);
    EXPECT_EQ(pair.counters(0).local_ack_timeout_err, 0U);
  }
}

// SENDs have no address of their own: they go back.
TEST(SelectiveRc, SendsGoBack) {
  RcPair pair(repeats({drop_request(3)}));
  pair.receive(64 * 1024, 4096);
  pair.post(WrOpcode::kSend, 20 * 1024);
  pair.run();
  expect_delivered(pair, 20 * 1024);
  EXPECT_EQ(pair.received().size(), 1U);
  EXPECT_EQ(pair.counters(0).packet_seq_err, 1U);
  EXPECT_GT(pair.counters(0).retransmitted_packets, 10U);
}

// Every kind of work behind every other, with each packet lost once: it all happens once and in order.
TEST(SelectiveRc, MixesWithGoBackN) {
  const WrOpcode kinds[] = {WrOpcode::kWrite, WrOpcode::kSend,     WrOpcode::kWriteImm, WrOpcode::kRead,
                            WrOpcode::kWrite, WrOpcode::kFetchAdd, WrOpcode::kWriteImm, WrOpcode::kWrite};
  for (std::uint32_t lost = 0; lost < 24; ++lost) {
    RcOptions options = repeats({drop_request(lost), drop_request(lost + 2), drop_request(lost + 2, 2)});
    options.attributes.timeout = 8;
    RcPair pair(options);
    for (std::uint64_t i = 0; i < 3; ++i) pair.receive(4096, 0x10000 + i * 0x1000, 100 + i);
    std::uint64_t before = 0;
    std::copy_n(pair.node(1).bytes().begin() + 0x8000, 8, reinterpret_cast<std::uint8_t*>(&before));
    for (std::uint32_t i = 0; i < std::size(kinds); ++i) {
      SendRequest request = pair.request(kinds[i], is_atomic(kinds[i]) ? 8 : 3000, 0x1000 * i, 0x1000 * i);
      if (is_atomic(kinds[i])) request.remote_va = pair.node(1).va() + 0x8000;
      if (kinds[i] == WrOpcode::kRead) request.remote_va = pair.node(1).va() + 0x9000;
      request.imm = 1000 + i;
      request.swap_add = 1;
      pair.post(request);
    }
    pair.run();
    const std::vector<Completion> done = pair.sent_completions();
    ASSERT_EQ(done.size(), std::size(kinds)) << lost;
    for (std::size_t i = 0; i < done.size(); ++i) {
      EXPECT_EQ(done[i].wr_id, i) << lost;
      EXPECT_EQ(done[i].status, WcStatus::kSuccess) << lost;
    }
    for (std::uint32_t i : {0U, 4U, 7U, 2U, 6U}) EXPECT_TRUE(pair.same_bytes(0x1000 * i, 0x1000 * i, 3000)) << lost;
    EXPECT_TRUE(pair.same_bytes(0x1000, 0x10000, 3000)) << lost;
    EXPECT_TRUE(pair.same_bytes(0x3000, 0x9000, 3000)) << lost;
    std::uint64_t after = 0;
    std::copy_n(pair.node(1).bytes().begin() + 0x8000, 8, reinterpret_cast<std::uint8_t*>(&after));
    EXPECT_EQ(after, before + 1) << lost;
    const std::vector<Completion> received = pair.received();
    ASSERT_EQ(received.size(), 3U) << lost;
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(received[i].wr_id, 100 + i) << lost;
      EXPECT_EQ(received[i].byte_len, 3000U) << lost;
    }
    EXPECT_EQ(received[1].imm, 1002U);
    EXPECT_EQ(received[2].imm, 1006U);
    EXPECT_TRUE(pair.ledger_balances());
    EXPECT_EQ(pair.slots_in_use(), 0U);
  }
}

// Immediate data that comes early waits for its turn, and for a receive.
TEST(SelectiveRc, ImmediatesCompleteInOrder) {
  for (bool late_receives : {false, true}) {
    RcPair pair(repeats({drop_request(2), drop_request(9), drop_request(9, 2)}));
    for (std::uint32_t i = 0; i < 20; ++i) {
      if (!late_receives || i < 3) pair.receive(64, 0, i);
      SendRequest request = pair.request(WrOpcode::kWriteImm, 1500, i * 2048, 4096 + i * 2048);
      request.imm = 50 + i;
      pair.post(request);
    }
    if (late_receives) {
      pair.node(1).at(us(40), [&pair] {
        for (std::uint32_t i = 3; i < 20; ++i) pair.receive(64, 0, i);
      });
    }
    pair.run();
    const std::vector<Completion> received = pair.received();
    ASSERT_EQ(received.size(), 20U);
    for (std::uint32_t i = 0; i < 20; ++i) {
      EXPECT_EQ(received[i].wr_id, i);
      EXPECT_EQ(received[i].imm, 50 + i);
      EXPECT_EQ(received[i].byte_len, 1500U);
      EXPECT_EQ(received[i].opcode, WcOpcode::kReceiveWithImm);
      EXPECT_TRUE(pair.same_bytes(i * 2048, 4096 + i * 2048, 1500));
    }
    EXPECT_EQ(pair.sent_completions().size(), 20U);
    EXPECT_EQ(pair.counters(0).rnr_nak_retry_err > 0, late_receives);
    EXPECT_EQ(pair.slots_in_use(), 0U);
  }
}

// Who spins on memory is told once for each message, when all of it is there.
TEST(SelectiveRc, WatchersHearOfWholeMessages) {
  RcPair pair(repeats({drop_request(1), drop_request(9), drop_request(13)}));
  pair.device(1).memory().find(pair.node(1).key)->watched = true;
  for (std::uint32_t i = 0; i < 5; ++i) pair.post(WrOpcode::kWrite, 4 * 1024, i * 4096, i * 4096);
  pair.run();
  EXPECT_EQ(pair.node(1).writes.size(), 5U);
  EXPECT_TRUE(pair.same_bytes(0, 0, 5 * 4096));
}

// Only one end has it: the other takes the packets in order, and its NAKs mean go-back-N.
TEST(SelectiveRc, OneEndAloneGoesBack) {
  for (std::uint32_t with : {0U, 1U}) {
    RcOptions options;
    options.pair.faults[0] = {drop_request(3), drop_request(40), drop_request(41), drop_request(60)};
    options.pair.model[with].selective_repeat = true;
    RcPair pair(options);
    for (std::uint32_t side : {0U, 1U}) {
      support::Node& n = pair.node(side);
      pair.qp[side] = pair.device(side).create_qp(QpType::kRc, n.send_cq, n.receive_cq, 64, 64);
    }
    ASSERT_TRUE(pair.up(0) && pair.up(1));
    for (std::uint32_t i = 0; i < 60; ++i)
      pair.post(WrOpcode::kWrite, i % 2 == 0 ? 1024 : 2048, i * 2048, 4096 + i * 2048);
    pair.run();
    const std::vector<Completion> done = pair.sent_completions();
    ASSERT_EQ(done.size(), 60U) << with;
    for (const Completion& each : done) EXPECT_EQ(each.status, WcStatus::kSuccess);
    for (std::uint32_t i = 0; i < 60; ++i)
      EXPECT_TRUE(pair.same_bytes(i * 2048, 4096 + i * 2048, i % 2 == 0 ? 1024 : 2048)) << with << " " << i;
    EXPECT_EQ(pair.counters(0).packet_seq_err, pair.counters(1).out_of_sequence) << with;
    EXPECT_GE(pair.counters(0).packet_seq_err, 2U) << with;
  }
}

// A WRITE that is not allowed is refused in its turn, whatever came before it is there.
TEST(SelectiveRc, RefusesInOrder) {
  RcPair pair(repeats({drop_request(2)}));
  pair.post(WrOpcode::kWrite, 4 * 1024, 0, 4096);
  SendRequest wrong = pair.request(WrOpcode::kWrite, 1024);
  wrong.rkey ^= 0x100;
  pair.post(wrong);
  pair.run();
  const std::vector<Completion> done = pair.sent_completions();
  ASSERT_EQ(done.size(), 2U);
  EXPECT_EQ(done[0].status, WcStatus::kSuccess);
  EXPECT_EQ(done[1].status, WcStatus::kRemoteAccessError);
  EXPECT_TRUE(pair.same_bytes(0, 4096, 4 * 1024));
  EXPECT_EQ(pair.slots_in_use(), 0U);
}

// Reports that make no sense have no effect but packets that are retransmitted.
TEST(SelectiveRc, TakesAnyReport) {
  const std::uint8_t nak = wire::nak_syndrome(wire::NakCode::kPsnSequenceError);
  for (std::uint32_t first : {0U, 5U, 19U, 20U, 2000U, 0x800000U, 0xffffffU}) {
    for (std::uint32_t end : {0U, 1U, 6U, 20U, 21U, 3000U, 0x7fffffU, 0xffffffU}) {
      InjectingPair pair(repeats());
      pair.post(WrOpcode::kWrite, 20 * 1024, 0, 4096);
      for (Time_ps at_ps : {us(1), us(2), us(4)}) {
        pair.inject({Opcode::kAck, first, 0, nak, {}, 1, (1000 + end) & kPsnMask, kSolicited}, at_ps);
      }
      pair.run();
      expect_delivered(pair, 20 * 1024);
      EXPECT_LE(pair.sent(0).size(), 20U + 3 * 21U);
    }
  }
}

// A queue pair that goes while packets are missing, and comes back, knows nothing of them.
TEST(SelectiveRc, ResetForgetsWhatIsMissing) {
  RcPair pair(repeats({drop_request(3), drop_request(3, 2), drop_request(30)}));
  pair.post(WrOpcode::kWrite, 100 * 1024, 0, 4096);
  pair.node(0).at(us(6), [&pair] {
    for (std::uint32_t side : {0U, 1U}) pair.device(side).modify(pair.qp[side], QpState::kReset);
  });
  pair.node(0).at(us(20), [&pair] {
    EXPECT_TRUE(pair.up(0) && pair.up(1));
    pair.post(pair.request(WrOpcode::kWrite, 50 * 1024, 0, 0x80000), us(30));
  });
  pair.run();
  EXPECT_EQ(pair.only_completion().status, WcStatus::kSuccess);
  EXPECT_TRUE(pair.same_bytes(0, 0x80000, 50 * 1024));
  EXPECT_TRUE(pair.ledger_balances());
  EXPECT_EQ(pair.slots_in_use(), 0U);
}

// What is repaired is no congestion, a timeout is: slow restart, as the packets that were lost without a CNP say.
TEST(SelectiveRc, RepairsAreNoCongestion) {
  RcOptions options = repeats({drop_request(3), drop_request(50)});
  for (std::uint32_t side : {0U, 1U}) {
    options.pair.model[side] = support::test_connectx();
    options.pair.model[side].slow_restart = true;
    options.pair.qos[side].congestion.kind = CongestionKind::kDcqcn;
  }
  RcPair pair(options);
  pair.post(WrOpcode::kWrite, 200 * 1024, 0, 4096);
  pair.run();
  expect_delivered(pair, 200 * 1024);
  EXPECT_EQ(pair.counters(0).roce_slow_restart, 0U);
  EXPECT_EQ(pair.counters(1).roce_slow_restart_cnps, 0U);
}

}  // namespace
}  // namespace weft::nic
