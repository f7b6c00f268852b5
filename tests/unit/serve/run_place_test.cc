#include "serve/runs/run_place.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace weft::serve {
namespace {

namespace fs = std::filesystem;

class RunPlaceTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("weft-place-" + std::to_string(getpid()));
    fs::remove_all(root_);
    for (const char* name : {"runs/incast", "runs/study/seed-1", "outside"}) {
      fs::create_directories(root_ / name);
      std::ofstream(root_ / name / "results.json") << "{}";
    }
    std::ofstream(root_ / "runs/incast/notes.txt") << "mine";
    fs::create_directory_symlink(root_ / "outside", root_ / "runs/link");
    fs::create_symlink(root_ / "outside/results.json", root_ / "runs/incast/linked.json");
  }
  void TearDown() override { fs::remove_all(root_); }
  fs::path root_;
};

TEST_F(RunPlaceTest, ListsRunsAndThoseInStudies) {
  const RunPlace place((root_ / "runs").string());
  EXPECT_EQ(place.list(), (std::vector<std::string>{"incast", "study~seed-1"}));
  EXPECT_EQ(place.find("study~seed-1"), (root_ / "runs/study/seed-1").string());
}

TEST_F(RunPlaceTest, NamesNothingOutside) {
  const RunPlace place((root_ / "runs").string());
  for (const char* id : {"..~outside", "../outside", "link", "incast~..~..~outside", "", "~", ".", "incast/../incast"})
    EXPECT_FALSE(place.find(id)) << id;
  EXPECT_TRUE(place.file("incast", "results.json"));
  for (const char* name : {"../../outside/results.json", "notes.txt", "linked.json", "missing.json", ""})
    EXPECT_FALSE(place.file("incast", name)) << name;
}

TEST_F(RunPlaceTest, LinkedFilesAreNoRun) {
  for (const char* name : {"results.json", "results.sqlite", "lab.yaml"}) {
    const fs::path directory = root_ / "runs" / (std::string("links-") + name);
    fs::create_directories(directory);
    std::ofstream(directory / "results.json") << "{}";
    fs::remove(directory / name);
    fs::create_symlink(root_ / "outside/results.json", directory / name);
    EXPECT_FALSE(RunPlace((root_ / "runs").string()).find(directory.filename().string())) << name;
  }
}

TEST_F(RunPlaceTest, OneRunIsNamedRun) {
  const RunPlace place((root_ / "runs/incast").string());
  EXPECT_EQ(place.list(), std::vector<std::string>{"run"});
  EXPECT_TRUE(place.find("run"));
}

}  // namespace
}  // namespace weft::serve
