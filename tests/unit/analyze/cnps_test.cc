#include "analyze/congestion/cnps.h"

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

TEST(Cnps, NotMissingWhereReceiverIsInvisible) {
  CongestionBench bench;
  for (std::uint32_t i = 0; i < 40; ++i) bench.see(marked_frame(1'000 + i * 50'000, i));
  bench.finish();
  EXPECT_EQ(bench.find("cnp.missing"), nullptr);
}

TEST(Cnps, NotMissingAtEndOfCapture) {
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

// A CNP for each mark, 150 us later, while marks come every 1 to 113 us: some mark is always newer.
TEST(Cnps, LateCnpsAmongDenseMarksAreFound) {
  for (const std::int64_t delay_ns : {1'500, 150'000}) {
    CongestionBench bench;
    std::vector<std::int64_t> marks;
    std::int64_t now_ns = 1'000;
    for (int i = 0; i < 80; ++i) marks.push_back(now_ns += 1'000 * (1 + i * i * 37 % 113));
    std::vector<Frame> frames;
    for (std::uint32_t i = 0; i < marks.size(); ++i) frames.push_back(marked_frame(marks[i], i));
    frames.push_back(answering_ack(marks[0] + 100, 0));
    for (const std::int64_t mark_ns : marks) frames.push_back(answering_cnp(mark_ns + delay_ns));
    std::ranges::stable_sort(frames, {}, &Frame::time_ns);
    for (const Frame& frame : frames) bench.see(frame);
    bench.finish();
    EXPECT_EQ(bench.find("cnp.late") != nullptr, delay_ns > 100'000) << delay_ns;
  }
}

TEST(Cnps, CnpsWithoutMarksAreFoundAtReceiverOnly) {
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

TEST(Cnps, SourcePortZeroIsNote) {
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

TEST(Cnps, ScopeFollowsFromSmallestGaps) {
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

// Packets of host `from` to host 1, one in ten marked, in turns; CNPs go to those that `tells` names.
template <typename Tells>
void mark_senders(CongestionBench& bench, std::uint32_t rounds, Tells tells) {
  std::int64_t now_ns = 1'000;
  for (std::uint32_t i = 0; i < rounds; ++i) {
    for (const AddressId from : {0U, 2U, 3U, 4U}) {
      Frame data = marked_frame(now_ns, i);
      data.src = from;
      data.dest_qp = 0x10 + from;
      bench.see(data);
      Frame answer = answering_ack(now_ns + 200, i);
      answer.dst = from;
      answer.dest_qp = 0x20 + from;
      bench.see(answer);
      if (tells(from, i)) {
        Frame cnp = answering_cnp(now_ns + 500);
        cnp.dst = from;
        cnp.dest_qp = 0x20 + from;
        bench.see(cnp);
      }
      now_ns += 5'000;
    }
  }
}

TEST(Cnps, SenderThatGetsNoneIsFound) {
  CongestionBench bench;
  mark_senders(bench, 100, [](AddressId from, std::uint32_t) { return from != 3; });
  bench.finish();
  const Finding* found = bench.find("cnp.missing");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->where, "10.0.0.3 > 10.0.0.1");
  EXPECT_EQ(found->count, 100u);
}

// The interval is that of the port: only the first packet of a burst makes a CNP, which is always the same sender's.
TEST(Cnps, SenderThatAlwaysComesSecondIsNotMissed) {
  CongestionBench bench;
  mark_senders(bench, 100, [](AddressId from, std::uint32_t) { return from == 0; });
  bench.finish();
  const Finding* found = bench.find("cnp.missing");
  EXPECT_TRUE(found == nullptr || found->where == "10.0.0.2 > 10.0.0.1") << found->where;
}

// At the receiver, point 1, all CNPs are seen; at the sender, point 0, those that `arrives` lets pass.
template <typename Arrives>
const Finding* lost_cnps(CongestionBench& bench, Arrives arrives) {
  for (std::uint32_t i = 0; i < 100; ++i) {
    const std::int64_t at_ns = 1'000 + i * 60'000;
    for (const PointId point : {0U, 1U}) {
      Frame data = point == 0 ? data_frame(at_ns, 0, 1, 0x11, i) : marked_frame(at_ns + 500, i);
      data.point = point;
      bench.see(data);
    }
    for (const PointId point : {1U, 0U}) {
      Frame ack = answering_ack(at_ns + 1'000 + 500 * (1 - point), i);
      ack.point = point;
      if (point == 1 || i % 10 != 3) bench.see(ack);  // the capture at the sender is not complete
      Frame cnp = answering_cnp(at_ns + 1'100 + 500 * (1 - point));
      cnp.point = point;
      if (point == 1 || arrives(i)) bench.see(cnp);
    }
  }
  bench.finish();
  return bench.find("cnp.lost");
}

TEST(Cnps, CnpsThatDoNotArriveAreLost) {
  CongestionBench none({"h0:p0", "h1:p0"}), half({"h0:p0", "h1:p0"}), most({"h0:p0", "h1:p0"});
  const Finding* found = lost_cnps(none, [](std::uint32_t) { return false; });
  ASSERT_NE(found, nullptr);
  EXPECT_NE(found->what.find("h1:p0 pass do not come to h0:p0"), std::string::npos) << found->what;
  EXPECT_NE(lost_cnps(half, [](std::uint32_t i) { return i % 2 == 0; }), nullptr);
  EXPECT_EQ(lost_cnps(most, [](std::uint32_t i) { return i % 10 != 7; }), nullptr) << "as many as the capture lacks";
}

TEST(Cnps, QueuePairThatGetsNothingElseIsStray) {
  for (const bool is_answered : {true, false}) {  // not answered: as UC, whose queue pair gets CNPs alone
    CongestionBench bench;
    for (std::uint32_t i = 0; i < 20; ++i) {
      bench.see(marked_frame(1'000 + i * 60'000, i));
      if (is_answered) bench.see(answering_ack(1'500 + i * 60'000, i));
      Frame cnp = answering_cnp(2'000 + i * 60'000);
      cnp.dest_qp = 0x999;
      bench.see(cnp);
    }
    bench.streams.pair_cnps();
    bench.finish();
    EXPECT_EQ(bench.find("cnp.stray") != nullptr, is_answered);
  }
}

}  // namespace
}  // namespace weft::analyze
