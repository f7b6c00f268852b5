// Peers that break the protocol: responses that no request asks for, requests whose lengths do not add up, packets from
// somebody else. Nothing is written where it must not be, every packet has one fate, and the work request ends as
// IBTA vol 1, 9.9 says.
#include <gtest/gtest.h>

#include <optional>

#include "nic/transports/psn.h"
#include "support/injecting_pair.h"
#include "wire/aeth_syndrome.h"

namespace weft::nic {
namespace {

using fabric::Fate;
using support::Injected;
using support::InjectingPair;
using support::RcOptions;
using wire::NakCode;
using wire::Opcode;

constexpr std::uint8_t kSequenceNak = wire::nak_syndrome(NakCode::kPsnSequenceError);

// Side 1 gets nothing, so that all it sends is injected.
RcOptions cut_off() {
  RcOptions options;
  options.pair.faults[0].push_back(support::always(fabric::FaultAction::kDrop));
  options.attributes.timeout = 0;
  return options;
}

struct ResponseCase {
  const char* what;
  WrOpcode posted;
  std::uint32_t length_B;
  std::vector<Injected> responses;
  std::optional<WcStatus> status;  // none: still waits
  Fate last_fate;
};

Injected read_response(Opcode opcode, std::uint32_t psn, std::uint32_t payload_B) {
  return {opcode, psn, payload_B};
}

const Opcode kFirst = Opcode::kReadResponseFirst, kMiddle = Opcode::kReadResponseMiddle,
             kLast = Opcode::kReadResponseLast, kOnly = Opcode::kReadResponseOnly;

const std::vector<ResponseCase> kResponseCases = {
    {"the answer to a READ",
     WrOpcode::kRead,
     2500,
     {read_response(kFirst, 0, 1024), read_response(kMiddle, 1, 1024), read_response(kLast, 2, 452)},
     WcStatus::kSuccess,
     Fate::kAccepted},
    {"the answer in two parts, as after a retransmission",
     WrOpcode::kRead,
     2500,
     {read_response(kFirst, 0, 1024), read_response(kFirst, 1, 1024), read_response(kOnly, 2, 452)},
     WcStatus::kSuccess,
     Fate::kAccepted},
    {"more packets than asked for",
     WrOpcode::kRead,
     2500,
     {read_response(kFirst, 0, 1024), read_response(kMiddle, 1, 1024), read_response(kLast, 2, 452),
      read_response(kMiddle, 3, 1024)},
     WcStatus::kSuccess,
     Fate::kStaleResponse},
    {"Middle where Last is due",
     WrOpcode::kRead,
     2500,
     {read_response(kFirst, 0, 1024), read_response(kMiddle, 1, 1024), read_response(kMiddle, 2, 1024)},
     WcStatus::kLocalLengthError,
     Fate::kBadResponse},
    {"Last one packet early",
     WrOpcode::kRead,
     2500,
     {read_response(kFirst, 0, 1024), read_response(kLast, 1, 452)},
     WcStatus::kLocalLengthError,
     Fate::kBadResponse},
    {"a Last that is short",
     WrOpcode::kRead,
     2500,
     {read_response(kFirst, 0, 1024), read_response(kMiddle, 1, 1024), read_response(kLast, 2, 451)},
     WcStatus::kLocalLengthError,
     Fate::kBadResponse},
    {"a Last that is long",
     WrOpcode::kRead,
     2500,
     {read_response(kFirst, 0, 1024), read_response(kMiddle, 1, 1024), read_response(kLast, 2, 453)},
     WcStatus::kLocalLengthError,
     Fate::kBadResponse},
    {"the larger MTU of a peer, First",
     WrOpcode::kRead,
     2500,
     {read_response(kFirst, 0, 2048)},
     WcStatus::kLocalLengthError,
     Fate::kBadResponse},
    {"the larger MTU of a peer, Only",
     WrOpcode::kRead,
     2500,
     {read_response(kOnly, 0, 2500)},
     WcStatus::kLocalLengthError,
     Fate::kBadResponse},
    {"the smaller MTU of a peer",
     WrOpcode::kRead,
     2500,
     {read_response(kFirst, 0, 256)},
     WcStatus::kLocalLengthError,
     Fate::kBadResponse},
    {"Middle before First",
     WrOpcode::kRead,
     2500,
     {read_response(kMiddle, 0, 1024)},
     WcStatus::kBadResponse,
     Fate::kBadResponse},
    {"Last before First",
     WrOpcode::kRead,
     100,
     {read_response(kLast, 0, 100)},
     WcStatus::kBadResponse,
     Fate::kBadResponse},
    {"an atomic's answer to a READ",
     WrOpcode::kRead,
     8,
     {{Opcode::kAtomicAck, 0}},
     WcStatus::kBadResponse,
     Fate::kBadResponse},
    {"a READ answered with a NAK in its AETH",
     WrOpcode::kRead,
     100,
     {{kOnly, 0, 100, wire::nak_syndrome(NakCode::kRemoteAccessError)}},
     WcStatus::kBadResponse,
     Fate::kBadResponse},
    {"an ACK of a READ",
     WrOpcode::kRead,
     100,
     {{Opcode::kAck, 0}},
     std::nullopt,
     Fate::kAccepted},  // an implied NAK: it is asked for again
    {"nothing read", WrOpcode::kRead, 0, {read_response(kOnly, 0, 0)}, WcStatus::kSuccess, Fate::kAccepted},
    {"bytes where none were asked for",
     WrOpcode::kRead,
     0,
     {read_response(kOnly, 0, 8)},
     WcStatus::kLocalLengthError,
     Fate::kBadResponse},
    {"an atomic", WrOpcode::kFetchAdd, 8, {{Opcode::kAtomicAck, 0}}, WcStatus::kSuccess, Fate::kAccepted},
    {"a READ's answer to an atomic",
     WrOpcode::kFetchAdd,
     8,
     {read_response(kOnly, 0, 8)},
     WcStatus::kBadResponse,
     Fate::kBadResponse},
    {"an empty READ's answer to an atomic",
     WrOpcode::kCompareSwap,
     8,
     {read_response(kOnly, 0, 0)},
     WcStatus::kBadResponse,
     Fate::kBadResponse},
    {"an ACK of an atomic", WrOpcode::kFetchAdd, 8, {{Opcode::kAck, 0}}, std::nullopt, Fate::kAccepted},
    {"a READ's answer to a WRITE",
     WrOpcode::kWrite,
     2500,
     {read_response(kOnly, 1, 1024)},
     WcStatus::kBadResponse,
     Fate::kBadResponse},
    {"an atomic's answer to a SEND",
     WrOpcode::kSend,
     64,
     {{Opcode::kAtomicAck, 0}},
     WcStatus::kBadResponse,
     Fate::kBadResponse},
    {"an ACK with a reserved syndrome",
     WrOpcode::kWrite,
     64,
     {{Opcode::kAck, 0, 0, 0x40}},
     std::nullopt,
     Fate::kBadResponse},
    {"a NAK with a reserved code",
     WrOpcode::kWrite,
     64,
     {{Opcode::kAck, 0, 0, 0x7f}},
     std::nullopt,
     Fate::kBadResponse},
    {"a PSN that was never sent", WrOpcode::kWrite, 64, {{Opcode::kAck, 1}}, std::nullopt, Fate::kStaleResponse},
    {"a PSN that was acknowledged long ago",
     WrOpcode::kWrite,
     64,
     {{Opcode::kAck, kPsnMask}},
     std::nullopt,
     Fate::kStaleResponse},
};

TEST(BrokenPeer, ResponsesMustMatchOpcodePsnAndLength) {
  for (const ResponseCase& each : kResponseCases) {
    SCOPED_TRACE(each.what);
    InjectingPair pair(cut_off());
    pair.post(each.posted, each.length_B, 4096);
    Time_ps at_ps = us(10);
    for (const Injected& response : each.responses) pair.inject(response, at_ps += us(1));
    pair.run(us(100));
    auto completions = pair.sent_completions();
    ASSERT_EQ(completions.size(), each.status ? 1U : 0U);
    if (each.status) {
      EXPECT_EQ(completions[0].status, *each.status) << name(completions[0].status);
      EXPECT_EQ(pair.state(0), *each.status == WcStatus::kSuccess ? QpState::kRts : QpState::kErr);
    }
    const fabric::Ledger& received = pair.link(1).received;
    EXPECT_EQ(received.ended(), each.responses.size());
    EXPECT_GE(received.of(each.last_fate), 1U);
    EXPECT_EQ(received.of(Fate::kBadResponse), each.last_fate == Fate::kBadResponse ? 1U : 0U);
    bool places = each.posted == WrOpcode::kRead || is_atomic(each.posted);
    EXPECT_TRUE(pair.kept_outside(4096, places ? 4096 + each.length_B : 4096));
    EXPECT_TRUE(pair.ledger_balances());
    EXPECT_EQ(pair.slots_in_use(), 0U);
  }
}

// Requests of others before the one that fails are acknowledged by its response; those behind it are flushed.
TEST(BrokenPeer, BadResponseFailsRequestOfSamePsn) {
  InjectingPair pair(cut_off());
  pair.post(WrOpcode::kWrite, 3000);
  pair.post(WrOpcode::kFetchAdd, 8);
  pair.post(WrOpcode::kRead, 64);
  pair.inject(read_response(kOnly, 3, 0), us(20));
  pair.run(us(100));
  auto completions = pair.sent_completions();
  ASSERT_EQ(completions.size(), 3U);
  EXPECT_EQ(completions[0].status, WcStatus::kSuccess);
  EXPECT_EQ(completions[1].status, WcStatus::kBadResponse);
  EXPECT_EQ(completions[2].status, WcStatus::kFlushError);
}

TEST(BrokenPeer, DropsResponsesForFlushedOrResetQueuePair) {
  for (QpState state : {QpState::kErr, QpState::kReset}) {
    InjectingPair pair(cut_off());
    pair.post(WrOpcode::kRead, 64);
    pair.node(0).at(us(20), [&] { pair.device(0).modify(pair.qp[0], state, {}, us(20)); });
    pair.inject(read_response(kOnly, 0, 64), us(30));
    pair.run(us(100));
    EXPECT_EQ(pair.link(1).received.of(Fate::kUnknownQp), 1U);
    EXPECT_TRUE(pair.kept_all());
    // Connected again with another PSN, the old response means nothing.
    if (state != QpState::kReset) continue;
    QpAttributes attributes = pair.attributes(0);
    attributes.sq_psn += 1000;
    for (QpState to : {QpState::kInit, QpState::kRtr, QpState::kRts})
      ASSERT_TRUE(pair.device(0).modify(pair.qp[0], to, attributes, us(100)));
    pair.node(0).at(us(110), [&] { pair.post(pair.request(WrOpcode::kRead, 64), us(110)); });
    pair.inject(read_response(kOnly, 0, 64), us(130));
    pair.run(us(200));
    EXPECT_EQ(pair.link(1).received.of(Fate::kStaleResponse), 1U);
    EXPECT_TRUE(pair.kept_all());
  }
}

// Two ends that do not agree on the path MTU: an error on either side, never bytes beyond the buffer.
TEST(BrokenPeer, UnequalPathMtusCauseError) {
  for (std::uint32_t peer_mtu_B : {256U, 4096U}) {
    for (WrOpcode opcode : {WrOpcode::kRead, WrOpcode::kWrite, WrOpcode::kSend}) {
      RcOptions options;
      options.attributes.timeout = 1;
      options.attributes.retry_cnt = 1;
      InjectingPair pair(options);
      QpAttributes attributes = pair.attributes(1);
      attributes.path_mtu_B = peer_mtu_B;
      for (QpState to : {QpState::kReset, QpState::kInit, QpState::kRtr, QpState::kRts})
        ASSERT_TRUE(pair.device(1).modify(pair.qp[1], to, attributes));
      pair.receive(65536);
      pair.post(opcode, 10'000, 4096, 4096);
      pair.run();
      WcStatus status = pair.only_completion().status;
      if (opcode == WrOpcode::kRead) {
        EXPECT_EQ(status, WcStatus::kLocalLengthError);
      } else {
        EXPECT_EQ(status, WcStatus::kRemoteInvalidRequest);
      }
      EXPECT_TRUE(pair.kept_all());
      EXPECT_TRUE(pair.ledger_balances());
      EXPECT_EQ(pair.slots_in_use(), 0U);
    }
  }
}

TEST(BrokenPeer, ConnectedQueuePairsAcceptOnlyPeer) {
  for (QpType type : {QpType::kRc, QpType::kUc}) {
    RcOptions options = cut_off();
    options.type = type;
    InjectingPair pair(options);
    pair.post(WrOpcode::kWrite, 64);
    Injected write{Opcode::kWriteOnly, 0, 64};
    if (type == QpType::kUc) write.opcode = Opcode::kUcWriteOnly;
    write.cold.va = pair.node(0).va();
    write.cold.rkey = pair.node(0).key;
    write.cold.dma_len = 64;
    Time_ps at_ps = us(10);
    for (std::uint32_t source : {0U, 2U, 0xfffffU}) {
      write.source = source;
      pair.inject(write, at_ps += us(1));
      pair.inject({Opcode::kAck, 0, 0, wire::ack_syndrome(), {}, source}, at_ps += us(1));
      pair.inject({Opcode::kAck, 0, 0, wire::nak_syndrome(NakCode::kInvalidRequest), {}, source}, at_ps += us(1));
      pair.inject({Opcode::kCnp, 0, 0, 0, {}, source}, at_ps += us(1));
    }
    pair.run(us(100));
    EXPECT_EQ(pair.link(1).received.of(Fate::kWrongSource), 12U);
    EXPECT_TRUE(pair.kept_all());
    EXPECT_EQ(pair.state(0), QpState::kRts);
    EXPECT_EQ(pair.sent(0).size(), 1U) << "nobody is answered";
    EXPECT_EQ(pair.device(0).qp(pair.qp[0]).cnps_received, 0U);
    // The peer itself is heard.
    write.source = 1;
    pair.inject(write, us(110));
    pair.run(us(200));
    EXPECT_FALSE(pair.kept_all());
    EXPECT_TRUE(pair.kept_outside(0, 64));
    EXPECT_TRUE(pair.ledger_balances());
  }
}

// What arrives for a queue pair of another transport, or in a state that takes nothing, is dropped without an answer.
TEST(BrokenPeer, DropsOpcodesOfOtherTransport) {
  for (QpType type : {QpType::kRc, QpType::kUc, QpType::kUd}) {
    RcOptions options = cut_off();
    options.type = type;
    options.attributes.qkey = 0;  // what a packet without DETH has
    InjectingPair pair(options);
    for (int i = 0; i < 16; ++i)
      pair.device(0).post_receive(pair.qp[0], {0, pair.node(0).va(), pair.node(0).key, 4096});
    Time_ps at_ps = us(1);
    std::uint64_t count = 0;
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
      auto opcode = static_cast<Opcode>(byte);
      bool of_rc = byte < 0x20, of_uc = wire::is_uc(static_cast<std::uint8_t>(byte)), of_ud = wire::has_deth(opcode);
      bool own = type == QpType::kRc ? of_rc : type == QpType::kUc ? of_uc : of_ud;
      if (!wire::is_valid_opcode(static_cast<std::uint8_t>(byte)) || own) continue;
      if (opcode == Opcode::kCnp && type != QpType::kUd) continue;
      Injected frame{opcode, 0, wire::has_payload(opcode) ? 64U : 0U};
      frame.cold.va = pair.node(0).va();
      frame.cold.rkey = pair.node(0).key;
      frame.cold.dma_len = 64;
      pair.inject(frame, at_ps += us(1));
      ++count;
    }
    pair.run(us(200));
    EXPECT_EQ(pair.link(1).received.of(Fate::kUnknownQp), count);
    EXPECT_TRUE(pair.kept_all());
    EXPECT_TRUE(pair.received_by_0().empty());
    EXPECT_TRUE(pair.sent(0).empty());
    EXPECT_EQ(pair.state(0), QpState::kRts);
  }
}

struct RequestCase {
  const char* what;
  std::vector<Injected> packets;
  bool good = false;
  bool uc = true;  // UC has it too
};

Injected write_packet(Opcode opcode, std::uint32_t psn, std::uint32_t payload_B, std::uint32_t dma_len = 0) {
  Injected frame{opcode, psn, payload_B};
  frame.cold.dma_len = dma_len;
  return frame;
}

const std::vector<RequestCase> kRequestCases = {
    {"Only", {write_packet(Opcode::kWriteOnly, 0, 100, 100)}, true},
    {"Only of nothing", {write_packet(Opcode::kWriteOnly, 0, 0, 0)}, true},
    {"Only, short", {write_packet(Opcode::kWriteOnly, 0, 99, 100)}},
    {"Only, empty", {write_packet(Opcode::kWriteOnly, 0, 0, 100)}},
    {"Only, long", {write_packet(Opcode::kWriteOnly, 0, 101, 100)}},
    {"Only, beyond the MTU", {write_packet(Opcode::kWriteOnly, 0, 1025, 1025)}},
    {"Only with immediate, short", {write_packet(Opcode::kWriteOnlyImm, 0, 99, 100)}},
    {"First and Last",
     {write_packet(Opcode::kWriteFirst, 0, 1024, 1500), write_packet(Opcode::kWriteLast, 1, 476)},
     true},
    {"Last, short", {write_packet(Opcode::kWriteFirst, 0, 1024, 1500), write_packet(Opcode::kWriteLast, 1, 475)}},
    {"Last, long", {write_packet(Opcode::kWriteFirst, 0, 1024, 1500), write_packet(Opcode::kWriteLast, 1, 477)}},
    {"Last, empty", {write_packet(Opcode::kWriteFirst, 0, 1024, 1024), write_packet(Opcode::kWriteLast, 1, 0)}},
    {"Last with immediate, short",
     {write_packet(Opcode::kWriteFirst, 0, 1024, 1500), write_packet(Opcode::kWriteLastImm, 1, 475)}},
    {"Last, one packet early",
     {write_packet(Opcode::kWriteFirst, 0, 1024, 2500), write_packet(Opcode::kWriteLast, 1, 476)}},
    {"First beyond DMALen", {write_packet(Opcode::kWriteFirst, 0, 1024, 1000)}},
    {"First, short", {write_packet(Opcode::kWriteFirst, 0, 1000, 1500)}},
    {"more than a message may have", {write_packet(Opcode::kWriteOnly, 0, 1024, 0x80000001)}},
    {"SEND Last, empty", {{Opcode::kSendFirst, 0, 1024}, {Opcode::kSendLast, 1, 0}}},
    {"READ of more than a message may have", {write_packet(Opcode::kReadRequest, 0, 0, 0xffffffff)}, false, false},
};

TEST(BrokenPeer, RequestLengthsMustAddUp) {
  for (QpType type : {QpType::kRc, QpType::kUc}) {
    for (const RequestCase& each : kRequestCases) {
      if (type == QpType::kUc && !each.uc) continue;
      SCOPED_TRACE(each.what);
      RcOptions options = cut_off();
      options.type = type;
      InjectingPair pair(options);
      pair.device(0).post_receive(pair.qp[0], {0, pair.node(0).va(), pair.node(0).key, 4096});
      Time_ps at_ps = us(1);
      for (Injected packet : each.packets) {
        packet.cold.va = pair.node(0).va();
        packet.cold.rkey = pair.node(0).key;
        if (type == QpType::kUc) packet.opcode = static_cast<Opcode>(wire::uc_opcode(packet.opcode));
        pair.inject(packet, at_ps += us(1));
      }
      pair.run(us(100));
      auto completions = pair.received_by_0();
      if (type == QpType::kUc) {
        EXPECT_EQ(pair.link(1).received.of(Fate::kRefused), each.good ? 0U : 1U);
        EXPECT_TRUE(completions.empty());
      } else {
        EXPECT_EQ(pair.state(0), each.good ? QpState::kRts : QpState::kErr);
        ASSERT_FALSE(pair.sent(0).empty());
        std::uint8_t syndrome = each.good ? wire::ack_syndrome() : wire::nak_syndrome(NakCode::kInvalidRequest);
        EXPECT_EQ(pair.sent(0).back().syndrome(), syndrome);
        // The receive that was posted is flushed, or kept.
        ASSERT_EQ(completions.size(), each.good ? 0U : 1U);
        for (const Completion& flushed : completions) EXPECT_EQ(flushed.status, WcStatus::kFlushError);
      }
      EXPECT_TRUE(pair.kept_outside(0, 1500));
      EXPECT_TRUE(pair.ledger_balances());
      EXPECT_EQ(pair.slots_in_use(), 0U);
    }
  }
}

// A key that is unknown or of another protection domain: a remote access error, and the receive fails with it.
TEST(BrokenPeer, SendWithInvalidateNeedsKeyOfResponder) {
  for (std::uint32_t size_B : {0U, 64U, 3000U}) {
    for (int key = 0; key < 4; ++key) {
      RcOptions options;
      InjectingPair pair(options);
      MemoryTable& memory = pair.device(1).memory();
      static const RegionAccess kElsewhere{};
      const std::uint32_t keys[] = {memory.add(0x7000, 64, {true, true, true, true}),
                                    memory.add(0x8000, 64, {true, true, true, true}, kElsewhere, 5), 0, 0xdead};
      pair.receive(4096);
      SendRequest request = pair.request(WrOpcode::kSendInv, size_B);
      request.imm = keys[key];
      pair.post(request);
      pair.run();
      auto received = pair.received();
      ASSERT_EQ(received.size(), 1U);
      bool good = key == 0;
      EXPECT_EQ(pair.only_completion().status, good ? WcStatus::kSuccess : WcStatus::kRemoteAccessError);
      EXPECT_EQ(received[0].status, good ? WcStatus::kSuccess : WcStatus::kRemoteInvalidRequest);
      EXPECT_EQ(received[0].with_invalidate, good);
      EXPECT_EQ(memory.find(keys[0]) == nullptr, good);
      EXPECT_NE(memory.find(keys[1]), nullptr);
      EXPECT_EQ(pair.state(1), good ? QpState::kRts : QpState::kErr);
      EXPECT_EQ(pair.counters(0).req_remote_access_errors, good ? 0U : 1U);
    }
  }
}

// One NAK, and copies of it: one retry.
TEST(BrokenPeer, DuplicateNakCostsNoRetry) {
  RcOptions options = cut_off();
  options.attributes.retry_cnt = 1;
  InjectingPair pair(options);
  pair.post(WrOpcode::kWrite, 3000);
  for (int i = 0; i < 5; ++i) pair.inject({Opcode::kAck, 1, 0, kSequenceNak}, us(20) + i * ns(700));
  pair.inject({Opcode::kAck, 2}, us(40));
  pair.run(us(100));
  EXPECT_EQ(pair.only_completion().status, WcStatus::kSuccess);
  EXPECT_EQ(pair.counters(0).packet_seq_err, 1U);
  EXPECT_EQ(pair.link(1).received.of(Fate::kStaleResponse), 4U);
  // Something moved, and the next gap is a new one.
  pair.node(0).at(us(110), [&] { pair.post(pair.request(WrOpcode::kWrite, 3000), us(110)); });
  pair.inject({Opcode::kAck, 3, 0, kSequenceNak}, us(130));
  pair.run(us(200));
  EXPECT_EQ(pair.counters(0).packet_seq_err, 2U);
}

TEST(BrokenPeer, DuplicateRnrNakCostsNoRetry) {
  RcOptions options = cut_off();
  options.attributes.rnr_retry = 1;
  InjectingPair pair(options);
  pair.post(WrOpcode::kSend, 64);
  for (int i = 0; i < 5; ++i) pair.inject({Opcode::kAck, 0, 0, wire::rnr_nak_syndrome(3)}, us(20) + i * us(1));
  pair.inject({Opcode::kAck, 0}, us(90));
  pair.run(us(100));
  EXPECT_EQ(pair.only_completion().status, WcStatus::kSuccess);
  EXPECT_EQ(pair.counters(0).rnr_nak_retry_err, 1U);
  EXPECT_EQ(pair.sent(0).size(), 2U);
}

// A READ that was never allowed does not come in as a duplicate.
TEST(BrokenPeer, DuplicateReadNeedsReadAccess) {
  RcOptions options = cut_off();
  options.attributes.access.remote_read = false;
  InjectingPair pair(options);
  Injected read{Opcode::kReadRequest, kPsnMask};
  read.cold.va = pair.node(0).va();
  read.cold.rkey = pair.node(0).key;
  read.cold.dma_len = 64;
  pair.inject(read, us(10));
  pair.run(us(100));
  EXPECT_TRUE(pair.sent(0).empty());
  EXPECT_EQ(pair.link(1).received.of(Fate::kDuplicate), 1U);
}

}  // namespace
}  // namespace weft::nic
