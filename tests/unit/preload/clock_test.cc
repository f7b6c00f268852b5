#include <gtest/gtest.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "unit/preload/fake_world.h"
#include "unit/preload/run_program.h"

namespace weft::test {
namespace {

constexpr long long kUptime_ns = 1'000'000'000'000;  // at virtual time 0

TEST(PreloadClock, ReadsTakeTimeAndShareEpoch) {
  FakeWorld world;
  const Outcome outcome = run_program(world.socket_path(), "clocks");
  ASSERT_EQ(outcome.status, 0) << outcome.text;
  // Virtual time starts at 0, monotonic clocks at 1000 s, and a read costs 20 ns.
  EXPECT_EQ(outcome.values("monotonic_ns"), (std::vector<long long>{kUptime_ns + 20, kUptime_ns + 40}));
  EXPECT_EQ(outcome.value("realtime_ns"), 1'700'000'000'000'000'060);
  EXPECT_EQ(outcome.value("timeofday_us"), 1'700'000'000'000'000);
  EXPECT_EQ(outcome.value("time_s"), 1'700'000'000);
  EXPECT_EQ(outcome.value("times"), 1'000 * sysconf(_SC_CLK_TCK));
  EXPECT_EQ(world.hellos(), 1);
}

TEST(PreloadClock, TimeIsRealWithoutWorld) {
  const Outcome outcome = run_program("", "clocks");
  ASSERT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_NEAR(static_cast<double>(outcome.value("time_s")), static_cast<double>(time(nullptr)), 5);
}

TEST(PreloadClock, WallClockModeLeavesTimeUnchanged) {
  FakeWorld world(verbs::Clock::kWall);
  Outcome outcome = run_program(world.socket_path(), "clocks");
  ASSERT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_NEAR(static_cast<double>(outcome.value("time_s")), static_cast<double>(time(nullptr)), 5);
  outcome = run_program(world.socket_path(), "counters");
  ASSERT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_GT(outcome.value("second"), outcome.value("first"));
}

TEST(PreloadClock, MissingWorldEndsProgram) {
  const Outcome outcome = run_program("/tmp/weft-no-such-world", "clocks");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.text.find("weft: no world at /tmp/weft-no-such-world"), std::string::npos) << outcome.text;
}

TEST(PreloadClock, SleepsTakeVirtualTime) {
  FakeWorld world;
  const Outcome outcome = run_program(world.socket_path(), "sleeps");
  ASSERT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_EQ(outcome.value("nanosleep"), 1'500 + 20);
  EXPECT_EQ(outcome.value("usleep"), 250'001'500 + 40);
  EXPECT_EQ(outcome.value("sleep"), 3'600'250'001'500 + 60);
  EXPECT_EQ(outcome.value("until"), 5'000'000'000'007 + 20);
}

TEST(PreloadClock, CounterTrapShowsSameTimeAtOneGigahertz) {
  FakeWorld world;
  const Outcome outcome = run_program(world.socket_path(), "counters");
  ASSERT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_EQ(outcome.value("frequency"), 1'000'000'000);
  EXPECT_EQ(outcome.value("first"), kUptime_ns + 20);
  EXPECT_EQ(outcome.value("between"), kUptime_ns + 40);
  EXPECT_EQ(outcome.value("second"), kUptime_ns + 60);
}

TEST(PreloadClock, AlarmsExpireInVirtualTimeAndHandlerMayCallWorld) {
  FakeWorld world;
  const Outcome outcome = run_program(world.socket_path(), "alarm");
  ASSERT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_EQ(outcome.value("alarms"), 2);
  // The first ends a sleep after 3 s, the second, which the handler sets, another after 2 s.
  EXPECT_EQ(outcome.values("left"), (std::vector<long long>{57, 58}));
  EXPECT_GE(outcome.value("now"), kUptime_ns + 5'000'000'000);
  EXPECT_LE(outcome.value("now"), kUptime_ns + 5'000'000'200);
}

TEST(PreloadClock, ForkedChildReconnects) {
  FakeWorld world;
  const Outcome outcome = run_program(world.socket_path(), "fork");
  ASSERT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_EQ(outcome.value("child"), 7);
  EXPECT_EQ(outcome.value("parent_goes_on"), 1);
  EXPECT_EQ(world.hellos(), 2);
}

TEST(PreloadClock, ThreadConnectsAtFirstReadWithSignalsBlocked) {
  FakeWorld world;
  const Outcome outcome = run_program(world.socket_path(), "thread");
  ASSERT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_GE(outcome.value("thread_counter"), kUptime_ns + 10'000);
  EXPECT_EQ(outcome.value("joined"), 1);
  EXPECT_EQ(world.hellos(), 2);
}

TEST(PreloadClock, ThreadWaitsTimeOutInVirtualTime) {
  FakeWorld world;
  const Outcome outcome = run_program(world.socket_path(), "timed_waits");
  ASSERT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_EQ(outcome.value("times_out"), 1);
  EXPECT_EQ(outcome.value("timeout_ns"), 30'000'000'000 + 2 * 20);
  EXPECT_EQ(outcome.value("is_woken"), 1);
  EXPECT_GE(outcome.value("woken_before_ns"), 1'000'000'000);
  EXPECT_LT(outcome.value("woken_before_ns"), 600'000'000'000);
  EXPECT_EQ(outcome.value("semaphore_times_out"), 1);
  EXPECT_EQ(outcome.value("semaphore"), 0);
}

TEST(PreloadClock, ForwardsFaultsToProgramHandler) {
  FakeWorld world;
  const Outcome outcome = run_program(world.socket_path(), "handler");
  ASSERT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_EQ(outcome.value("kept"), 1);
  EXPECT_EQ(outcome.value("fault_at"), 0x1230);
  EXPECT_EQ(outcome.value("counter_still_works"), 1);
}

TEST(PreloadClock, FaultWithoutHandlerEndsProgram) {
  FakeWorld world;
  const Outcome outcome = run_program(world.socket_path(), "fault");
  EXPECT_EQ(outcome.status, 128 + SIGSEGV) << outcome.text;
}

}  // namespace
}  // namespace weft::test
