#include "live/os/child.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace weft::live {
namespace {

// Waits for its end, with a limit.
bool ends(Child& child) {
  for (int i = 0; i < 2000; ++i) {
    if (child.has_ended()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

// A zombie that nobody has waited for yet does not.
bool runs(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  return std::getline(file, text) && text.find(") Z") == text.npos;
}

TEST(Child, ReportsWhyStartFailed) {
  auto none = Child::start({"no_such_program"}, {});
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error(), ENOENT);
  auto folder = Child::start({"/tmp"}, {});
  ASSERT_FALSE(folder.has_value());
  EXPECT_EQ(folder.error(), EACCES);
}

TEST(Child, CollectsOutputsAndStatus) {
  auto child = Child::start({"sh", "-c", "echo \"$WEFT_TEST\"; echo err >&2; cat; exit 7"}, {{"WEFT_TEST", "a=b c"}});
  ASSERT_TRUE(child.has_value());
  ASSERT_TRUE(ends(**child)) << "standard input is empty, not ours";
  EXPECT_EQ((*child)->output(), "a=b c\nerr\n");
  EXPECT_EQ(WEXITSTATUS((*child)->wait_status()), 7);
}

TEST(Child, LimitsOutputAndCountsRest) {
  auto child = Child::start({"sh", "-c", "head -c 3000000 /dev/zero"}, {});
  ASSERT_TRUE(child.has_value());
  ASSERT_TRUE(ends(**child)) << "a program is never held up by its output";
  EXPECT_EQ((*child)->output().size(), Child::kMostOutput_B);
  EXPECT_EQ((*child)->left_out_B(), 3'000'000 - Child::kMostOutput_B);
}

// What it leaves running has the pipe open: nobody waits for that.
TEST(Child, KillsChildren) {
  auto child = Child::start({"sh", "-c", "sleep 1000 & echo $!"}, {});
  ASSERT_TRUE(child.has_value());
  ASSERT_TRUE(ends(**child));
  const int left = std::stoi((*child)->output());
  bool gone = false;
  for (int i = 0; i < 400 && !gone; ++i) {
    gone = !runs(left);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_TRUE(gone);
}

TEST(Child, CanBeKilled) {
  auto child = Child::start({"sleep", "1000"}, {});
  ASSERT_TRUE(child.has_value());
  EXPECT_FALSE((*child)->has_ended());
  (*child)->kill();
  ASSERT_TRUE(ends(**child));
  EXPECT_EQ(WTERMSIG((*child)->wait_status()), SIGKILL);
}

}  // namespace
}  // namespace weft::live
