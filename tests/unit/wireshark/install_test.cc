#include "wireshark/install.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "wireshark/bundle.h"

namespace weft::wireshark {
namespace {

namespace fs = std::filesystem;

class WiresharkInstall : public testing::Test {
 protected:
  WiresharkInstall() {
    std::string name = testing::TempDir() + "weft-wireshark-XXXXXX";
    root_ = mkdtemp(name.data());
    folders_ = {root_ / "config", root_ / "plugins", false};
  }
  ~WiresharkInstall() override {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }
  static std::string text(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
  }
  static void write(const fs::path& file, const std::string& bytes) {
    fs::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << bytes;
  }
  std::size_t count(const std::vector<Step>& steps, Outcome outcome) const {
    return static_cast<std::size_t>(
        std::count_if(steps.begin(), steps.end(), [&](const Step& step) { return step.outcome == outcome; }));
  }
  std::size_t files() const {
    std::size_t found = 0;
    for (const auto& entry : fs::recursive_directory_iterator(root_)) found += entry.is_regular_file() ? 1 : 0;
    return found;
  }

  fs::path root_;
  Folders folders_;
  fs::path preferences() const { return root_ / "config/profiles/Weft/preferences"; }
};

TEST_F(WiresharkInstall, PutsAndRemovesAllFiles) {
  const std::size_t all = bundled_files().size();
  ASSERT_GE(all, 10U);
  auto steps = install(folders_, {});
  ASSERT_TRUE(steps) << steps.error();
  EXPECT_EQ(count(*steps, Outcome::kCreated), all);
  EXPECT_EQ(files(), all + 1) << "and the list of them";
  for (const BundledFile& file : bundled_files()) {
    if (file.path == "profile/colorfilters")
      EXPECT_EQ(text(root_ / "config/profiles/Weft/colorfilters"), std::string(file.text));
    if (file.path == "plugin/roce.lua") EXPECT_EQ(text(root_ / "plugins/weft/roce.lua"), std::string(file.text));
  }
  steps = install(folders_, {});
  ASSERT_TRUE(steps);
  EXPECT_EQ(count(*steps, Outcome::kUnchanged), all);
  steps = uninstall(folders_, {});
  ASSERT_TRUE(steps);
  EXPECT_EQ(count(*steps, Outcome::kRemoved), all);
  EXPECT_EQ(files(), 0U);
  EXPECT_FALSE(fs::exists(root_ / "plugins/weft"));
}

TEST_F(WiresharkInstall, BundleIsWhatShareHas) {
  for (const BundledFile& file : bundled_files())
    EXPECT_EQ(text(fs::path(WEFT_SOURCE_DIR) / "share/wireshark" / file.path), std::string(file.text)) << file.path;
}

TEST_F(WiresharkInstall, DryRunWritesNothing) {
  auto steps = install(folders_, {.dry_run = true});
  ASSERT_TRUE(steps);
  EXPECT_EQ(count(*steps, Outcome::kCreated), bundled_files().size());
  EXPECT_EQ(files(), 0U);
  ASSERT_TRUE(install(folders_, {}));
  steps = uninstall(folders_, {.dry_run = true});
  ASSERT_TRUE(steps);
  EXPECT_EQ(files(), bundled_files().size() + 1);
}

TEST_F(WiresharkInstall, ForeignFileIsLeftAlone) {
  write(preferences(), "mine\n");
  auto steps = install(folders_, {});
  ASSERT_TRUE(steps);
  EXPECT_EQ(count(*steps, Outcome::kForeign), 1U);
  EXPECT_EQ(text(preferences()), "mine\n");
  ASSERT_TRUE(uninstall(folders_, {}));
  EXPECT_EQ(text(preferences()), "mine\n");
}

TEST_F(WiresharkInstall, ForceKeepsBackup) {
  write(preferences(), "mine\n");
  auto steps = install(folders_, {.force = true});
  ASSERT_TRUE(steps);
  EXPECT_EQ(count(*steps, Outcome::kReplaced), 1U);
  EXPECT_EQ(text(preferences().string() + ".before-weft"), "mine\n");
  write(preferences(), "mine again\n");
  ASSERT_TRUE(install(folders_, {.force = true}));
  EXPECT_EQ(text(preferences().string() + ".before-weft.2"), "mine again\n");
}

TEST_F(WiresharkInstall, ChangedFileIsKept) {
  ASSERT_TRUE(install(folders_, {}));
  write(preferences(), text(preferences()) + "# changed\n");
  auto steps = install(folders_, {});
  ASSERT_TRUE(steps);
  EXPECT_EQ(count(*steps, Outcome::kKept), 1U);
  steps = uninstall(folders_, {});
  ASSERT_TRUE(steps);
  EXPECT_EQ(count(*steps, Outcome::kKept), 1U);
  EXPECT_NE(text(preferences()).find("# changed"), std::string::npos);
}

// An older version had other files and other contents.
TEST_F(WiresharkInstall, UpdatesWhatIsOurs) {
  ASSERT_TRUE(install(folders_, {}));
  write(root_ / "plugins/weft/old.lua", "");
  write(preferences(), "");
  std::string list = text(root_ / "config/weft-files.txt");
  const std::string empty = "cbf29ce484222325";  // FNV-1a of nothing
  list += empty + " plugin/old.lua\n";
  const std::size_t at = list.find(" profile/preferences");
  list.replace(at - empty.size(), empty.size(), empty);
  write(root_ / "config/weft-files.txt", list);
  auto steps = install(folders_, {});
  ASSERT_TRUE(steps);
  EXPECT_EQ(count(*steps, Outcome::kUpdated), 1U);
  EXPECT_EQ(count(*steps, Outcome::kRemoved), 1U);
  EXPECT_FALSE(fs::exists(root_ / "plugins/weft/old.lua"));
}

TEST_F(WiresharkInstall, ListNamesNoFileElsewhere) {
  write(root_ / "victim.txt", "");
  write(root_ / "config/weft-files.txt", "cbf29ce484222325 profile/../../../victim.txt\nnonsense\n\xff\xfe\n");
  ASSERT_TRUE(uninstall(folders_, {}));
  EXPECT_TRUE(fs::exists(root_ / "victim.txt"));
}

TEST_F(WiresharkInstall, FileInWayIsError) {
  write(root_ / "plugins", "a file");
  const auto steps = install(folders_, {});
  ASSERT_FALSE(steps);
  EXPECT_NE(steps.error().find("plugins"), std::string::npos) << steps.error();
}

TEST_F(WiresharkInstall, DryRunFindsImpossibleDirectory) {
  const Folders impossible{"/dev/null/x", "/dev/null/x/plugins", true};
  for (const bool dry_run : {true, false}) {
    InstallOptions options;
    options.dry_run = dry_run;
    const auto steps = install(impossible, options);
    ASSERT_FALSE(steps);
    EXPECT_NE(steps.error().find("/dev/null is not a directory"), std::string::npos) << steps.error();
  }
}

TEST(WiresharkFolders, ReadsTsharkOutput) {
  const Folders folders = parse_folders(
      "Temp:                \t/tmp\nPersonal configuration:\t/home/a b/.config/wireshark\n"
      "Global configuration:\t/usr/share/wireshark\nPersonal Plugins:    \t/home/a b/x/4.0\n"
      "Personal Lua Plugins:\t/home/a b/.local/lib/wireshark/plugins\nnothing\nExtcap path:\n");
  EXPECT_EQ(folders.configuration, "/home/a b/.config/wireshark");
  EXPECT_EQ(folders.plugins, "/home/a b/.local/lib/wireshark/plugins");
  EXPECT_EQ(parse_folders("").configuration, "");
}

TEST(WiresharkFolders, DirectoryStandsAlone) {
  const auto folders = find_folders("some/where/../dir");
  ASSERT_TRUE(folders);
  EXPECT_EQ(folders->configuration, (fs::current_path() / "some/dir").string());
  EXPECT_EQ(folders->plugins, folders->configuration + "/plugins");
  EXPECT_TRUE(folders->stands_alone);
}

}  // namespace
}  // namespace weft::wireshark
