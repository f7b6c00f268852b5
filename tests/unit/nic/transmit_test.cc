// What requesters put on the wire.
#include <gtest/gtest.h>

#include "support/rc_pair.h"
#include "wire/flow.h"

namespace weft::nic {
namespace {

using support::Frame;
using support::RcOptions;
using support::RcPair;
using wire::Opcode;

constexpr std::uint32_t kMtu_B = 1024;

struct Kind {
  WrOpcode op;
  Opcode first, middle, last, only;
};
constexpr Kind kKinds[] = {
    {WrOpcode::kWrite, Opcode::kWriteFirst, Opcode::kWriteMiddle, Opcode::kWriteLast, Opcode::kWriteOnly},
    {WrOpcode::kWriteImm, Opcode::kWriteFirst, Opcode::kWriteMiddle, Opcode::kWriteLastImm, Opcode::kWriteOnlyImm},
    {WrOpcode::kSend, Opcode::kSendFirst, Opcode::kSendMiddle, Opcode::kSendLast, Opcode::kSendOnly},
    {WrOpcode::kSendImm, Opcode::kSendFirst, Opcode::kSendMiddle, Opcode::kSendLastImm, Opcode::kSendOnlyImm},
    {WrOpcode::kSendInv, Opcode::kSendFirst, Opcode::kSendMiddle, Opcode::kSendLastInv, Opcode::kSendOnlyInv},
};

// Sizes of the packets of a message, written without the code's arithmetic.
std::vector<std::uint32_t> cut(std::uint32_t size_B) {
  std::vector<std::uint32_t> sizes;
  while (size_B > kMtu_B) {
    sizes.push_back(kMtu_B);
    size_B -= kMtu_B;
  }
  sizes.push_back(size_B);
  return sizes;
}

// The first packet of a message leaves when a burst of it has come over PCIe, or all of it; a READ's data too.
TEST(Transmit, FirstPacketWaitsForBurst) {
  auto first_data_ps = [](WrOpcode op, std::uint32_t size_B, std::uint32_t burst_B) {
    RcOptions options;
    for (NicModel& model : options.pair.model) model.fetch_burst_B = burst_B;
    RcPair pair(options);
    pair.post(op, size_B);
    pair.run();
    return pair.sent(op == WrOpcode::kRead ? 1 : 0).front().time_ps;
  };
  const PcieFunction link({.generation = 5, .lanes = 16});
  for (WrOpcode op : {WrOpcode::kWrite, WrOpcode::kRead}) {
    const Time_ps at_once_ps = first_data_ps(op, 16384, 0);
    EXPECT_EQ(first_data_ps(op, 16384, 8192) - at_once_ps, link.link_ps(8192));
    EXPECT_EQ(first_data_ps(op, 16384, 65536) - at_once_ps, link.link_ps(16384));
    EXPECT_EQ(first_data_ps(op, 65536, 8192) - at_once_ps, link.link_ps(8192)) << "the rest comes while it sends";
  }
}

TEST(Transmit, SegmentsOperationsAtBoundaries) {
  for (const Kind& kind : kKinds) {
    for (std::uint32_t size_B : {0U, 1U, 3U, kMtu_B - 1, kMtu_B, kMtu_B + 1, 2 * kMtu_B, 2 * kMtu_B + 1, 5 * kMtu_B}) {
      RcPair pair;
      pair.receive(100'000, 200'000, 77);
      SendRequest request = pair.request(kind.op, size_B, 4096, 200'000);
      std::uint32_t spare_key = pair.device(1).memory().add(0x7000, 64, {true, true, true, true});
      request.imm = kind.op == WrOpcode::kSendInv ? spare_key : 0xdead;
      request.solicited = true;
      ASSERT_TRUE(pair.post(request));
      pair.run();
      std::vector<std::uint32_t> sizes = cut(size_B);
      const std::vector<Frame>& frames = pair.sent(0);
      ASSERT_EQ(frames.size(), sizes.size()) << size_B;
      std::size_t offset = 4096;
      for (std::size_t i = 0; i < frames.size(); ++i) {
        bool first = i == 0;
        bool last = i + 1 == frames.size();
        Opcode expected = first ? (last ? kind.only : kind.first) : (last ? kind.last : kind.middle);
        EXPECT_EQ(frames[i].opcode(), expected) << wire::name(expected) << " of " << size_B;
        EXPECT_EQ(frames[i].packet.payload_B, sizes[i]);
        EXPECT_EQ(frames[i].psn(), 1000 + i);
        EXPECT_EQ(frames[i].packet.endpoint, pair.qp[1]);
        EXPECT_EQ(frames[i].packet.udp_src_port, wire::udp_source_port(pair.qp[0], pair.qp[1]));
        EXPECT_EQ(frames[i].ack_req(), last);
        EXPECT_EQ((frames[i].packet.word & nic::kSolicited) != 0, last);
        EXPECT_FALSE(frames[i].retransmission());
        ASSERT_EQ(frames[i].payload.size(), sizes[i]);
        EXPECT_TRUE(std::equal(frames[i].payload.begin(), frames[i].payload.end(),
                               pair.node(0).bytes().begin() + static_cast<std::ptrdiff_t>(offset)));
        offset += sizes[i];
        if (wire::has_reth(expected)) {
          EXPECT_EQ(frames[i].cold.va, request.remote_va);
          EXPECT_EQ(frames[i].cold.rkey, request.rkey);
          EXPECT_EQ(frames[i].cold.dma_len, size_B);
        }
        EXPECT_TRUE(!wire::has_imm(expected) || frames[i].cold.imm == 0xdead);
        EXPECT_TRUE(!wire::has_ieth(expected) || frames[i].cold.rkey == spare_key);
      }
      EXPECT_EQ(pair.only_completion().status, WcStatus::kSuccess);
      EXPECT_TRUE(pair.same_bytes(4096, 200'000, size_B)) << wire::name(kind.only) << " of " << size_B;
      auto received = pair.received();
      ASSERT_EQ(received.size(), consumes_receive(kind.op) ? 1U : 0U);
      if (!received.empty()) {
        EXPECT_EQ(received[0].wr_id, 77U);
        EXPECT_EQ(received[0].byte_len, size_B);
        EXPECT_EQ(received[0].with_imm, wire::has_imm(kind.only));
        EXPECT_EQ(received[0].with_invalidate, wire::has_ieth(kind.only));
        EXPECT_TRUE(!received[0].with_imm || received[0].imm == 0xdead);
      }
      EXPECT_TRUE(pair.ledger_balances());
      EXPECT_EQ(pair.slots_in_use(), 0U);
    }
  }
}

TEST(Transmit, SegmentsReadResponsesWithPsnsOfRequest) {
  for (std::uint32_t size_B : {0U, 1U, kMtu_B - 1, kMtu_B, kMtu_B + 1, 2 * kMtu_B, 4 * kMtu_B + 7}) {
    RcPair pair;
    pair.post(WrOpcode::kRead, size_B, 8192, 300'000);
    pair.post(WrOpcode::kWrite, 8);
    pair.run();
    std::vector<std::uint32_t> sizes = cut(size_B);
    ASSERT_EQ(pair.sent(0).size(), 2U);
    EXPECT_EQ(pair.sent(0)[0].opcode(), Opcode::kReadRequest);
    EXPECT_EQ(pair.sent(0)[0].cold.dma_len, size_B);
    EXPECT_EQ(pair.sent(0)[0].cold.va, pair.node(1).va() + 300'000);
    EXPECT_EQ(pair.sent(0)[1].psn(), 1000 + sizes.size()) << "a READ takes a PSN for each response packet";
    ASSERT_EQ(pair.sent(1).size(), sizes.size() + 1);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const Frame& frame = pair.sent(1)[i];
      bool first = i == 0;
      bool last = i + 1 == sizes.size();
      EXPECT_EQ(frame.opcode(), first ? (last ? Opcode::kReadResponseOnly : Opcode::kReadResponseFirst)
                                      : (last ? Opcode::kReadResponseLast : Opcode::kReadResponseMiddle));
      EXPECT_EQ(frame.psn(), 1000 + i);
      EXPECT_EQ(frame.packet.payload_B, sizes[i]);
      if (first || last) {
        EXPECT_EQ(frame.syndrome(), 31);
        EXPECT_EQ(frame.msn(), 1U);
      }
    }
    auto completions = pair.sent_completions();
    ASSERT_EQ(completions.size(), 2U);
    EXPECT_EQ(completions[0].opcode, WcOpcode::kRead);
    EXPECT_EQ(completions[0].byte_len, size_B);
    EXPECT_TRUE(pair.same_bytes(8192, 300'000, size_B));
    EXPECT_EQ(pair.slots_in_use(), 0U);
  }
}

// 2^24 - 2, 2^24 - 1, 0, 1, 2 in the middle of one message, with a loss on either side of the wrap.
TEST(Transmit, PsnWrapsInsideMessage) {
  for (WrOpcode op : {WrOpcode::kWrite, WrOpcode::kSend, WrOpcode::kRead}) {
    for (std::uint32_t lost : {0U, 1U, 2U, 4U}) {
      RcOptions options;
      options.psn[0] = 0xfffffe;
      options.pair.faults[op == WrOpcode::kRead ? 1 : 0].push_back(op == WrOpcode::kRead ? support::drop_response(lost)
                                                                                         : support::drop_request(lost));
      RcPair pair(options);
      pair.receive(10'000, 50'000);
      pair.receive(10'000, 50'000);
      pair.post(op, 5 * kMtu_B, 0, 50'000);
      pair.post(WrOpcode::kWrite, 5, 20'000, 60'000);
      pair.run();
      auto completions = pair.sent_completions();
      ASSERT_EQ(completions.size(), 2U);
      EXPECT_EQ(completions[0].status, WcStatus::kSuccess);
      EXPECT_EQ(completions[1].status, WcStatus::kSuccess);
      EXPECT_TRUE(pair.same_bytes(0, 50'000, 5 * kMtu_B));
      EXPECT_TRUE(pair.same_bytes(20'000, 60'000, 5));
      EXPECT_TRUE(pair.ledger_balances());
    }
  }
}

// At most max_rd_atomic READs and atomics are outstanding; a WRITE behind them waits in order.
TEST(Transmit, OutstandingReadsAreLimited) {
  for (std::uint32_t limit : {1U, 4U, 16U}) {
    RcOptions options;
    options.attributes.max_rd_atomic = limit;
    RcPair pair(options);
    for (std::uint32_t i = 0; i < 40; ++i)
      pair.post(i % 3 == 0 ? WrOpcode::kFetchAdd : WrOpcode::kRead, 8, 8 * i, 8 * i);
    pair.run();
    EXPECT_EQ(pair.sent_completions().size(), 40U);
    // Count how many requests were out at each moment: a response ends its request when it arrives.
    std::vector<std::pair<Time_ps, int>> steps;
    for (const Frame& frame : pair.sent(0)) steps.emplace_back(frame.time_ps, 1);
    for (const Frame& frame : pair.sent(1)) steps.emplace_back(frame.time_ps + support::kFlight_ps, -1);
    std::sort(steps.begin(), steps.end());
    int out = 0;
    int most = 0;
    for (auto [time_ps, step] : steps) most = std::max(most, out += step);
    EXPECT_EQ(most, static_cast<int>(limit));
  }
}

TEST(Transmit, NicLimitBoundsAttribute) {
  RcOptions options;
  options.pair.model[0].max_rd_atomic = 2;
  RcPair pair(options);
  EXPECT_EQ(pair.device(0).qp(pair.qp[0]).attributes.max_rd_atomic, 2U);
  EXPECT_EQ(pair.device(1).qp(pair.qp[1]).attributes.max_rd_atomic, 16U);
}

TEST(Transmit, ChecksLocalProtectionBeforeSending) {
  for (int mistake = 0; mistake < 3; ++mistake) {
    RcPair pair;
    SendRequest request = pair.request(mistake == 2 ? WrOpcode::kRead : WrOpcode::kWrite, 64);
    if (mistake == 0) request.lkey ^= 1;
    if (mistake == 1) request.local_va = pair.node(0).va() + support::kMemory_B - 63;
    if (mistake == 2) request.lkey = pair.device(0).memory().add(request.local_va, 64, {false, false, false, false});
    pair.post(request);
    pair.post(WrOpcode::kWrite, 8);
    pair.run();
    auto completions = pair.sent_completions();
    ASSERT_EQ(completions.size(), 2U);
    EXPECT_EQ(completions[0].status, WcStatus::kLocalProtectionError);
    EXPECT_EQ(completions[0].vendor_error, 0x51);
    EXPECT_EQ(completions[1].status, WcStatus::kFlushError);
    EXPECT_EQ(pair.state(0), QpState::kErr);
    EXPECT_TRUE(pair.sent(0).empty());
  }
}

TEST(Transmit, InlineDataSkipsFetch) {
  Time_ps first_ps[2];
  for (bool inlined : {false, true}) {
    RcPair pair;
    SendRequest request = pair.request(WrOpcode::kWrite, 64);
    request.inline_data = inlined;
    pair.post(request);
    pair.run();
    first_ps[inlined] = pair.sent(0)[0].time_ps;
    EXPECT_TRUE(pair.same_bytes(0, 0, 64));
  }
  EXPECT_EQ(first_ps[false] - first_ps[true], ns(200));
  EXPECT_EQ(first_ps[true], ns(200)) << "doorbell 100 ns, NIC 100 ns";
}

TEST(Transmit, MessagesOfQpKeepMinimumGap) {
  RcOptions options;
  options.pair.model[0].wqe_interval_ps = ns(300);
  RcPair pair(options);
  for (int i = 0; i < 10; ++i) pair.post(WrOpcode::kWrite, 8);
  pair.run();
  for (std::size_t i = 1; i < 10; ++i) EXPECT_EQ(pair.sent(0)[i].time_ps - pair.sent(0)[i - 1].time_ps, ns(300));
}

TEST(Transmit, PacketsOfMessageAreBackToBack) {
  RcPair pair;
  pair.post(WrOpcode::kWrite, 20 * kMtu_B);
  pair.run();
  EXPECT_EQ(pair.sent(0)[1].time_ps - pair.sent(0)[0].time_ps, (1106 + 16) * 80);
  for (std::size_t i = 2; i < 20; ++i) EXPECT_EQ(pair.sent(0)[i].time_ps - pair.sent(0)[i - 1].time_ps, 1106 * 80);
}

TEST(Transmit, UnsignaledWorkHasNoCompletion) {
  RcPair pair;
  for (int i = 0; i < 5; ++i) {
    SendRequest request = pair.request(WrOpcode::kWrite, 8);
    request.signaled = i == 4;
    pair.post(request);
  }
  pair.run();
  EXPECT_EQ(pair.only_completion().wr_id, 4U);
}

}  // namespace
}  // namespace weft::nic
