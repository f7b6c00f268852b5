// docs/articles.md has a row for each thing that the four articles ask for. What a row names exists: the lab, the verb
// and its options, the test; and what has no command says why. That the commands run is docs_test's.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "support/matching.h"

namespace {

namespace fs = std::filesystem;

struct Row {
  int number = 0;
  std::string asked, command, tests;
};

std::string slurp(const fs::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::vector<Row> rows() {
  std::istringstream page(slurp(WEFT_SOURCE_DIR "/docs/articles.md"));
  std::vector<Row> out;
  for (std::string line; std::getline(page, line);) {
    const auto row = weft::test::match(line, R"(^\| ([0-9]+) \| (.*) \| (.*) \| (.*) \|$)");
    if (!row.empty()) out.push_back({std::stoi(row[1]), row[2], row[3], row[4]});
  }
  return out;
}

// "Suite.Name" of every test, and its suite alone.
std::set<std::string> known_tests() {
  std::set<std::string> out;
  for (const auto& entry : fs::recursive_directory_iterator(WEFT_SOURCE_DIR "/tests")) {
    if (entry.path().extension() != ".cc") continue;
    std::istringstream text(slurp(entry.path()));
    for (std::string line; std::getline(text, line);) {
      const auto test = weft::test::match(line, R"(^TEST(_P|_F)?\(([A-Za-z0-9_]+), *([A-Za-z0-9_]+)\))");
      if (test.empty()) continue;
      out.insert(test[2]);
      out.insert(test[2] + "." + test[3]);
    }
  }
  return out;
}

std::string help_of(const std::string& verb) {
  static std::map<std::string, std::string> known;
  const auto found = known.find(verb);
  if (found != known.end()) return found->second;
  std::string out;
  std::unique_ptr<FILE, int (*)(FILE*)> pipe(
      popen((std::string(WEFT_BINARY) + " " + verb + " --help 2>&1").c_str(), "r"), pclose);
  char part[4096];
  for (std::size_t n = 0; pipe && (n = std::fread(part, 1, sizeof part, pipe.get())) > 0;) out.append(part, n);
  return known[verb] = out;
}

TEST(Articles, RowsAreNumberedThroughAndComplete) {
  const std::vector<Row> all = rows();
  EXPECT_GE(all.size(), 181U) << "as many things as outside readers counted";
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].number, static_cast<int>(i) + 1) << all[i].asked;
    EXPECT_FALSE(all[i].asked.empty()) << i;
    EXPECT_FALSE(all[i].tests.empty()) << all[i].asked;
    // A command or the name of a file in code, or the reason why there is none.
    const std::size_t none = all[i].command.find("**no command**");
    if (none == std::string::npos) {
      EXPECT_TRUE(all[i].command.find('`') != std::string::npos || all[i].command.size() > 40) << all[i].asked;
    } else {
      EXPECT_GT(all[i].command.size() - none, 40U) << all[i].asked << ": say why";
    }
  }
}

TEST(Articles, NamedTestsExist) {
  const std::set<std::string> known = known_tests();
  for (const Row& row : rows()) {
    for (const std::string& name : weft::test::matches(row.tests, R"(`([A-Za-z0-9_.]+)`)", 1))
      EXPECT_TRUE(known.contains(name)) << row.number << ": " << name;
  }
}

TEST(Articles, NamedLabsAndOptionsExist) {
  for (const Row& row : rows()) {
    for (const std::string& lab : weft::test::matches(row.command, R"(\b(labs/[a-z0-9/-]+\.(yaml|txt)))", 1))
      EXPECT_TRUE(fs::exists(std::string(WEFT_SOURCE_DIR) + "/" + lab)) << row.number << ": " << lab;
    for (const std::string& command : weft::test::matches(row.command, R"(`weft ([^`]+)`)", 1)) {
      std::istringstream words(command);
      std::string verb, word;
      words >> verb;
      // "plan fabric" has a help of its own; what follows a lab of perftest and nccl is theirs.
      if (verb == "plan" || verb == "choose" || verb == "catalog" || verb == "capture") {
        std::string object;
        if (words >> object && object.find_first_not_of("abcdefghijklmnopqrstuvwxyz") == std::string::npos &&
            (verb == "plan" || verb == "capture"))
          verb += " " + object;
      }
      const std::string help = help_of(verb);
      EXPECT_NE(help.find("Usage"), std::string::npos) << row.number << ": weft " << command << "\n" << help;
      if (verb == "perftest" || verb == "nccl" || verb == "exec") continue;
      for (const std::string& option : weft::test::matches(command, R"((--[a-z][a-z-]+))", 1))
        EXPECT_NE(help.find(option), std::string::npos) << row.number << ": " << option << " of weft " << verb;
    }
  }
}

}  // namespace
