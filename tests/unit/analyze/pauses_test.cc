#include "analyze/pauses/pauses.h"

#include <gtest/gtest.h>

#include "unit/analyze/congestion_frames.h"

namespace weft::analyze {
namespace {

constexpr std::uint64_t kSwitchMac = 0x900;

const ClassPause& only_pause(const CongestionBench& bench) {
  return bench.analysis.capture.points[0].pauses.at(0);
}

TEST(Pauses, TimeIsFromXoffToXon) {
  CongestionBench bench;
  bench.see(pfc_frame(1'000, 0, Direction::kIn, kSwitchMac, 0xffff));
  bench.see(pfc_frame(41'000, 0, Direction::kIn, kSwitchMac, 0xffff));
  bench.see(pfc_frame(61'500, 0, Direction::kIn, kSwitchMac, 0));
  bench.see(pfc_frame(1'000'000, 0, Direction::kIn, kSwitchMac, 0xffff));
  bench.see(pfc_frame(1'000'007, 0, Direction::kIn, kSwitchMac, 0));
  bench.finish();
  const ClassPause& pause = only_pause(bench);
  EXPECT_FALSE(pause.sent);
  EXPECT_EQ(pause.priority, 3);
  EXPECT_EQ(pause.paused_ns, 60'507);
  EXPECT_EQ(pause.pauses, 2u);
  EXPECT_EQ(pause.xoff, 3u);
  EXPECT_EQ(pause.xon, 2u);
  EXPECT_EQ(pause.refresh_ns, 40'000);
  EXPECT_EQ(pause.longest_ns, 60'500);
  EXPECT_TRUE(bench.analysis.findings.healthy());
  EXPECT_EQ(bench.verdict("pause"), Verdict::kHealthy);
}

TEST(Pauses, QuantaDependOnPortSpeed) {
  for (const auto& [speed_bps, time_ns] : {std::pair<std::uint64_t, std::int64_t>{100'000'000'000, 5'120},
                                           std::pair<std::uint64_t, std::int64_t>{25'000'000'000, 20'480}}) {
    CongestionBench bench({"h0:p0"}, speed_bps);
    bench.see(pfc_frame(0, 0, Direction::kIn, kSwitchMac, 1000));
    bench.see(pfc_frame(10'000'000, 0, Direction::kIn, kSwitchMac, 0));
    bench.finish();
    EXPECT_EQ(only_pause(bench).paused_ns, time_ns);
    EXPECT_EQ(only_pause(bench).expired, 1u);
    ASSERT_NE(bench.find("pause.unpaired"), nullptr);
    EXPECT_EQ(bench.find("pause.unpaired")->evidence.at(0).frame, 2u);
  }
}

TEST(Pauses, SpeedIsEstimatedFromData) {
  CongestionBench bench({"h0:p0"}, 0);
  bench.see(pfc_frame(0, 0, Direction::kIn, kSwitchMac, 0));
  std::int64_t now_ns = 1'000;
  for (std::uint32_t i = 0; i < 40; ++i, now_ns += 1'337) bench.see(data_frame(now_ns, 0, 1, 0x11, i));  // 25 Gb/s
  bench.see(pfc_frame(now_ns, 0, Direction::kIn, kSwitchMac, 1000));
  bench.see(pfc_frame(now_ns + 1'000'000, 0, Direction::kIn, kSwitchMac, 0));
  bench.finish();
  EXPECT_EQ(only_pause(bench).paused_ns, 20'480);
  EXPECT_TRUE(only_pause(bench).speed_is_estimated);
}

TEST(Pauses, DataSentWhilePausedIsFound) {
  for (const bool obeys : {true, false}) {
    CongestionBench bench;
    bench.see(pfc_frame(0, 0, Direction::kIn, kSwitchMac, 0xffff));
    // What the response time of 802.3 allows is no violation.
    for (std::uint32_t i = 0; i < 5; ++i) bench.see(data_frame(400 * i, 0, 1, 0x11, i));
    for (std::uint32_t i = 0; i < 20 && !obeys; ++i) bench.see(data_frame(20'000 + 400 * i, 0, 1, 0x11, 5 + i));
    bench.see(pfc_frame(60'000, 0, Direction::kIn, kSwitchMac, 0));
    for (std::uint32_t i = 0; i < 20; ++i) bench.see(data_frame(60'100 + 400 * i, 0, 1, 0x11, 30 + i));
    bench.finish();
    const Finding* found = bench.find("pause.violated");
    EXPECT_EQ(found != nullptr, !obeys);
    if (found != nullptr) {
      EXPECT_EQ(found->count, 20u);
      EXPECT_EQ(found->evidence.at(0).frame, 7u);
    }
  }
}

// Data goes on for `response_ns` after each of eight XOFFs, which hold for 60 us.
void pause_with_response(CongestionBench& bench, std::int64_t response_ns) {
  std::uint32_t psn = 0;
  for (std::int64_t at_ns = 1'000; at_ns < 800'000; at_ns += 100'000) {
    bench.see(pfc_frame(at_ns, 0, Direction::kIn, kSwitchMac, 0xffff));
    for (std::int64_t after_ns = 100; after_ns <= response_ns; after_ns += 400)
      bench.see(data_frame(at_ns + after_ns, 0, 1, 0x11, psn++));
    bench.see(pfc_frame(at_ns + 60'000, 0, Direction::kIn, kSwitchMac, 0));
  }
}

TEST(Pauses, ResponseTimeIsMeasuredAndHeldAgainstSpeed) {
  for (const std::int64_t response_ns : {1'700, 3'700, 20'100}) {
    CongestionBench bench;
    pause_with_response(bench, response_ns);
    bench.finish();
    EXPECT_EQ(only_pause(bench).response_ns, response_ns);
    EXPECT_EQ(only_pause(bench).response_mean_ns, response_ns);
    EXPECT_EQ(only_pause(bench).response_limit_ns, 2'017);  // 394 quanta at 100G
    EXPECT_EQ(bench.find("pause.slow-response") != nullptr, response_ns == 20'100) << response_ns;
    EXPECT_EQ(bench.find("pause.violated"), nullptr);
  }
}

TEST(Pauses, SlowerPortMayTakeLonger) {
  CongestionBench fast({"h0:p0"}, 100'000'000'000), slow({"h0:p0"}, 10'000'000'000);
  for (CongestionBench* bench : {&fast, &slow}) {
    pause_with_response(*bench, 8'100);
    bench->finish();
  }
  EXPECT_NE(fast.find("pause.slow-response"), nullptr);
  EXPECT_EQ(slow.find("pause.slow-response"), nullptr) << "67 quanta and a frame at 10G are 11.9 us";
}

TEST(Pauses, OtherClassesMaySend) {
  CongestionBench bench;
  bench.see(pfc_frame(0, 0, Direction::kIn, kSwitchMac, 0xffff));
  for (std::uint32_t i = 0; i < 20; ++i) {
    Frame frame = data_frame(20'000 + 400 * i, 0, 1, 0x11, i);
    frame.tos = 0;
    bench.see(frame);
  }
  bench.see(pfc_frame(60'000, 0, Direction::kIn, kSwitchMac, 0));
  bench.finish();
  EXPECT_EQ(bench.find("pause.violated"), nullptr);
}

// Pauses of 60 in 100 us for 4 ms, at the port that receives them.
void pause_often(CongestionBench& bench, PointId point, Direction direction, std::uint64_t mac, std::int64_t from_ns) {
  for (std::int64_t at_ns = from_ns; at_ns < 4'000'000; at_ns += 100'000) {
    bench.see(pfc_frame(at_ns, point, direction, mac, 0xffff));
    bench.see(pfc_frame(at_ns + 60'000, point, direction, mac, 0));
  }
}

TEST(Pauses, LargeShareIsFoundSmallIsNot) {
  CongestionBench much, little;
  pause_often(much, 0, Direction::kIn, kSwitchMac, 0);
  for (std::int64_t at_ns = 0; at_ns < 4'000'000; at_ns += 100'000) {
    little.see(pfc_frame(at_ns, 0, Direction::kIn, kSwitchMac, 0xffff));
    little.see(pfc_frame(at_ns + 10'000, 0, Direction::kIn, kSwitchMac, 0));
  }
  much.finish();
  little.finish();
  ASSERT_NE(much.find("pause.share"), nullptr);
  EXPECT_TRUE(little.analysis.findings.healthy());
}

TEST(Pauses, LargeShareOfShortCaptureIsNotHealthy) {
  CongestionBench bench;
  for (std::int64_t at_ns = 0; at_ns < 500'000; at_ns += 100'000) {
    bench.see(pfc_frame(at_ns, 0, Direction::kIn, kSwitchMac, 0xffff));
    bench.see(pfc_frame(at_ns + 60'000, 0, Direction::kIn, kSwitchMac, 0));
  }
  bench.finish();
  EXPECT_EQ(bench.verdict("pause"), Verdict::kNotEnough);
}

TEST(Pauses, WithoutDirectionsSenderIsNamedByItsAddress) {
  CongestionBench bench({""});
  pause_often(bench, 0, Direction::kUnknown, 0x020000000007, 0);
  bench.finish();
  const Finding* share = bench.find("pause.share");
  ASSERT_NE(share, nullptr);
  EXPECT_NE(share->where.find("020000000007"), std::string::npos) << share->where;
  EXPECT_NE(share->what.find("begin at 020000000007"), std::string::npos) << share->what;
}

TEST(Pauses, StormNeedsLastingPause) {
  for (const int refreshes : {2, 20}) {
    CongestionBench bench;
    Frame own = data_frame(0, 1, 0, 0x11, 0);  // with the address that sends the pauses: a NIC
    own.direction = Direction::kIn;
    bench.see(own);
    std::int64_t now_ns = 0;
    for (int i = 0; i < refreshes; ++i, now_ns += 160'000)
      bench.see(pfc_frame(now_ns, 0, Direction::kIn, 0x101, 0xffff));
    bench.see(pfc_frame(now_ns, 0, Direction::kIn, 0x101, 0));
    bench.finish();
    EXPECT_EQ(bench.find("pause.storm") != nullptr, refreshes == 20);
  }
}

// h2 is stopped by leaf:swp2 because h1 stops leaf:swp1.
TEST(Pauses, SpreadIsFollowedToItsOrigin) {
  CongestionBench bench({"h1:p0", "leaf:swp1", "leaf:swp2", "h2:p0"});
  constexpr std::uint64_t kHost = 0x101, kLeaf = 0x902;
  Frame data = data_frame(0, 2, 1, 0x11, 0);  // the flow that fills it, and one to elsewhere
  Frame beside = data_frame(0, 2, 5, 0x12, 0);
  data.point = beside.point = 3;
  bench.see(data);
  bench.see(beside);
  Frame answer = ack_frame(10, 1, 2, 0x21, 0);
  answer.direction = Direction::kOut;
  bench.see(answer);
  for (std::int64_t at_ns = 1'000; at_ns < 4'000'000; at_ns += 100'000) {
    bench.see(pfc_frame(at_ns, 0, Direction::kOut, kHost, 0xffff));
    bench.see(pfc_frame(at_ns + 100, 1, Direction::kIn, kHost, 0xffff));
    bench.see(pfc_frame(at_ns + 5'000, 2, Direction::kOut, kLeaf, 0xffff));
    bench.see(pfc_frame(at_ns + 5'100, 3, Direction::kIn, kLeaf, 0xffff));
    bench.see(pfc_frame(at_ns + 60'000, 0, Direction::kOut, kHost, 0));
    bench.see(pfc_frame(at_ns + 60'100, 1, Direction::kIn, kHost, 0));
    bench.see(pfc_frame(at_ns + 65'000, 2, Direction::kOut, kLeaf, 0));
    bench.see(pfc_frame(at_ns + 65'100, 3, Direction::kIn, kLeaf, 0));
  }
  bench.finish();
  const Finding* found = bench.find("pause.spread");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->where, "h1:p0, class 3");
  EXPECT_NE(found->cause.find("slow receiver"), std::string::npos);
  EXPECT_NE(found->what.find("10.0.0.2 > 10.0.0.1 qp 0x000011"), std::string::npos) << found->what;
  EXPECT_NE(found->what.find("1 flow that goes elsewhere waits with them: 10.0.0.2 > 10.0.0.5"), std::string::npos)
      << found->what;
  EXPECT_EQ(bench.find("pause.share"), nullptr);
}

TEST(Pauses, CircleOfPausesIsDeadlock) {
  const std::vector<std::string> names = {"a:1", "a:2", "b:1", "b:2", "c:1", "c:2"};
  for (const bool closed : {true, false}) {
    CongestionBench bench(names);
    // a:2 - b:1, b:2 - c:1, c:2 - a:1; each stops the one before it.
    for (std::int64_t at_ns = 0; at_ns < 4'000'000; at_ns += 160'000) {
      bench.see(pfc_frame(at_ns, 2, Direction::kOut, 0xb1, 0xffff));
      bench.see(pfc_frame(at_ns + 10, 1, Direction::kIn, 0xb1, 0xffff));
      bench.see(pfc_frame(at_ns + 20, 4, Direction::kOut, 0xc1, 0xffff));
      bench.see(pfc_frame(at_ns + 30, 3, Direction::kIn, 0xc1, 0xffff));
      if (!closed) continue;
      bench.see(pfc_frame(at_ns + 40, 0, Direction::kOut, 0xa1, 0xffff));
      bench.see(pfc_frame(at_ns + 50, 5, Direction::kIn, 0xa1, 0xffff));
    }
    bench.finish();
    EXPECT_EQ(bench.find("pause.cycle") != nullptr, closed);
    if (closed) EXPECT_EQ(bench.find("pause.storm"), nullptr);
  }
}

TEST(Pauses, PauseOfWholeLinkIsFound) {
  CongestionBench bench;
  Frame frame = pfc_frame(0, 0, Direction::kIn, kSwitchMac, 0);
  frame.kind = FrameKind::kPause;
  frame.class_enable = 0;
  frame.quanta[0] = 100;
  bench.see(frame);
  frame.time_ns = 200;
  frame.quanta[0] = 0;
  bench.see(frame);
  bench.finish();
  EXPECT_NE(bench.find("pause.global"), nullptr);
  EXPECT_EQ(only_pause(bench).priority, -1);
  EXPECT_EQ(only_pause(bench).paused_ns, 200);
}

TEST(Pauses, WithoutPauseFramesThereIsNotEnough) {
  CongestionBench bench;
  bench.see(data_frame(0, 0, 1, 0x11, 0));
  bench.finish();
  EXPECT_EQ(bench.verdict("pause"), Verdict::kNotEnough);
}

}  // namespace
}  // namespace weft::analyze
