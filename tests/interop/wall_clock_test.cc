// Unmodified programs in a world in wall-clock mode: real time passes, several run at once, the data is right.
#include <gtest/gtest.h>

#include <thread>

#include "interop/live_world.h"
#include "support/matching.h"

namespace weft::interop {
namespace {

class WallClock : public ::testing::Test {
 protected:
  Live world{"live/one-switch-100g.yaml", "--clock wall"};
};

// -c: the client looks at every page of the buffer after each message.
TEST_F(WallClock, PingpongsCarryCorrectBytes) {
  for (const char* program : {"ibv_rc_pingpong -g 3 -c -n 200", "ibv_rc_pingpong -g 3 -c -e -s 9999 -n 200",
                              "ibv_uc_pingpong -g 3 -c -n 200", "ibv_ud_pingpong -g 3 -n 200"}) {
    std::string said = world.pair("h0", "h1", program);
    EXPECT_NE(said.find("200 iters in"), said.npos) << program << "\n" << said;
    EXPECT_EQ(said.find("invalid data"), said.npos) << program << "\n" << said;
  }
}

TEST_F(WallClock, PerftestThroughSwitch) {
  for (const char* program :
       {"ib_write_bw -F -x 3 -n 500", "ib_write_bw -F -x 3 -n 500 -b -q 4", "ib_read_bw -F -x 3 -n 500",
        "ib_send_bw -F -x 3 -n 500 -s 10001", "ib_send_bw -F -x 3 -n 500 -c UD", "ib_atomic_bw -F -x 3 -n 500",
        "ib_send_lat -F -x 3 -e -n 200", "ib_write_lat -F -x 3 -n 200", "ib_write_bw -F -x 3 -D 1"}) {
    auto row = row_of(world.pair("h2", "h3", program));
    ASSERT_GE(row.size(), 4U) << program;
    EXPECT_GT(row[3], 0) << program;
  }
}

// A second of real time is a second of the program's, of the world's, and of ours.
TEST_F(WallClock, ClockFollowsRealTime) {
  auto start = std::chrono::steady_clock::now();
  ASSERT_EQ(world.shell("exec h0 -- sleep 1"), 0);
  auto took = std::chrono::steady_clock::now() - start;
  EXPECT_GE(took, 1s);
  std::string before = Live::ps();
  std::this_thread::sleep_for(500ms);
  std::string after = Live::ps();
  const std::string form = "w +at ([0-9.]+) s, wall clock, behind by ([0-9.]+) ms at most";
  std::vector<std::string> at = test::match(before, form);
  ASSERT_FALSE(at.empty()) << before;
  double before_s = std::stod(at[1]);
  at = test::match(after, form);
  ASSERT_FALSE(at.empty()) << after;
  EXPECT_GE(before_s, 1.0);
  EXPECT_GE(std::stod(at[1]) - before_s, 0.5);
  EXPECT_LT(std::stod(at[1]) - before_s, 5.0);
}

// Two pairs at once: nobody waits for anybody.
TEST_F(WallClock, PairsRunConcurrently) {
  std::string first;
  std::thread other([&] { first = world.pair("h0", "h1", "ib_write_bw -F -x 3 -D 2"); });
  std::this_thread::sleep_for(300ms);
  ASSERT_EQ(world.shell("exec h2 ibv_devinfo"), 0) << world.output();
  other.join();
  EXPECT_GE(row_of(first).size(), 4U) << first;
}

}  // namespace
}  // namespace weft::interop
