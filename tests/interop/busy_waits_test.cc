// Programs that wait in loops of calls which return at once (programs/waits_busy.cc): time passes meanwhile, and the
// world is seen and ended all the same.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include "interop/interop_support.h"
#include "interop/live_world.h"
#include "support/slowdown.h"

namespace weft::interop {
namespace {

constexpr const char* kLab = "two-node-25g.yaml";

std::string probe(const Live& live, const std::string& cases) {
  const int status = live.shell("exec vm00 -- " WEFT_WAITS_PROBE " " + cases);
  EXPECT_EQ(status, 0) << cases << "\n" << live.output();
  return live.output();
}

TEST(BusyWaits, TimePassesInLoopsOfCalls) {
  const Live live(kLab);
  EXPECT_EQ(probe(live, "zero_sleeps"), "usleep 3\nsleep 3\nnanosleep 3\nclock_nanosleep 3\nthrd_sleep 3\n");
  EXPECT_EQ(probe(live, "both_look"), "both 3\n");
  EXPECT_EQ(probe(live, "nothing_to_take"), "recv 3\npeek 3\nsend 3\naccept 3\ntimerfd 3\ncq_event 3\nquery_qp 3\n");
  EXPECT_EQ(probe(live, "refused_connects"), "connect 3\n");
  EXPECT_EQ(Live::ps().find("not deterministic"), std::string::npos) << Live::ps();
}

TEST(BusyWaits, LocksAroundPollsGoRound) {
  const Live live(kLab);
  const std::string one = "mutex 2\nspin 2\nrwlock 2\nsemaphore 2\nc11 2\n";
  EXPECT_EQ(probe(live, "locks_around_polls"), one + one) << "one that polls, and three";
  EXPECT_EQ(probe(live, "posts_beside_polls"), "completions 300\nwithin_ms 5\n");
}

// `weft ps` and `weft down` while a program makes call after call.
TEST(BusyWaits, WorldIsSeenAndEndsMeanwhile) {
  const Live live(kLab);
  std::thread program([&] { live.shell("exec vm00 -- " WEFT_WAITS_PROBE " calls_without_end", "calls"); });
  while (Live::pid_on("vm00") == 0) std::this_thread::sleep_for(10ms);
  for (int i = 0; i < 3; ++i) EXPECT_NE(Live::ps().find("waits_probe"), std::string::npos) << Live::ps();
  EXPECT_EQ(live.shell("down", "down"), 0) << live.output("down");
  program.join();
  EXPECT_NE(live.output("calls").find("the world is gone"), std::string::npos) << live.output("calls");
}

// SIGTERM ends a run whatever its programs do.
TEST(BusyWaits, RunEndsOnSignalMeanwhile) {
  const TempDir temp;
  std::string text = text_of(WEFT_SOURCE_DIR "/labs/" + std::string(kLab));
  text.erase(text.find("\nworkloads:") + 1);
  std::ofstream(temp.file("lab.yaml"))
      << text << "workloads:\n  - name: busy\n    program:\n      - {node: vm00, script: 'touch " << temp.file("began")
      << "; exec " << WEFT_WAITS_PROBE << " calls_without_end', timeout: 300 s}\n";
  std::ofstream(temp.file("run.sh")) << "cd " << temp.file("") << "\nexport XDG_RUNTIME_DIR=$PWD\n"
                                     << WEFT_BINARY << " run lab.yaml --out out >said 2>&1 </dev/null &\n"
                                     << "while [ ! -e began ]; do sleep 0.1; done\nsleep 0.5\nkill -TERM $!\nwait $!\n";
  const int status = std::system((test::timeout(60, "-k 1") + "bash " + temp.file("run.sh")).c_str());
  EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 130) << text_of(temp.file("said"));
}

}  // namespace
}  // namespace weft::interop
