#include "base/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace weft {
namespace {

namespace fs = std::filesystem;

class Files : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "weft-files-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override { fs::remove_all(directory_); }
  std::string at(const std::string& name) const { return (directory_ / name).string(); }

  fs::path directory_;
};

TEST_F(Files, ReadsOnlyFilesThatEnd) {
  std::ofstream(at("a")) << "abc";
  EXPECT_EQ(read_file(at("a"), 3).value(), "abc");
  EXPECT_EQ(read_file(at("a"), 2).error(), "it is larger than 0 MB");
  EXPECT_EQ(read_file("/dev/zero", 10).error(), "it is a device, not a file");
  EXPECT_EQ(read_file(directory_.string(), 10).error(), "it is a directory");
  EXPECT_EQ(read_file(at("none"), 10).error(), "No such file or directory");
  ASSERT_EQ(mkfifo(at("fifo").c_str(), 0600), 0);
  EXPECT_EQ(read_file(at("fifo"), 10).value(), "") << "nobody writes: it does not wait";
}

TEST_F(Files, WritesFilesAtomically) {
  std::ofstream(at("a")) << "old";
  {
    OutputFile file(at("a"));
    file.write("new");
    EXPECT_EQ(read_file(at("a"), 10).value(), "old");
  }
  EXPECT_EQ(read_file(at("a"), 10).value(), "old") << "it was not closed";
  EXPECT_FALSE(fs::exists(at("a.part")));
  ASSERT_TRUE(write_file(at("a"), "new").has_value());
  EXPECT_EQ(read_file(at("a"), 10).value(), "new");
  fs::create_symlink("a", at("link"));
  ASSERT_TRUE(write_file(at("link"), "newer").has_value());
  EXPECT_TRUE(fs::is_symlink(at("link")));
  EXPECT_EQ(read_file(at("a"), 10).value(), "newer");
  EXPECT_EQ(write_file("/dev/full", "x").error(), "cannot write /dev/full: No space left on device");
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
  EXPECT_FALSE(write_file(at("no/where"), "x").has_value());
}

}  // namespace
}  // namespace weft
