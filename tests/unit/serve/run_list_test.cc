#include "serve/runs/run_list.h"

#include <fcntl.h>
#include <sys/file.h>

#include <thread>

#include "unit/serve/served_run.h"

namespace weft::serve {
namespace {

using namespace std::chrono_literals;

class RunListTest : public testing::Test {
 protected:
  static nlohmann::json runs(const RunList::Look& look) { return nlohmann::json::parse(*look.json)["runs"]; }
  ServedRuns served_;
  RunPlace place_{std::filesystem::path(served_.directory("x")).parent_path().string()};
};

TEST_F(RunListTest, FollowsDirectory) {
  RunList list(place_);
  EXPECT_EQ(list.look()->count, 0u);
  EXPECT_EQ(list.look()->newest, "");
  served_.run("one", kPairLab);
  const auto one = list.look();
  EXPECT_EQ(one->newest, "one");
  EXPECT_EQ(runs(*one).size(), 1u);
  EXPECT_EQ(list.look()->version, one->version);
  EXPECT_EQ(list.look()->json, one->json);  // the same bytes, not a copy
  std::filesystem::remove_all(served_.directory("one"));
  EXPECT_EQ(list.look()->count, 0u);
  EXPECT_NE(list.look()->version, one->version);
}

TEST_F(RunListTest, RunThatIsWrittenAgainShowsNothingOld) {
  RunList list(place_);
  served_.run("one", kIncastLab);
  ASSERT_EQ(runs(*list.look())[0]["state"], "done");
  const int fd = open(served_.directory("one").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(flock(fd, LOCK_EX | LOCK_NB), 0);
  const auto running = list.look();
  EXPECT_EQ(runs(*running)[0]["id"], "one");
  EXPECT_EQ(runs(*running)[0]["state"], "running");
  EXPECT_EQ(runs(*running)[0]["lab"], "");
  EXPECT_EQ(runs(*running)[0]["expectations"], 0);
  EXPECT_EQ(running->newest, "");
  close(fd);
  EXPECT_EQ(runs(*list.look())[0]["state"], "done");
}

TEST_F(RunListTest, LooksOnceForAllWhileItIsYoung) {
  served_.run("one", kPairLab);
  RunList list(place_, 1h);
  std::vector<std::thread> clients;
  for (int i = 0; i < 8; ++i)
    clients.emplace_back([&list] {
      for (int n = 0; n < 100; ++n) EXPECT_EQ(list.look()->count, 1u);
    });
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(list.looks(), 1u);
  served_.run("two", kPairLab);
  EXPECT_EQ(list.look()->count, 1u);  // nobody has said so
  list.changed();
  EXPECT_EQ(list.look()->count, 2u);
  EXPECT_EQ(list.looks(), 2u);
}

}  // namespace
}  // namespace weft::serve
