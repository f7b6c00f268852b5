#include "fabric/fault_injector.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/roce_record.h"
#include "support/selective_repeat.h"

namespace weft::fabric {
namespace {

using wire::Opcode;

engine::Packet packet(std::uint32_t psn, std::uint32_t qp = 0x108, Opcode opcode = Opcode::kSendOnly) {
  engine::Packet p;
  p.endpoint = qp & engine::kEndpointMask;
  support::make_roce(p, opcode, psn);
  return p;
}

FaultRule rule(FaultAction action) {
  FaultRule r;
  r.name = std::string("f");
  r.action = action;
  return r;
}

FaultInjector injector(const FaultRule& r, double bit_error_rate = 0) {
  return {{r}, 1, 0, bit_error_rate};
}

TEST(FaultInjector, DoesNothingWithoutRules) {
  FaultInjector faults({}, 1, 0, 0);
  FaultVerdict verdict = faults.judge(packet(1), nic::packet_formats(), 100, 0);
  EXPECT_FALSE(verdict.lost || verdict.corrupt || verdict.bit_error || verdict.ce_mark || verdict.duplicate);
  EXPECT_EQ(verdict.delay_ps, 0);
  EXPECT_TRUE(verdict.comment.empty());
}

TEST(FaultInjector, KnowsFirstAndLastHit) {
  FaultRule late = rule(FaultAction::kDelay);
  late.start_ps = 100;
  late.end_ps = 300;
  FaultInjector faults = injector(late);
  EXPECT_EQ(faults.hit_times().front().first_ps, kNever_ps);
  for (Time_ps time_ps : {50, 150, 200, 250, 350}) faults.judge(packet(1), nic::packet_formats(), 100, time_ps);
  EXPECT_EQ(faults.hit_times().front().first_ps, 150);
  EXPECT_EQ(faults.hit_times().front().last_ps, 250);
  EXPECT_EQ(faults.hits().front(), 3U);
}

TEST(FaultInjector, ActionsHaveTheirEffect) {
  FaultInjector drop = injector(rule(FaultAction::kDrop));
  FaultVerdict dropped = drop.judge(packet(1), nic::packet_formats(), 100, 0);
  EXPECT_TRUE(dropped.lost);
  EXPECT_EQ(dropped.loss, Fate::kFaultDrop);
  EXPECT_EQ(dropped.comment, "weft: dropped by fault f");
  EXPECT_EQ(drop.hits().front(), 1U);

  FaultVerdict corrupt = injector(rule(FaultAction::kCorrupt)).judge(packet(1), nic::packet_formats(), 100, 0);
  EXPECT_TRUE(corrupt.corrupt);
  EXPECT_FALSE(corrupt.lost);
  FaultVerdict marked = injector(rule(FaultAction::kCeMark)).judge(packet(1), nic::packet_formats(), 100, 0);
  EXPECT_TRUE(marked.ce_mark);
  FaultRule late = rule(FaultAction::kDelay);
  late.delay_ps = us(3);
  EXPECT_EQ(injector(late).judge(packet(1), nic::packet_formats(), 100, 0).delay_ps, us(3));
  FaultRule twice = rule(FaultAction::kDuplicate);
  twice.delay_ps = us(2);
  FaultVerdict duplicate = injector(twice).judge(packet(1), nic::packet_formats(), 100, 0);
  EXPECT_TRUE(duplicate.duplicate);
  EXPECT_EQ(duplicate.duplicate_delay_ps, us(2));
  EXPECT_EQ(duplicate.delay_ps, 0);
  for (const FaultVerdict& v : {corrupt, marked, duplicate}) EXPECT_NE(v.comment.find("by fault f"), std::string::npos);
}

// Without a format nobody knows the PSN of a packet: the rule would match nothing and not say so.
TEST(FaultInjector, FrameSelectorsNeedFormat) {
  FaultRule by_psn = rule(FaultAction::kDrop);
  by_psn.psn = 0;
  FaultRule by_qp = rule(FaultAction::kDrop);
  by_qp.qp = 0;
  FaultRule by_kind = rule(FaultAction::kDrop);
  by_kind.frames = FaultFrames::kRequest;
  for (const FaultRule& each : {by_psn, by_qp, by_kind}) {
    EXPECT_DEATH(injector(each).judge(packet(1), engine::kNoFormats, 100, 0), "need a format for each transport");
    EXPECT_TRUE(injector(each).judge(packet(1), nic::packet_formats(), 100, 0).lost);
  }
  EXPECT_TRUE(injector(rule(FaultAction::kDrop)).judge(packet(1), engine::kNoFormats, 100, 0).lost);
}

TEST(FaultInjector, ActionsAccumulateUntilDrop) {
  FaultRule late = rule(FaultAction::kDelay);
  late.delay_ps = us(1);
  FaultInjector faults({late, rule(FaultAction::kCorrupt), late, rule(FaultAction::kDrop), rule(FaultAction::kCeMark)},
                       1, 0, 0);
  FaultVerdict verdict = faults.judge(packet(1), nic::packet_formats(), 100, 0);
  EXPECT_EQ(verdict.delay_ps, us(2));
  EXPECT_TRUE(verdict.corrupt);
  EXPECT_TRUE(verdict.lost);
  EXPECT_FALSE(verdict.ce_mark);
  EXPECT_EQ(faults.hits(), (std::vector<std::uint64_t>{1, 1, 1, 1, 0}));
}

TEST(FaultInjector, SelectsRequestsOrResponses) {
  FaultRule requests = rule(FaultAction::kDrop);
  requests.frames = FaultFrames::kRequest;
  FaultRule responses = rule(FaultAction::kDrop);
  responses.frames = FaultFrames::kResponse;
  const struct {
    Opcode opcode;
    bool request;
  } table[] = {{Opcode::kSendFirst, true},         {Opcode::kWriteLast, true},  {Opcode::kReadRequest, true},
               {Opcode::kFetchAdd, true},          {Opcode::kUdSendOnly, true}, {Opcode::kAck, false},
               {Opcode::kReadResponseOnly, false}, {Opcode::kAtomicAck, false}, {Opcode::kCnp, false}};
  for (const auto& row : table) {
    EXPECT_EQ(injector(requests).judge(packet(1, 1, row.opcode), nic::packet_formats(), 100, 0).lost, row.request)
        << wire::name(row.opcode);
    EXPECT_EQ(injector(responses).judge(packet(1, 1, row.opcode), nic::packet_formats(), 100, 0).lost, !row.request)
        << wire::name(row.opcode);
    EXPECT_TRUE(injector(rule(FaultAction::kDrop)).judge(packet(1, 1, row.opcode), nic::packet_formats(), 100, 0).lost);
  }
}

TEST(FaultInjector, PsnIsRelativeToFirstOfQpAndWraps) {
  FaultRule third = rule(FaultAction::kDrop);
  third.psn = 3;
  FaultInjector faults = injector(third);
  std::vector<std::uint32_t> lost;
  for (std::uint32_t i = 0; i < 8; ++i) {
    if (faults.judge(packet(0xfffffe + i, 0x108), nic::packet_formats(), 100, 0).lost) lost.push_back(i);
    if (faults.judge(packet(500 + i, 0x109), nic::packet_formats(), 100, 0).lost) lost.push_back(100 + i);
  }
  EXPECT_EQ(lost, (std::vector<std::uint32_t>{3, 103}));
}

TEST(FaultInjector, QpIsByOrderOfAppearance) {
  FaultRule second = rule(FaultAction::kDrop);
  second.qp = 1;
  FaultInjector faults = injector(second);
  EXPECT_FALSE(faults.judge(packet(0, 0x200), nic::packet_formats(), 100, 0).lost);
  EXPECT_TRUE(faults.judge(packet(0, 0x100), nic::packet_formats(), 100, 0).lost);
  EXPECT_FALSE(faults.judge(packet(1, 0x200), nic::packet_formats(), 100, 0).lost);
  EXPECT_FALSE(faults.judge(packet(0, 0x300), nic::packet_formats(), 100, 0).lost);
  EXPECT_TRUE(faults.judge(packet(1, 0x100), nic::packet_formats(), 100, 0).lost);
}

TEST(FaultInjector, TransmissionCountsMatchingPsnOnly) {
  FaultRule second = rule(FaultAction::kDrop);
  second.psn = 1;
  second.transmission = 2;
  FaultInjector faults = injector(second);
  EXPECT_FALSE(faults.judge(packet(10), nic::packet_formats(), 100, 0).lost);
  EXPECT_FALSE(faults.judge(packet(11), nic::packet_formats(), 100, 0).lost);
  EXPECT_FALSE(faults.judge(packet(10), nic::packet_formats(), 100, 0).lost);
  EXPECT_TRUE(faults.judge(packet(11), nic::packet_formats(), 100, 0).lost);
  EXPECT_FALSE(faults.judge(packet(11), nic::packet_formats(), 100, 0).lost);
}

// Two rules for the first and the second transmission: a drop by the first must not hide the packet from the second.
TEST(FaultInjector, CountsTransmissionsDespiteEarlierRules) {
  std::vector<FaultRule> rules;
  for (std::uint32_t n : {1U, 2U}) {
    rules.push_back(rule(FaultAction::kDrop));
    rules.back().psn = 0;
    rules.back().transmission = n;
  }
  FaultInjector faults(rules, 1, 0, 0);
  std::vector<bool> lost;
  for (int i = 0; i < 4; ++i) lost.push_back(faults.judge(packet(10), nic::packet_formats(), 100, 0).lost);
  EXPECT_EQ(lost, (std::vector<bool>{true, true, false, false}));
}

// A CNP carries PSN 0 and has no place in the PSN space ([scapy-roce]).
TEST(FaultInjector, CnpIsNotFirstPsn) {
  FaultRule first = rule(FaultAction::kDrop);
  first.psn = 0;
  FaultInjector faults = injector(first);
  EXPECT_FALSE(faults.judge(packet(0, 0x108, Opcode::kCnp), nic::packet_formats(), 100, 0).lost);
  EXPECT_TRUE(faults.judge(packet(777, 0x108, Opcode::kAck), nic::packet_formats(), 100, 0).lost);
}

// Both ends of a QP send: its requests and the acknowledgements of the other's requests have their own PSNs.
TEST(FaultInjector, RequestsAndResponsesHaveSeparateFirstPsn) {
  FaultRule third = rule(FaultAction::kDrop);
  third.psn = 2;
  third.frames = FaultFrames::kRequest;
  FaultInjector faults = injector(third);
  EXPECT_FALSE(faults.judge(packet(70000, 0x108, Opcode::kAck), nic::packet_formats(), 100, 0).lost);
  EXPECT_FALSE(faults.judge(packet(5, 0x108), nic::packet_formats(), 100, 0).lost);
  EXPECT_FALSE(faults.judge(packet(6, 0x108), nic::packet_formats(), 100, 0).lost);
  EXPECT_TRUE(faults.judge(packet(7, 0x108), nic::packet_formats(), 100, 0).lost);
}

TEST(FaultInjector, CountsTransmissionsPerQp) {
  FaultRule first = rule(FaultAction::kDrop);
  first.psn = 0;
  first.transmission = 1;
  FaultInjector faults = injector(first);
  EXPECT_TRUE(faults.judge(packet(10, 0x108), nic::packet_formats(), 100, 0).lost);
  EXPECT_TRUE(faults.judge(packet(20, 0x109), nic::packet_formats(), 100, 0).lost);
  EXPECT_FALSE(faults.judge(packet(10, 0x108), nic::packet_formats(), 100, 0).lost);
  EXPECT_FALSE(faults.judge(packet(20, 0x109), nic::packet_formats(), 100, 0).lost);
}

// What is a request, and which one, the packet's transport says.
TEST(FaultInjector, SelectsPacketsOfUnknownTransport) {
  namespace sr = support::selective_repeat;
  auto packet = [](sr::Kind kind, std::uint32_t sequence) {
    engine::Packet p;
    p.transport = sr::kNumber;
    p.word = sequence << 8 | kind;
    return p;
  };
  FaultRule second = rule(FaultAction::kDrop);
  second.frames = FaultFrames::kRequest;
  second.psn = 1;
  FaultInjector faults = injector(second);
  EXPECT_FALSE(faults.judge(packet(sr::kAck, 501), sr::formats(), 100, 0).lost);
  EXPECT_FALSE(faults.judge(packet(sr::kData, 500), sr::formats(), 100, 0).lost);
  EXPECT_TRUE(faults.judge(packet(sr::kData, 501), sr::formats(), 100, 0).lost);
  EXPECT_FALSE(faults.judge(packet(sr::kAck, 501), sr::formats(), 100, 0).lost);
}

TEST(FaultInjector, TimeWindowIsHalfOpen) {
  FaultRule window = rule(FaultAction::kDrop);
  window.start_ps = us(1);
  window.end_ps = us(2);
  FaultInjector faults = injector(window);
  EXPECT_FALSE(faults.judge(packet(1), nic::packet_formats(), 100, us(1) - 1).lost);
  EXPECT_TRUE(faults.judge(packet(2), nic::packet_formats(), 100, us(1)).lost);
  EXPECT_TRUE(faults.judge(packet(3), nic::packet_formats(), 100, us(2) - 1).lost);
  EXPECT_FALSE(faults.judge(packet(4), nic::packet_formats(), 100, us(2)).lost);
}

TEST(FaultInjector, ProbabilityStaysInBinomialInterval) {
  for (std::uint64_t percent : {1, 10, 50}) {
    FaultRule some = rule(FaultAction::kDrop);
    some.probability_ppb = percent * 10'000'000;
    FaultInjector faults = injector(some);
    constexpr double kPackets = 20'000;
    for (std::uint32_t i = 0; i < kPackets; ++i) faults.judge(packet(i), nic::packet_formats(), 100, 0);
    double p = static_cast<double>(percent) / 100;
    EXPECT_NEAR(static_cast<double>(faults.hits().front()), kPackets * p, 5 * std::sqrt(kPackets * p * (1 - p)));
  }
}

TEST(FaultInjector, SeedAndLinkDecideWhichPackets) {
  FaultRule some = rule(FaultAction::kDrop);
  some.probability_ppb = 500'000'000;
  auto pattern = [&](std::uint64_t seed, std::uint64_t link) {
    FaultInjector faults({some}, seed, link, 0);
    std::vector<bool> lost;
    for (std::uint32_t i = 0; i < 64; ++i) lost.push_back(faults.judge(packet(i), nic::packet_formats(), 100, 0).lost);
    return lost;
  };
  EXPECT_EQ(pattern(1, 0), pattern(1, 0));
  EXPECT_NE(pattern(1, 0), pattern(2, 0));
  EXPECT_NE(pattern(1, 0), pattern(1, 1));
}

TEST(FaultInjector, CutDropsEverythingWhileActive) {
  FaultRule cut = rule(FaultAction::kCut);
  cut.start_ps = us(10);
  cut.end_ps = us(20);
  FaultInjector faults = injector(cut);
  EXPECT_FALSE(faults.judge(packet(1), nic::packet_formats(), 100, us(9)).lost);
  FaultVerdict verdict = faults.judge(packet(1), nic::packet_formats(), 100, us(10));
  EXPECT_TRUE(verdict.lost);
  EXPECT_EQ(verdict.loss, Fate::kLinkDown);
  EXPECT_FALSE(faults.judge(packet(1), nic::packet_formats(), 100, us(20)).lost);
}

TEST(FaultInjector, FlapAlternatesFromStart) {
  FaultRule flap = rule(FaultAction::kFlap);
  flap.start_ps = us(10);
  flap.end_ps = us(20);
  flap.flap_down_ps = us(2);
  flap.flap_up_ps = us(3);
  FaultInjector faults = injector(flap);
  std::vector<int> down_us;
  for (int t = 8; t < 22; ++t) {
    if (faults.judge(packet(1), nic::packet_formats(), 100, us(t)).lost) down_us.push_back(t);
  }
  EXPECT_EQ(down_us, (std::vector<int>{10, 11, 15, 16}));
  EXPECT_EQ(faults.hits().front(), 4U);
}

TEST(FaultInjector, BitErrorsFollowRateAndSize) {
  for (std::uint32_t line_B : {100U, 4000U}) {
    FaultInjector faults({}, 1, 0, 1e-6);
    constexpr int kPackets = 50'000;
    int hits = 0;
    for (std::uint32_t i = 0; i < kPackets; ++i)
      hits += faults.judge(packet(i), nic::packet_formats(), line_B, 0).bit_error;
    double p = 8e-6 * line_B;
    EXPECT_NEAR(hits, kPackets * p, 5 * std::sqrt(kPackets * p * (1 - p)));
  }
}

}  // namespace
}  // namespace weft::fabric
