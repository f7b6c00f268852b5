// Programs that wait without waiting (programs/waits_busy.cc): time passes in loops of calls that return at once, locks
// that are held around polls go round, and odd descriptors are what they are on Linux. The same program, run natively,
// says what that is.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>

#include "interop/live_world.h"

namespace weft::interop {
namespace {

constexpr const char* kLab = "two-node-25g.yaml";

std::string probe(const Live& live, const std::string& cases) {
  const int status = live.shell("exec vm00 -- " WEFT_WAITS_PROBE " " + cases);
  EXPECT_EQ(status, 0) << cases << "\n" << live.output();
  return live.output();
}

std::string natively(const std::string& command) {
  std::string said;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return said;
  std::array<char, 256> text;
  while (std::fgets(text.data(), text.size(), pipe) != nullptr) said += text.data();
  pclose(pipe);
  return said;
}

TEST(BusyWaits, TimePassesInLoopsOfCalls) {
  const Live live(kLab);
  EXPECT_EQ(probe(live, "zero_sleeps"), "usleep 3\nsleep 3\nnanosleep 3\nclock_nanosleep 3\nthrd_sleep 3\n");
  EXPECT_EQ(probe(live, "both_look"), "both 3\n");
  EXPECT_EQ(probe(live, "nothing_to_take"), "recv 3\npeek 3\nsend 3\naccept 3\ntimerfd 3\ncq_event 3\nquery_qp 3\n");
  EXPECT_EQ(Live::ps().find("not deterministic"), std::string::npos) << Live::ps();
}

TEST(BusyWaits, LocksAroundPollsGoRound) {
  const Live live(kLab);
  const std::string one = "mutex 2\nspin 2\nrwlock 2\nsemaphore 2\nc11 2\n";
  EXPECT_EQ(probe(live, "locks_around_polls"), one + one) << "one that polls, and three";
  EXPECT_EQ(probe(live, "posts_beside_polls"), "completions 300\nwithin_ms 5\n");
}

TEST(BusyWaits, OddDescriptorsAreThoseOfLinux) {
  const std::string linux_says = natively(WEFT_WAITS_PROBE " odd_descriptors");
  ASSERT_NE(linux_says.find("epoll_wait 0"), std::string::npos) << linux_says;
  for (const char* clock : {"virtual", "wall"}) {
    const Live live(kLab, std::string("--clock ") + clock);
    EXPECT_EQ(probe(live, "odd_descriptors"), linux_says) << clock;
  }
}

// `weft ps` while a program makes call after call.
TEST(BusyWaits, WorldIsSeenMeanwhile) {
  const Live live(kLab);
  const std::string flag = fs::temp_directory_path() / ("weft-flag-" + std::to_string(getpid()));
  std::thread program(
      [&] { live.shell("exec vm00 -- env PROBE_FLAG=" + flag + " " WEFT_WAITS_PROBE " naps", "naps"); });
  while (Live::pid_on("vm00") == 0) std::this_thread::sleep_for(10ms);
  for (int i = 0; i < 3; ++i) EXPECT_NE(Live::ps().find("waits_probe"), std::string::npos) << Live::ps();
  std::ofstream(flag) << "x";
  program.join();
  fs::remove(flag);
  EXPECT_EQ(live.output("naps"), "seen 1\n");
}

}  // namespace
}  // namespace weft::interop
