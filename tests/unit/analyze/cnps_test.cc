#include "analyze/cnps.h"

#include <gtest/gtest.h>

#include "unit/analyze/congestion_frames.h"

namespace weft::analyze {
namespace {

// At the receiver, host 1: packets of host 0 come in, ACKs and CNPs go out.
Frame marked_frame(std::int64_t time_ns, std::uint32_t psn) {
  Frame frame = data_frame(time_ns, 0, 1, 0x11, psn);
  frame.tos = 0x6b;
  frame.direction = Direction::kIn;
  return frame;
}
Frame answering_cnp(std::int64_t time_ns) {
  Frame frame = cnp_frame(time_ns, 1, 0, 0x21);
  frame.direction = Direction::kOut;
  return frame;
}
Frame answering_ack(std::int64_t time_ns, std::uint32_t psn) {
  Frame frame = ack_frame(time_ns, 1, 0, 0x21, psn);
  frame.direction = Direction::kOut;
  return frame;
}

struct CnpTiming {
  std::int64_t delay_ns;
  int marks = 40;
  std::int64_t gap_ns = 600'000;
};
void mark_and_answer(CongestionBench& bench, const CnpTiming& timing) {
  for (int i = 0; i < timing.marks; ++i) {
    const std::int64_t at_ns = 1'000 + i * timing.gap_ns;
    bench.see(marked_frame(at_ns, static_cast<std::uint32_t>(i)));
    if (i == 0) bench.see(answering_ack(at_ns + 100, 0));
    bench.see(answering_cnp(at_ns + timing.delay_ns));
  }
}

TEST(Cnps, MarksWithPromptCnpsAreHealthy) {
  CongestionBench bench;
  mark_and_answer(bench, {2'000});
  bench.finish();
  EXPECT_TRUE(bench.analysis.findings.healthy());
  EXPECT_EQ(bench.verdict("cnp"), Verdict::kHealthy);
  EXPECT_EQ(bench.analysis.capture.points[0].ce_marked, 40u);
  EXPECT_EQ(bench.analysis.capture.points[0].cnps, 40u);
}

TEST(Cnps, MarksWithoutCnpsAreMissing) {
  CongestionBench bench;
  for (std::uint32_t i = 0; i < 40; ++i) bench.see(marked_frame(1'000 + i * 50'000, i));
  bench.see(answering_ack(2'000'000, 39));
  bench.finish();
  const Finding* found = bench.find("cnp.missing");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->evidence.at(0).frame, 1u);
}

TEST(Cnps, NothingIsMissingWhereTheReceiverCannotBeSeen) {
  CongestionBench bench;
  for (std::uint32_t i = 0; i < 40; ++i) bench.see(marked_frame(1'000 + i * 50'000, i));
  bench.finish();
  EXPECT_EQ(bench.find("cnp.missing"), nullptr);
}

TEST(Cnps, MarksAtTheEndOfTheCaptureAreNotMissing) {
  CongestionBench bench;
  for (std::uint32_t i = 0; i < 5; ++i) bench.see(marked_frame(1'000 + i * 1'000, i));
  bench.see(answering_ack(10'000, 4));
  bench.finish();
  EXPECT_TRUE(bench.analysis.findings.healthy());
}

TEST(Cnps, LateCnpsAreFound) {
  CongestionBench bench;
  mark_and_answer(bench, {150'000, 20, 900'000});
  bench.finish();
  EXPECT_NE(bench.find("cnp.late"), nullptr);
  EXPECT_EQ(bench.find("cnp.missing"), nullptr);
}

TEST(Cnps, CnpsWithoutMarksAreFoundAtTheReceiverOnly) {
  for (const bool at_receiver : {true, false}) {
    CongestionBench bench;
    for (std::uint32_t i = 0; i < 20; ++i) {
      Frame frame = data_frame(1'000 + i * 50'000, 0, 1, 0x11, i);
      frame.direction = at_receiver ? Direction::kIn : Direction::kOut;
      bench.see(frame);
      Frame cnp = answering_cnp(2'000 + i * 50'000);
      cnp.direction = at_receiver ? Direction::kOut : Direction::kIn;
      bench.see(cnp);
    }
    bench.finish();
    EXPECT_EQ(bench.find("cnp.unasked") != nullptr, at_receiver);
  }
}

TEST(Cnps, CnpsOfSlowRestartComeWithNaks) {
  CongestionBench bench;
  for (std::uint32_t i = 0; i < 20; ++i) {
    Frame frame = data_frame(1'000 + i * 500'000, 0, 1, 0x11, i);
    frame.direction = Direction::kIn;
    bench.see(frame);
    bench.see(answering_cnp(2'000 + i * 500'000));
    Frame nak = answering_ack(3'000 + i * 500'000, i);
    nak.syndrome = 0x60;
    bench.see(nak);
  }
  bench.finish();
  EXPECT_EQ(bench.find("cnp.unasked"), nullptr);
}

TEST(Cnps, UnpacedAndRareCnpsAreFound) {
  CongestionBench eager;
  for (std::uint32_t i = 0; i < 200; ++i) {
    eager.see(marked_frame(1'000 + i * 400, i));
    eager.see(answering_cnp(1'100 + i * 400));
  }
  eager.see(answering_ack(200'000, 199));
  eager.finish();
  EXPECT_NE(eager.find("cnp.interval"), nullptr);
  CongestionBench rare;
  for (std::uint32_t i = 0; i < 400; ++i) {
    rare.see(marked_frame(1'000 + i * 20'000, i));
    if (i % 20 == 0) rare.see(answering_cnp(1'100 + i * 20'000));  // every 400 us
  }
  rare.see(answering_ack(8'000'000, 399));
  rare.finish();
  EXPECT_NE(rare.find("cnp.interval"), nullptr);
}

TEST(Cnps, FormatIsThatOfAnnexA17) {
  const std::array<std::uint8_t, 16> zeros{}, ones = {1};
  for (const int wrong : {0, 1, 2, 3, 4}) {
    CongestionBench bench;
    bench.see(marked_frame(1'000, 0));
    Frame cnp = answering_cnp(2'000);
    cnp.payload = zeros;
    if (wrong == 1) cnp.becn = false;
    if (wrong == 2) cnp.psn = 7;
    if (wrong == 3) cnp.payload = ones;
    if (wrong == 4) cnp.ack_req = true;
    bench.see(cnp);
    bench.finish();
    EXPECT_EQ(bench.find("cnp.format") != nullptr, wrong != 0) << wrong;
  }
}

TEST(Cnps, SourcePortZeroIsANote) {
  CongestionBench bench;
  for (int i = 0; i < 20; ++i) {
    bench.see(marked_frame(1'000 + i * 600'000, static_cast<std::uint32_t>(i)));
    Frame cnp = answering_cnp(2'000 + i * 600'000);
    cnp.src_port = 0;
    bench.see(cnp);
  }
  bench.finish();
  EXPECT_NE(bench.find("cnp.source-port"), nullptr);
  EXPECT_TRUE(bench.analysis.findings.healthy());
}

TEST(Cnps, ScopeIsToldByTheSmallestGaps) {
  for (const bool per_port : {true, false}) {
    CongestionBench bench;
    std::int64_t now_ns = 1'000;
    for (std::uint32_t i = 0; i < 60; ++i) {
      for (std::uint32_t qp = 0; qp < 3; ++qp) {
        Frame data = marked_frame(now_ns, i);
        data.dest_qp = 0x11 + qp;
        bench.see(data);
        Frame cnp = answering_cnp(now_ns + 500);
        cnp.dest_qp = 0x21 + qp;
        bench.see(cnp);
        now_ns += per_port ? 4'000 : 700;
      }
      if (!per_port) now_ns += 50'000 - 3 * 700;
    }
    bench.finish();
    const Finding* note = bench.find("cnp.pacing");
    ASSERT_NE(note, nullptr);
    EXPECT_NE(note->what.find(per_port ? "scope: the whole port" : "scope: each queue pair"), std::string::npos)
        << note->what;
  }
}

TEST(TimeHistogram, MedianIsWithinAQuarterOfItsValue) {
  TimeHistogram histogram;
  EXPECT_EQ(histogram.median_ns(), -1);
  for (std::int64_t i = 1; i <= 1001; ++i) histogram.add(i * 100);
  EXPECT_NEAR(static_cast<double>(histogram.median_ns()), 50'100, 50'100 * 0.13);
  EXPECT_EQ(histogram.least_ns(), 100);
  EXPECT_EQ(histogram.most_ns(), 100'100);
}

}  // namespace
}  // namespace weft::analyze
