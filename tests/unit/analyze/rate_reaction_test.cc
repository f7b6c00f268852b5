#include "analyze/congestion/rate_reaction.h"

#include <gtest/gtest.h>

#include <variant>

#include "unit/analyze/congestion_frames.h"

namespace weft::analyze {
namespace {

// Packets of host 0 at its own port, one every `gap_ns`, until `end_ns`; returns the time of the next one.
class PacedSender {
 public:
  explicit PacedSender(CongestionBench& bench) : bench_(bench) {}
  void send_until(std::int64_t end_ns, double gap_ns) {
    for (; now_ns_ < static_cast<double>(end_ns); now_ns_ += gap_ns) {
      bench_.see(data_frame(static_cast<std::int64_t>(now_ns_), 0, 1, 0x11, psn_++));
      if (psn_ == 1) bench_.see(ack_frame(static_cast<std::int64_t>(now_ns_) + 1, 1, 0, 0x21, 0));
    }
  }
  void cnp() { bench_.see(cnp_frame(static_cast<std::int64_t>(now_ns_), 1, 0, 0x21)); }

 private:
  CongestionBench& bench_;
  double now_ns_ = 1'000;
  std::uint32_t psn_ = 0;
};

std::string name_of(Verdict verdict) {
  return verdict == Verdict::kHealthy ? "healthy" : "found";
}

constexpr double kLineGap_ns = 334.24;  // 4178 bytes of line time at 100 Gb/s

TEST(RateReaction, SenderThatDoesNotSlowDownIsFound) {
  for (const bool slows : {false, true}) {
    CongestionBench bench;
    PacedSender sender(bench);
    double gap_ns = kLineGap_ns;
    sender.send_until(200'000, gap_ns);
    for (int i = 0; i < 100; ++i) {
      sender.cnp();
      if (slows) gap_ns = std::min(gap_ns * 1.05, 20 * kLineGap_ns);
      sender.send_until(200'000 + (i + 1) * 20'000, gap_ns);
    }
    bench.finish();
    EXPECT_EQ(bench.find("rate-reaction.none") != nullptr, !slows);
    EXPECT_EQ(bench.verdict("rate-reaction"), slows ? Verdict::kHealthy : Verdict::kFound);
  }
}

// Three senders that obey, seen only at the port of the receiver: together they fill it.
TEST(RateReaction, SumOfSendersAtReceiverIsNotOneSender) {
  CongestionBench bench;
  for (AddressId src = 0; src < 3; ++src) bench.see(ack_frame(1'000, 7, src, 0x20 + src, 0));
  for (std::uint32_t i = 0; i < 12'000; ++i) {
    const auto time_ns = static_cast<std::int64_t>(1'000 + i * kLineGap_ns);
    const AddressId src = i % 3;
    bench.see(data_frame(time_ns, src, 7, 0x10 + src, i / 3));
    if (i < 6) bench.see(ack_frame(time_ns + 1, 7, src, 0x20 + src, i / 3));
    if (i % 180 < 3) bench.see(cnp_frame(time_ns + 2, 7, src, 0x20 + src));
  }
  bench.finish();
  EXPECT_EQ(bench.find("rate-reaction.none"), nullptr);
}

TEST(RateReaction, FewCnpsAtLineRateSayNothing) {
  CongestionBench bench;
  PacedSender sender(bench);
  for (int i = 0; i < 12; ++i) {
    sender.send_until(3'000'000 * (i + 1), kLineGap_ns * 4);
    sender.cnp();
  }
  bench.finish();
  EXPECT_TRUE(bench.analysis.findings.healthy());
}

TEST(RateReaction, RateThatDoesNotComeBackIsFound) {
  for (const bool recovers : {false, true}) {
    CongestionBench bench;
    PacedSender sender(bench);
    sender.send_until(200'000, kLineGap_ns);
    sender.cnp();
    for (int i = 0; i < 80; ++i)  // 8 ms
      sender.send_until(200'000 + (i + 1) * 100'000, recovers ? kLineGap_ns * (2 - i / 100.0) : 2 * kLineGap_ns);
    bench.finish();
    EXPECT_EQ(bench.find("rate-reaction.slow-recovery") != nullptr, !recovers);
  }
}

TEST(RateReaction, CutIsInTable) {
  CongestionBench bench;
  PacedSender sender(bench);
  sender.send_until(200'000, kLineGap_ns);
  sender.cnp();
  sender.send_until(500'000, 2 * kLineGap_ns);
  bench.finish();
  const Table& table = bench.analysis.tables.front();
  ASSERT_EQ(table.name, "cnp");
  EXPECT_NEAR(std::get<double>(table.rows.back().back()), 0.5, 0.02);
}

// A capture at the receiver shows them, one at the sender does not: the sender cannot have reacted.
TEST(RateReaction, SenderThatCnpsDoNotReachIsNotBlamed) {
  for (const bool reach_sender : {true, false}) {
    CongestionBench bench({"h0:p0", "h1:p0"});
    std::uint32_t psn = 0;
    for (int i = 0; i < 200'000; ++i) {
      const auto at_ns = static_cast<std::int64_t>(1'000 + i * kLineGap_ns);
      bench.see(data_frame(at_ns, 0, 1, 0x11, psn));
      Frame far = data_frame(at_ns + 50, 0, 1, 0x11, psn++);
      far.point = 1;
      far.direction = Direction::kIn;
      if (i % 30 == 5) far.tos = 0x6b;
      bench.see(far);
      if (i % 30 != 5) continue;
      for (const PointId point : {1U, 0U}) {
        if (point == 0 && !reach_sender) continue;
        Frame cnp = cnp_frame(at_ns + 60, 1, 0, 0x21);
        cnp.point = point;
        cnp.direction = point == 0 ? Direction::kIn : Direction::kOut;
        bench.see(cnp);
      }
    }
    bench.finish();
    EXPECT_EQ(bench.find("rate-reaction.none") != nullptr, reach_sender);
  }
}

// The rate stays as it is, whatever the CNPs say.
std::string verdict_of_steady_sender(std::uint64_t speed_bps, int cnps, std::int64_t gap_ns) {
  CongestionBench bench({"h0:p0"}, speed_bps);
  PacedSender sender(bench);
  sender.send_until(200'000, 4 * kLineGap_ns);
  for (int i = 0; i < cnps; ++i) {
    sender.cnp();
    sender.send_until(200'000 + (i + 1) * gap_ns, 4 * kLineGap_ns);
  }
  bench.finish();
  for (const CheckResult& result : bench.analysis.findings.checks())
    if (result.check == "rate-reaction")
      return result.verdict == Verdict::kNotEnough ? std::string(result.missing) : name_of(result.verdict);
  return "";
}

TEST(RateReaction, InvisibleReactionIsNotHealthy) {
  EXPECT_NE(verdict_of_steady_sender(0, 100, 20'000).find("speed of the port"), std::string::npos);
  EXPECT_NE(verdict_of_steady_sender(kTestSpeed_bps, 12, 400'000).find("cut too little"), std::string::npos);
  EXPECT_NE(verdict_of_steady_sender(kTestSpeed_bps, 3, 20'000).find("too few packets"), std::string::npos);
}

TEST(RateReaction, CutThatShowsNeedsNoSpeed) {
  CongestionBench bench({"h0:p0"}, 0);
  PacedSender sender(bench);
  sender.send_until(200'000, kLineGap_ns);
  sender.cnp();
  sender.send_until(500'000, 2 * kLineGap_ns);
  bench.finish();
  EXPECT_EQ(bench.verdict("rate-reaction"), Verdict::kHealthy);
}

TEST(RateReaction, NotEnoughWithoutDataOfSender) {
  CongestionBench bench;
  bench.see(cnp_frame(1'000, 1, 0, 0x21));
  bench.finish();
  EXPECT_EQ(bench.verdict("rate-reaction"), Verdict::kNotEnough);
}

}  // namespace
}  // namespace weft::analyze
