// Requests that arrive twice, too early, without a receive or without the right.
#include <gtest/gtest.h>

#include "support/rc_pair.h"

namespace weft::nic {
namespace {

using fabric::Fate;
using fabric::FaultAction;
using support::Frame;
using support::RcOptions;
using support::RcPair;
using wire::Opcode;

std::uint64_t le64(const std::vector<std::uint8_t>& bytes, std::size_t at) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < 8; ++i) value |= std::uint64_t{bytes[at + i]} << (8 * i);
  return value;
}

RcOptions with_fault(const fabric::FaultRule& rule, std::uint32_t side = 0) {
  RcOptions options;
  options.pair.faults[side].push_back(rule);
  return options;
}

// The first request comes a second time, when its answer is long gone.
RcOptions with_late_copy() {
  RcOptions options = with_fault(support::fault(FaultAction::kDuplicate, fabric::FaultFrames::kRequest, 0));
  options.pair.faults[0].back().delay_ps = us(20);
  return options;
}

TEST(Responder, AtomicsReturnOriginalAndChangeMemory) {
  RcPair pair;
  std::uint64_t before = le64(pair.node(1).bytes(), 800);
  SendRequest add = pair.request(WrOpcode::kFetchAdd, 8, 0, 800);
  add.swap_add = 5;
  SendRequest miss = pair.request(WrOpcode::kCompareSwap, 8, 8, 800);
  miss.compare = 1;
  miss.swap_add = 77;
  SendRequest hit = pair.request(WrOpcode::kCompareSwap, 8, 16, 800);
  hit.compare = before + 5;
  hit.swap_add = 99;
  for (const SendRequest& request : {add, miss, hit}) pair.post(request);
  pair.run();
  EXPECT_EQ(pair.sent_completions().size(), 3U);
  EXPECT_EQ(le64(pair.node(0).bytes(), 0), before);
  EXPECT_EQ(le64(pair.node(0).bytes(), 8), before + 5);
  EXPECT_EQ(le64(pair.node(0).bytes(), 16), before + 5);
  EXPECT_EQ(le64(pair.node(1).bytes(), 800), 99U);
  EXPECT_EQ(pair.opcodes(0), (std::vector<Opcode>{Opcode::kFetchAdd, Opcode::kCompareSwap, Opcode::kCompareSwap}));
  EXPECT_EQ(pair.counters(1).rx_atomic_requests, 3U);
}

// The reply is lost, the request comes again: answered from what was saved, executed once.
TEST(Responder, DuplicateAtomicIsNotExecutedAgain) {
  for (int way = 0; way < 2; ++way) {
    RcOptions options = way == 0 ? with_fault(support::drop_response(0), 1) : with_late_copy();
    options.attributes.timeout = 4;
    RcPair pair(options);
    std::uint64_t before = le64(pair.node(1).bytes(), 800);
    SendRequest add = pair.request(WrOpcode::kFetchAdd, 8, 0, 800);
    add.swap_add = 5;
    pair.post(add);
    pair.run();
    EXPECT_EQ(pair.only_completion().status, WcStatus::kSuccess);
    EXPECT_EQ(le64(pair.node(0).bytes(), 0), before);
    EXPECT_EQ(le64(pair.node(1).bytes(), 800), before + 5);
    EXPECT_EQ(pair.counters(1).rx_atomic_requests, 1U);
    EXPECT_EQ(pair.counters(1).duplicate_request, 1U);
    EXPECT_EQ(pair.link(0).received.of(Fate::kDuplicate), 1U);
    ASSERT_EQ(pair.sent(1).size(), 2U);
    EXPECT_EQ(pair.sent(1)[1].opcode(), Opcode::kAtomicAck);
    EXPECT_EQ(pair.sent(1)[1].cold.compare, before);
  }
}

TEST(Responder, DuplicateSendAndWriteAreOnlyAcknowledged) {
  for (WrOpcode op : {WrOpcode::kSend, WrOpcode::kWrite, WrOpcode::kWriteImm}) {
    RcPair pair(with_fault(support::fault(FaultAction::kDuplicate, fabric::FaultFrames::kRequest, 0)));
    for (int i = 0; i < 3; ++i) pair.receive(1000, 100'000);
    pair.post(op, 700, 0, 100'000);
    pair.run();
    EXPECT_EQ(pair.only_completion().status, WcStatus::kSuccess);
    EXPECT_EQ(pair.received().size(), consumes_receive(op) ? 1U : 0U);
    EXPECT_EQ(pair.counters(1).duplicate_request, 1U);
    ASSERT_GE(pair.sent(1).size(), 1U);
    for (std::uint32_t psn : pair.psns(1)) EXPECT_EQ(psn, 0U);
    for (const Frame& frame : pair.sent(1)) EXPECT_EQ(frame.msn(), 1U) << "a duplicate completes nothing";
  }
}

TEST(Responder, DuplicateReadIsExecutedAgain) {
  RcPair pair(with_late_copy());
  pair.post(WrOpcode::kRead, 3000, 0, 100'000);
  pair.run();
  EXPECT_EQ(pair.only_completion().status, WcStatus::kSuccess);
  EXPECT_TRUE(pair.same_bytes(0, 100'000, 3000));
  EXPECT_EQ(pair.psns(1), (std::vector<std::uint32_t>{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(pair.counters(1).rx_read_requests, 1U);
  EXPECT_EQ(pair.link(1).received.of(Fate::kStaleResponse), 3U);
}

// The copy comes while answers to later READs wait: whatever the responder does with them, the requester gets all of
// them without an ACK timeout, because it never had a reason to ask again.
TEST(Responder, DuplicateEarlyReadKeepsLaterOnes) {
  RcOptions options = with_fault(support::fault(FaultAction::kDuplicate, fabric::FaultFrames::kRequest, 0));
  options.pair.faults[0].back().delay_ps = ns(500);
  options.attributes.timeout = 0;
  RcPair pair(options);
  for (std::uint64_t i = 0; i < 8; ++i) pair.post(WrOpcode::kRead, 3000, i * 4096, 100'000 + i * 4096);
  pair.run();
  EXPECT_EQ(pair.sent_completions().size(), 8U);
}

TEST(Responder, SendsOneNakPerGap) {
  RcPair pair(with_fault(support::drop_request(3)));
  pair.post(WrOpcode::kWrite, 20 * 1024, 0, 100'000);
  pair.run();
  EXPECT_EQ(pair.only_completion().status, WcStatus::kSuccess);
  EXPECT_TRUE(pair.same_bytes(0, 100'000, 20 * 1024));
  std::vector<Frame> naks;
  for (const Frame& frame : pair.sent(1)) {
    if (frame.syndrome() == 0x60) naks.push_back(frame);
  }
  ASSERT_EQ(naks.size(), 1U);
  EXPECT_EQ(naks[0].psn(), 1003U) << "the NAK names the PSN that is expected";
  EXPECT_EQ(pair.counters(1).out_of_sequence, 1U);
  EXPECT_EQ(pair.counters(0).packet_seq_err, 1U);
  EXPECT_EQ(pair.counters(1).naks_sent, 1U);
  EXPECT_GT(pair.link(0).received.of(Fate::kOutOfSequence), 1U) << "the rest of the flight is discarded in silence";
}

TEST(Responder, SecondLossIsSecondGap) {
  RcOptions options = with_fault(support::drop_request(3));
  options.pair.faults[0].push_back(support::drop_request(3, 2));
  options.pair.faults[0].push_back(support::drop_request(9, 3));  // the first two of PSN 9 are in the discarded flights
  RcPair pair(options);
  pair.post(WrOpcode::kWrite, 20 * 1024, 0, 100'000);
  pair.run();
  EXPECT_EQ(pair.only_completion().status, WcStatus::kSuccess);
  // PSN 3 lost again: the responder stays silent in the same gap, and the timeout saves it.
  EXPECT_EQ(pair.counters(1).out_of_sequence, 2U);
  EXPECT_EQ(pair.counters(0).packet_seq_err, 2U);
  EXPECT_EQ(pair.counters(0).local_ack_timeout_err, 1U);
}

// What the responder has found out about the memory of a message holds only as long as that memory stays.
TEST(Responder, RegionRemovedWithinMessageEndsIt) {
  constexpr std::uint32_t kLength_B = 1'000'000;
  for (bool removed : {false, true}) {
    RcPair pair;
    SendRequest write = pair.request(WrOpcode::kWrite, kLength_B);
    write.lkey = pair.device(0).memory().add(write.local_va, kLength_B, {});
    write.rkey = pair.device(1).memory().add(write.remote_va, kLength_B, {true, true, true, true});
    pair.post(write);
    pair.node(1).at(us(30), [&] {
      if (removed) EXPECT_TRUE(pair.device(1).memory().remove(write.rkey));
    });
    pair.run();
    EXPECT_EQ(pair.only_completion().status, removed ? WcStatus::kRemoteAccessError : WcStatus::kSuccess);
    std::uint64_t received_B = pair.counters(1).rx().bytes;
    EXPECT_GT(received_B, 50'000U);
    EXPECT_EQ(received_B < kLength_B, removed) << "it was removed in the middle";
  }
}

struct AccessCase {
  const char* what;
  WrOpcode op;
  std::function<void(RcPair&, SendRequest&)> spoil;
  Access qp_access;
  WcStatus status;
  int vendor;
};

TEST(Responder, AccessErrorSignatures) {
  auto none = [](RcPair&, SendRequest&) {};
  auto key = [](RcPair&, SendRequest& r) { r.rkey ^= 1; };
  auto beyond = [](RcPair& pair, SendRequest& r) { r.remote_va = pair.node(1).va() + support::kMemory_B - 4; };
  auto before = [](RcPair& pair, SendRequest& r) { r.remote_va = pair.node(1).va() - 8; };
  auto odd = [](RcPair&, SendRequest& r) { r.remote_va += 4; };
  auto read_only = [](RcPair& pair, SendRequest& r) {
    r.rkey = pair.device(1).memory().add(r.remote_va, 64, {true, false, true, false});
  };
  auto write_only = [](RcPair& pair, SendRequest& r) {
    r.rkey = pair.device(1).memory().add(r.remote_va, 64, {true, true, false, false});
  };
  const Access all{true, true, true, true};
  const AccessCase table[] = {
      {"write, wrong rkey", WrOpcode::kWrite, key, all, WcStatus::kRemoteAccessError, 0x88},
      {"write, beyond the region", WrOpcode::kWrite, beyond, all, WcStatus::kRemoteAccessError, 0x88},
      {"write, before the region", WrOpcode::kWrite, before, all, WcStatus::kRemoteAccessError, 0x88},
      {"write, region without remote write", WrOpcode::kWrite, read_only, all, WcStatus::kRemoteAccessError, 0x88},
      {"write, QP without remote write",
       WrOpcode::kWrite,
       none,
       {true, false, true, true},
       WcStatus::kRemoteInvalidRequest,
       0x8a},
      {"read, wrong rkey", WrOpcode::kRead, key, all, WcStatus::kRemoteAccessError, 0x88},
      {"read, beyond the region", WrOpcode::kRead, beyond, all, WcStatus::kRemoteAccessError, 0x88},
      {"read, region without remote read", WrOpcode::kRead, write_only, all, WcStatus::kRemoteAccessError, 0x88},
      {"read, QP without remote read",
       WrOpcode::kRead,
       none,
       {true, true, false, true},
       WcStatus::kRemoteInvalidRequest,
       0x8a},
      {"atomic, wrong rkey", WrOpcode::kFetchAdd, key, all, WcStatus::kRemoteAccessError, 0x88},
      {"atomic, region without atomics", WrOpcode::kCompareSwap, write_only, all, WcStatus::kRemoteAccessError, 0x88},
      {"atomic, not aligned", WrOpcode::kFetchAdd, odd, all, WcStatus::kRemoteInvalidRequest, 0x8a},
      {"atomic, QP without atomics",
       WrOpcode::kFetchAdd,
       none,
       {true, true, true, false},
       WcStatus::kRemoteInvalidRequest,
       0x8a},
  };
  for (const AccessCase& c : table) {
    RcOptions options;
    options.attributes.access = c.qp_access;
    RcPair pair(options);
    pair.receive(64, 0, 3);
    SendRequest request = pair.request(c.op, 8, 0, 800);
    c.spoil(pair, request);
    std::vector<std::uint8_t> memory = pair.node(1).bytes();
    pair.post(request);
    pair.post(WrOpcode::kWrite, 8, 0, 800);
    pair.run();
    auto completions = pair.sent_completions();
    ASSERT_EQ(completions.size(), 2U) << c.what;
    EXPECT_EQ(completions[0].status, c.status) << c.what;
    EXPECT_EQ(completions[0].vendor_error, c.vendor) << c.what;
    EXPECT_EQ(completions[1].status, WcStatus::kFlushError) << c.what;
    EXPECT_EQ(pair.state(0), QpState::kErr) << c.what;
    EXPECT_EQ(pair.state(1), QpState::kErr) << c.what << ": an error NAK ends the responder";
    EXPECT_EQ(pair.node(1).bytes(), memory) << c.what;
    auto flushed = pair.received();
    ASSERT_EQ(flushed.size(), 1U) << c.what;
    EXPECT_EQ(flushed[0].status, WcStatus::kFlushError);
    bool invalid = c.status == WcStatus::kRemoteInvalidRequest;
    EXPECT_EQ(pair.counters(0).req_remote_invalid_request, invalid ? 1U : 0U) << c.what;
    EXPECT_EQ(pair.counters(0).req_remote_access_errors, invalid ? 0U : 1U) << c.what;
    EXPECT_EQ(pair.counters(0).req_cqe_error, 1U);
    // [fault-characterization]: the responder's own error counters stay 0.
    EXPECT_EQ(pair.counters(1).resp_remote_access_errors, 0U) << c.what;
    EXPECT_EQ(pair.counters(1).resp_cqe_error, 0U) << c.what;
    EXPECT_EQ(pair.counters(1).rx_write_requests, c.op == WrOpcode::kWrite ? 1U : 0U) << c.what;
    EXPECT_TRUE(pair.ledger_balances()) << c.what;
  }
}

// [fault-characterization]: a WRITE across the end of a region leaves its first packets behind.
TEST(Responder, WriteAcrossRegionEndIsPartial) {
  RcPair pair;
  std::uint64_t at = support::kMemory_B - 2 * 1024;
  std::vector<std::uint8_t> before = pair.node(1).bytes();
  pair.post(WrOpcode::kWrite, 4 * 1024, 0, at);
  pair.run();
  EXPECT_EQ(pair.only_completion().status, WcStatus::kRemoteAccessError);
  EXPECT_TRUE(pair.same_bytes(0, at, 2 * 1024));
  EXPECT_TRUE(
      std::equal(before.begin(), before.begin() + static_cast<std::ptrdiff_t>(at), pair.node(1).bytes().begin()));
}

TEST(Responder, FailsShortReceive) {
  for (std::uint32_t size_B : {101U, 3000U}) {
    RcPair pair;
    pair.receive(size_B - 1, 100'000, 42);
    pair.post(WrOpcode::kSend, size_B);
    pair.run();
    EXPECT_EQ(pair.only_completion().status, WcStatus::kRemoteInvalidRequest);
    auto received = pair.received();
    ASSERT_EQ(received.size(), 1U);
    EXPECT_EQ(received[0].status, WcStatus::kLocalLengthError);
    EXPECT_EQ(received[0].wr_id, 42U);
    EXPECT_EQ(pair.counters(1).resp_local_length_error, 1U);
    EXPECT_EQ(pair.state(1), QpState::kErr);
  }
}

TEST(Responder, FailsReceiveIntoUnknownMemory) {
  RcPair pair;
  pair.device(1).post_receive(pair.qp[1], {1, 0x999, pair.node(1).key, 1000});
  pair.post(WrOpcode::kSend, 100);
  pair.run();
  EXPECT_EQ(pair.only_completion().status, WcStatus::kRemoteOperationError);
  auto received = pair.received();
  ASSERT_EQ(received.size(), 1U);
  EXPECT_EQ(received[0].status, WcStatus::kLocalProtectionError) << "the receive whose buffer is wrong says so";
}

TEST(Responder, SendWithInvalidateRemovesKey) {
  RcPair pair;
  std::uint32_t key = pair.device(1).memory().add(0x5000, 64, {true, true, true, true});
  pair.receive(64, 100'000);
  SendRequest request = pair.request(WrOpcode::kSendInv, 8);
  request.imm = key;
  pair.post(request);
  pair.run();
  auto received = pair.received();
  ASSERT_EQ(received.size(), 1U);
  EXPECT_TRUE(received[0].with_invalidate);
  EXPECT_EQ(received[0].imm, key);
  EXPECT_EQ(pair.device(1).memory().find(key), nullptr);
  SendRequest write = pair.request(WrOpcode::kWrite, 8);
  write.rkey = key;
  write.remote_va = 0x5000;
  pair.post(write, us(50));
  pair.run();
  EXPECT_EQ(pair.sent_completions().back().status, WcStatus::kRemoteAccessError);
}

TEST(Responder, WatchedRegionReportsEachWrite) {
  RcPair pair;
  pair.device(1).memory().find(pair.node(1).key)->watched = true;
  pair.post(WrOpcode::kWrite, 5000, 0, 100'000);
  pair.post(WrOpcode::kWrite, 8, 0, 100'000);
  pair.post(WrOpcode::kRead, 8);
  pair.run();
  EXPECT_EQ(pair.node(1).writes, (std::vector<std::uint32_t>{pair.node(1).key, pair.node(1).key}));
}

}  // namespace
}  // namespace weft::nic
