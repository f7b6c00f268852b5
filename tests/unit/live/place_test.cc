#include "live/os/place.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace weft::live {
namespace {

namespace fs = std::filesystem;

class Place : public testing::Test {
 protected:
  Place() { EXPECT_NE(mkdtemp(directory_.data()), nullptr); }
  ~Place() override { fs::remove_all(directory_); }
  std::string directory_ = testing::TempDir() + "weft-place-XXXXXX";
};

TEST_F(Place, WorldNamesAreOneWord) {
  for (const char* name : {"a", "two-node-25g", "w_1.b", "0"}) EXPECT_TRUE(is_world_name(name)) << name;
  for (const char* name : {"", "a b", ".", "..", ".a", "-a", "a/b", "a\nb", "a%", "\xc3\xbc"})
    EXPECT_FALSE(is_world_name(name)) << name;
  EXPECT_TRUE(is_world_name(std::string(kLongestWorldName, 'a')));
  EXPECT_FALSE(is_world_name(std::string(kLongestWorldName + 1, 'a')));
}

TEST_F(Place, ListeningWorldIsUpAndHoldsName) {
  auto world = listen_at(directory_, "a");
  ASSERT_TRUE(world) << world.error();
  EXPECT_EQ(worlds_up(directory_), std::vector<std::string>{"a"});
  auto second = listen_at(directory_, "a");
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().find("a world named a is up already"), std::string::npos) << second.error();
  EXPECT_EQ(worlds_up(directory_), std::vector<std::string>{"a"}) << "the attempt did no harm";
  close(world->listener);
}

// A world locks its folder before it binds its socket; whoever lists worlds then must leave the folder alone.
TEST_F(Place, KeepsWorldThatIsStarting) {
  auto world = listen_at(directory_, "a");
  ASSERT_TRUE(world) << world.error();
  close(world->listener);
  fs::remove(socket_path(directory_, "a"));
  EXPECT_TRUE(worlds_up(directory_).empty());
  EXPECT_TRUE(fs::exists(directory_ + "/a"));
  EXPECT_FALSE(listen_at(directory_, "a")) << "one world at a time";
}

TEST_F(Place, KeepsUnrelatedFiles) {
  std::ofstream(directory_ + "/notes") << "mine";
  EXPECT_TRUE(worlds_up(directory_).empty());
  EXPECT_TRUE(fs::exists(directory_ + "/notes"));
}

TEST_F(Place, RemovesFilesOfDeadWorld) {
  {
    auto world = listen_at(directory_, "a");
    ASSERT_TRUE(world) << world.error();
    close(world->listener);
  }
  EXPECT_TRUE(fs::exists(socket_path(directory_, "a")));
  EXPECT_TRUE(worlds_up(directory_).empty());
  EXPECT_FALSE(fs::exists(directory_ + "/a"));
  auto next = listen_at(directory_, "a");
  ASSERT_TRUE(next) << next.error();
  close(next->listener);
}

}  // namespace
}  // namespace weft::live
