#include "nic/transports/transport.h"

#include <gtest/gtest.h>

#include <set>

#include "nic/transports/roce_packet.h"
#include "support/rc_pair.h"
#include "support/selective_repeat.h"

namespace weft::nic {
namespace {

using fabric::Fate;
using support::Frame;
using support::RcOptions;
using support::RcPair;
namespace sr = support::selective_repeat;

RcOptions selective(std::vector<fabric::FaultRule> there, std::vector<fabric::FaultRule> back = {}) {
  RcOptions options;
  options.transport = &sr::kTransport;
  options.pair.formats = &sr::formats();
  options.pair.faults[0] = std::move(there);
  options.pair.faults[1] = std::move(back);
  return options;
}

// Sequence numbers that left side 0, relative to its first.
std::vector<std::uint32_t> sequences(const RcPair& pair, bool again) {
  std::vector<std::uint32_t> list;
  for (const Frame& frame : pair.sent(0)) {
    if (frame.retransmission() == again) list.push_back(sr::sequence_of(frame.packet) - 1000);
  }
  return list;
}

TEST(Transport, TypesHaveTables) {
  EXPECT_EQ(&transport_of(QpType::kRc), &kRcTransport);
  EXPECT_EQ(&transport_of(QpType::kUc), &kUcTransport);
  EXPECT_EQ(&transport_of(QpType::kUd), &kUdTransport);
  EXPECT_EQ(&transport_of(QpType::kXrc), &kXrcTransport);
  std::set<std::uint8_t> numbers{engine::kLinkControl, kCnpNumber};
  for (const Transport* each : {&kRcTransport, &kUcTransport, &kUdTransport, &kXrcTransport}) {
    EXPECT_TRUE(numbers.insert(each->number).second) << each->name;
    EXPECT_EQ(packet_formats().formats[each->number], each->format);
    EXPECT_TRUE(each->send != nullptr && each->receive != nullptr) << each->name;
    EXPECT_EQ(each->reliable, each->on_timer != nullptr) << each->name;
  }
}

TEST(Transport, OperationsMatchOpcodes) {
  auto has = [](const Transport& transport, WrOpcode opcode) {
    return (transport.operations >> static_cast<unsigned>(opcode) & 1) != 0;
  };
  for (unsigned i = 0; i <= static_cast<unsigned>(WrOpcode::kCompareSwap); ++i) {
    auto opcode = static_cast<WrOpcode>(i);
    EXPECT_EQ(has(kRcTransport, opcode), !is_local(opcode)) << i;
    EXPECT_EQ(has(kXrcTransport, opcode), !is_local(opcode)) << i;
    EXPECT_EQ(has(kUcTransport, opcode), opcode <= WrOpcode::kSendImm) << i;
    EXPECT_EQ(has(kUdTransport, opcode), opcode == WrOpcode::kSend || opcode == WrOpcode::kSendImm) << i;
  }
}

TEST(SelectiveRepeat, SendsMessageOnce) {
  RcPair pair(selective({}));
  pair.post(WrOpcode::kWrite, 100 * 1024, 0, 4096);
  pair.run();
  EXPECT_EQ(pair.only_completion().status, WcStatus::kSuccess);
  EXPECT_TRUE(pair.same_bytes(0, 4096, 100 * 1024));
  EXPECT_EQ(pair.sent(0).size(), 100U);
  EXPECT_TRUE(pair.ledger_balances());
  EXPECT_EQ(pair.slots_in_use(), 0U);
}

// Three of 200 packets are lost, one of them twice: four are retransmitted, and no other.
TEST(SelectiveRepeat, RetransmitsOnlyLostPackets) {
  using support::drop_request;
  RcPair pair(selective({drop_request(3), drop_request(70), drop_request(71), drop_request(71, 2)}));
  for (std::uint32_t i = 0; i < 20; ++i) pair.post(WrOpcode::kWrite, 10 * 1024, i * 10'240, 4096 + i * 10'240);
  pair.run();
  EXPECT_EQ(sequences(pair, true), (std::vector<std::uint32_t>{3, 70, 71, 71}));
  EXPECT_EQ(sequences(pair, false).size(), 200U);
  const fabric::Ledger& received = pair.link(0).received;
  EXPECT_EQ(received.of(Fate::kAccepted), 200U) << "every packet once";
  EXPECT_EQ(received.of(Fate::kDuplicate) + received.of(Fate::kOutOfSequence), 0U);
  EXPECT_EQ(pair.link(0).sent.of(Fate::kFaultDrop), 4U);
  EXPECT_TRUE(pair.same_bytes(0, 4096, 200 * 1024));
  auto completions = pair.sent_completions();
  ASSERT_EQ(completions.size(), 20U);
  for (std::uint64_t i = 0; i < 20; ++i) {
    EXPECT_EQ(completions[i].status, WcStatus::kSuccess);
    EXPECT_EQ(completions[i].wr_id, i) << "in the order of posting";
  }
  EXPECT_TRUE(pair.ledger_balances());
  EXPECT_EQ(pair.slots_in_use(), 0U);
}

// RC beside it, with the same losses, goes back and sends everything behind them again.
TEST(SelectiveRepeat, SendsLessThanGoBackN) {
  RcOptions rc;
  rc.pair.faults[0] = {support::drop_request(3)};
  std::size_t sent[2];
  for (bool selects : {false, true}) {
    RcPair pair(selects ? selective({support::drop_request(3)}) : rc);
    pair.post(WrOpcode::kWrite, 60 * 1024);
    pair.run();
    EXPECT_EQ(pair.only_completion().status, WcStatus::kSuccess);
    sent[selects] = pair.sent(0).size();
  }
  EXPECT_EQ(sent[true], 61U);
  EXPECT_GT(sent[false], 62U);
}

// Loss, duplicates and reordering in both directions: every packet is delivered exactly once.
TEST(SelectiveRepeat, DeliversExactlyOnceOverBadCable) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    std::vector<fabric::FaultRule> faults;
    for (auto action : {fabric::FaultAction::kDrop, fabric::FaultAction::kDuplicate, fabric::FaultAction::kDelay}) {
      faults.push_back(support::always(action));
      faults.back().probability_ppb = 50'000'000;
      faults.back().delay_ps = us(4);
    }
    RcOptions options = selective(faults, faults);
    options.pair.seed = seed;
    options.attributes.timeout = 6;
    RcPair pair(options);
    for (std::uint32_t i = 0; i < 40; ++i) pair.post(WrOpcode::kWrite, 10'000, i * 10'000, 4096 + i * 10'000);
    pair.run();
    EXPECT_EQ(pair.link(0).received.of(Fate::kAccepted), 400U) << seed;
    EXPECT_GT(pair.link(0).received.of(Fate::kDuplicate), 0U) << seed;
    EXPECT_GT(pair.link(0).sent.of(Fate::kFaultDrop), 0U) << seed;
    EXPECT_TRUE(pair.same_bytes(0, 4096, 400'000)) << seed;
    EXPECT_EQ(pair.sent_completions().size(), 40U) << seed;
    EXPECT_TRUE(pair.ledger_balances()) << seed;
    EXPECT_EQ(pair.slots_in_use(), 0U) << seed;
  }
}

// A queue pair takes packets of its own transport, whatever number they are for.
TEST(SelectiveRepeat, RejectsPacketsOfOtherTransports) {
  RcPair pair(selective({}));
  pair.node(0).at(us(1), [&pair] {
    engine::Packet packet = pair.device(0).qp(pair.qp[0]).packet;
    packet.transport = kRcNumber;
    add_bth(packet, wire::Opcode::kWriteMiddle, 1000);
    pair.link(0).send(packet, fabric::line_B(packet), us(1));
  });
  pair.run();
  EXPECT_EQ(pair.link(0).received.of(Fate::kUnknownQp), 1U);
}

// RESET takes back what the transport keeps.
TEST(SelectiveRepeat, RestartsAfterReset) {
  RcPair pair(selective({}));
  pair.post(WrOpcode::kWrite, 5000);
  pair.run();
  for (std::uint32_t side = 0; side < 2; ++side) pair.device(side).modify(pair.qp[side], QpState::kReset);
  for (std::uint32_t side = 0; side < 2; ++side) EXPECT_TRUE(pair.up(side));
  pair.sent_completions();
  pair.post(pair.request(WrOpcode::kWrite, 5000, 100'000, 200'000), pair.engine().horizon_ps());
  pair.run();
  EXPECT_EQ(pair.only_completion().status, WcStatus::kSuccess);
  EXPECT_TRUE(pair.same_bytes(100'000, 200'000, 5000));
}

}  // namespace
}  // namespace weft::nic
