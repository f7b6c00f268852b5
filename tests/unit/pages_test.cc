// What pages say about the repository: files and folders that they name exist, and docs/ARCHITECTURE.md says of twelve
// things where they would be added.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "support/matching.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// The text of a page without its blocks of code.
std::string without_blocks(const std::string& page) {
  std::istringstream lines(page);
  std::string out;
  bool fenced = false;
  for (std::string line; std::getline(lines, line);) {
    fenced ^= line.starts_with("```");
    if (!fenced) out += line + '\n';
  }
  return out;
}

// Words in backquotes that name a file ("nic/transport.h") or a folder ("labfile/network/") of the repository, relative
// to it, to src/ or to labs/. A word in capitals stands for many (gear/emit/VENDOR.cc).
std::vector<std::string> paths_in(const std::string& page) {
  std::set<std::string> tops;
  for (const char* folder : {"/", "/src/", "/labs/"})
    for (const auto& entry : fs::directory_iterator(std::string(WEFT_SOURCE_DIR) + folder))
      if (entry.is_directory()) tops.insert(entry.path().filename().string());
  std::vector<std::string> paths;
  for (const std::string& path :
       test::matches(without_blocks(page), R"(`([a-z_]+/[a-z0-9_./-]*(/|\.(h|cc|yaml|csv|md|sh|json|lua|mjs)))`)", 1))
    if (tops.count(path.substr(0, path.find('/'))) != 0) paths.push_back(path);
  return paths;
}
bool exists(const std::string& path) {
  const std::string root = std::string(WEFT_SOURCE_DIR) + "/";
  return fs::exists(root + path) || fs::exists(root + "src/" + path) || fs::exists(root + "labs/" + path);
}

TEST(Pages, NamedFilesExist) {
  // Names files of other repositories, and what other programs or runs leave.
  const std::set<std::string> elsewhere = {"docs/sources.md"};
  std::size_t named = 0;
  for (const auto& entry : fs::recursive_directory_iterator(std::string(WEFT_SOURCE_DIR) + "/docs")) {
    const std::string page = fs::relative(entry.path(), WEFT_SOURCE_DIR).string();
    if (entry.path().extension() != ".md" || elsewhere.count(page) != 0) continue;
    for (const std::string& path : paths_in(text_of(entry.path()))) {
      ++named;
      if (path == "docs/cc_mode_switching.md") continue;  // of AtlanticBob/hpft-implementation
      EXPECT_TRUE(exists(path)) << page << " names " << path;
    }
  }
  EXPECT_GT(named, 150u);
}

TEST(Pages, PlacesOfTwelveThingsAreNamed) {
  const std::string page = text_of(std::string(WEFT_SOURCE_DIR) + "/docs/ARCHITECTURE.md");
  const std::size_t begin = page.find("\n## Where would I add …?\n");
  ASSERT_NE(begin, page.npos);
  const std::string section = page.substr(begin, page.find("\n## ", begin + 1) - begin);
  const std::vector<std::string> rows = test::matches(section, R"(\n(\| an? [^\n]*))", 1);
  EXPECT_GE(rows.size(), 12u);
  for (const std::string& row : rows) EXPECT_FALSE(paths_in(row).empty()) << row << " names no file";
}

TEST(Pages, PathsInBackquotes) {
  EXPECT_EQ(
      paths_in("`nic/transport.h`, `src/nic/`, `a/b`, `nic::Device`, `gear/emit/VENDOR.cc`\n```\n`nic/x.h`\n```\n"),
      (std::vector<std::string>{"nic/transport.h", "src/nic/"}));
  EXPECT_TRUE(exists("base/time.h") && exists("src/base/") && exists("fabric/incast-ecn.yaml"));
  EXPECT_FALSE(exists("base/no-such-file.h"));
}

}  // namespace
}  // namespace weft
