// Where worlds are: which directories are worlds, and which may be removed.
#include "live/place.h"

#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace weft::live {
namespace {

class Place : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/weft-place-XXXXXX";
    directory = mkdtemp(name);
  }
  void TearDown() override { std::filesystem::remove_all(directory); }
  bool is_there(const std::string& name) const { return std::filesystem::exists(directory + "/" + name); }

  std::string directory;
};

TEST_F(Place, AWorldBetweenItsDirectoryAndItsSocketStays) {
  mkdir((directory + "/coming").c_str(), 0700);
  int lock = open((directory + "/coming").c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_EQ(flock(lock, LOCK_EX), 0);
  EXPECT_TRUE(worlds_up(directory).empty());
  EXPECT_TRUE(is_there("coming"));
  auto second = listen_at(directory, "coming");
  ASSERT_FALSE(second.has_value());
  EXPECT_NE(second.error().find("coming up"), std::string::npos) << second.error();
  close(lock);
  EXPECT_TRUE(worlds_up(directory).empty());
  EXPECT_FALSE(is_there("coming")) << "its world is gone";
}

TEST_F(Place, WhatIsNoWorldStays) {
  std::ofstream(directory + "/notes") << "mine";
  EXPECT_TRUE(worlds_up(directory).empty());
  EXPECT_TRUE(is_there("notes"));
}

TEST_F(Place, AWorldThatListensIsUpUntilItEnds) {
  auto listener = listen_at(directory, "w");
  ASSERT_TRUE(listener.has_value()) << listener.error();
  EXPECT_EQ(worlds_up(directory), std::vector<std::string>{"w"});
  EXPECT_FALSE(listen_at(directory, "w").has_value());
  close(*listener);
  // Its process still holds the lock: it is not removed before that ends.
  EXPECT_TRUE(worlds_up(directory).empty());
  EXPECT_TRUE(is_there("w"));
}

}  // namespace
}  // namespace weft::live
