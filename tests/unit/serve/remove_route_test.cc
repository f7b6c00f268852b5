#include "serve/tasks/remove_route.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

namespace weft::serve {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class RemoveRoute : public testing::Test {
 protected:
  RemoveRoute() { add_remove_route(router_, place_, tasks_, runs_); }
  ~RemoveRoute() override { fs::remove_all(root_); }
  void make(const std::string& name) const {
    fs::create_directories(root_ / name);
    std::ofstream(root_ / name / "results.json") << "{}";
  }
  int remove(const std::string& id) const {
    return router_.answer({"DELETE", "/api/runs/" + id, {}, {}, "", {}}).status;
  }
  void wait_until_idle(const std::string& run) const {
    for (int i = 0; i < 1000 && tasks_.is_busy(run); ++i) std::this_thread::sleep_for(10ms);
  }

  fs::path root_ = fs::temp_directory_path() / ("weft-remove-" + std::to_string(getpid()));
  RunPlace place_{root_.string()};
  RunList runs_{place_};
  TaskList tasks_{TaskLimits{1, 4, 60s, 200ms, 0, 0}, {[](const Task&) {}, [](std::uint64_t) {}}};
  Router router_;
};

TEST_F(RemoveRoute, RefusedWhileTaskWrites) {
  make("one");
  make("sweep/cell-001");
  const auto first = tasks_.add("run", "one", {"/bin/sleep", "60"}, "");
  const auto second = tasks_.add("sweep", "sweep", {"/bin/sleep", "60"}, "");
  const auto third = tasks_.add("run", "reserved", {"/bin/sleep", "60"}, "");
  ASSERT_TRUE(first && second && third);
  // The first runs, the others wait for it; nobody holds a lock yet.
  EXPECT_EQ(remove("one"), 409);
  EXPECT_EQ(remove("sweep~cell-001"), 409);
  EXPECT_EQ(remove("reserved"), 409);
  EXPECT_TRUE(fs::exists(root_ / "one/results.json"));
  for (const auto& task : {first, second, third}) {
    tasks_.cancel(task->id);
    tasks_.cancel(task->id);
  }
  for (const char* run : {"one", "sweep", "reserved"}) wait_until_idle(run);
  EXPECT_EQ(remove("one"), 200);
  EXPECT_EQ(remove("sweep~cell-001"), 200);
  EXPECT_EQ(remove("reserved"), 404);
}

TEST_F(RemoveRoute, RefusedWhileLockedAboveOrBelow) {
  make("study");
  make("study/seed-1");
  make("study/seed-2");
  const auto lock = [&](const char* name) {
    const int fd = open((root_ / name).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    EXPECT_EQ(flock(fd, LOCK_EX | LOCK_NB), 0);
    return fd;
  };
  int fd = lock("study");
  EXPECT_EQ(remove("study"), 409);
  EXPECT_EQ(remove("study~seed-1"), 409);
  close(fd);
  fd = lock("study/seed-2");
  EXPECT_EQ(remove("study"), 409);
  EXPECT_EQ(remove("study~seed-2"), 409);
  EXPECT_EQ(remove("study~seed-1"), 200);
  close(fd);
  EXPECT_EQ(remove("study"), 200);
  EXPECT_TRUE(fs::is_empty(root_));
}

// Writers lock the directory, look whether it is still the one of this name, and write. One that was removed in between
// has never a results.json that came after the removal.
TEST_F(RemoveRoute, NeverRemovesUnderWriter) {
  std::atomic<bool> ends{false};
  std::atomic<int> removed{0};
  std::thread remover([&] {
    while (!ends) removed += remove("one") == 200 ? 1 : 0;
  });
  int written = 0;
  for (int i = 0; i < 200 || (removed == 0 && i < 200'000); ++i) {
    make("one");
    const int fd = open((root_ / "one").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) continue;
    struct stat opened {
    }, named{};
    const bool own = flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &opened) == 0 &&
                     stat((root_ / "one").c_str(), &named) == 0 && opened.st_ino == named.st_ino;
    if (own) {
      std::ofstream(root_ / "one/results.json") << "new";
      EXPECT_TRUE(fs::exists(root_ / "one/results.json"));
      ++written;
    }
    close(fd);
  }
  ends = true;
  remover.join();
  EXPECT_GT(written, 0);
  EXPECT_GT(removed, 0);
}

}  // namespace
}  // namespace weft::serve
