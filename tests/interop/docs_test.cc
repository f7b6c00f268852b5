// The commands that the documentation shows are run as they stand. A fenced block marked `sh` is one bash script, run
// in a folder that has `labs` and `build` as the repository has, with `weft` in the path; so is an inline command that
// names a lab. A block with commands that cannot run here says why in the line before it: <!-- not run: the reason -->.
// A block behind the line <!-- output --> is what the script before it prints; WEFT_REGENERATE=1 writes it anew.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "support/matching.h"

namespace {

namespace fs = std::filesystem;

struct Script {
  std::string name;  // docs/live.md:4
  std::string text;
  std::string not_run;  // the reason
  bool runs = false;
  std::string printed{};  // the block behind <!-- output -->
  bool has_output = false;
};

void PrintTo(const Script& script, std::ostream* out) {
  *out << script.name;
}

bool has_command(const std::string& line) {
  return !weft::test::match(line, R"(^\s*([A-Z_]+=\S+ )*(\./run|(build/)?weft [a-z]))").empty();
}

// A ready lab as it is: labs_test runs them all, program_workload_test and fabric_sockets_test those with programs.
bool is_run_elsewhere(const std::string& command) {
  const auto lab = weft::test::match(command, R"(^weft run (labs/[a-z0-9/-]+\.yaml)$)");
  return !lab.empty() && fs::exists(std::string(WEFT_SOURCE_DIR) + "/" + lab[1]);
}

void read_scripts(const fs::path& file, std::vector<Script>& scripts) {
  std::ifstream in(file);
  std::string line, fence, note;
  Script block;
  bool sample = false, output = false;
  for (int number = 1; std::getline(in, line); ++number) {
    std::string place = fs::relative(file, WEFT_SOURCE_DIR).string() + ":" + std::to_string(number);
    sample = (sample || line.starts_with("<!-- sample:")) && !line.starts_with("<!-- /sample:");
    if (sample) continue;  // output, which labs_test compares
    if (fence.empty() && line.starts_with("```")) {
      fence = line;
      block = {place, "", note, line == "```sh"};
      block.has_output = output;
    } else if (!fence.empty() && line == "```") {
      fence.clear();
      note.clear();
      output = false;
      if (block.has_output) {
        if (scripts.empty()) continue;
        scripts.back().has_output = true;
        scripts.back().printed = block.text;
        continue;
      }
      std::istringstream lines(block.text);
      bool commands = false;
      for (std::string each; std::getline(lines, each);) commands = commands || has_command(each);
      if (commands || block.runs) scripts.push_back(block);
    } else if (!fence.empty()) {
      block.text += line + "\n";
    } else if (auto reason = weft::test::match(line, "^<!-- not run: (.+) -->$"); !reason.empty()) {
      note = reason[1];
    } else if (line == "<!-- output -->") {
      output = true;
    } else {
      note.clear();
      for (const std::string& command : weft::test::matches(line, R"(`(weft [a-z]+ labs/[a-z0-9/-]+\.yaml[^`]*)`)", 1))
        if (!is_run_elsewhere(command)) scripts.push_back({place, command + "\n", "", true});
    }
  }
}

std::vector<Script> all_scripts() {
  std::vector<fs::path> files = {WEFT_SOURCE_DIR "/README.md"};
  for (const auto& entry : fs::recursive_directory_iterator(WEFT_SOURCE_DIR "/docs"))
    if (entry.path().extension() == ".md") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<Script> scripts;
  for (const fs::path& file : files) read_scripts(file, scripts);
  // A command that several places show is run once.
  std::set<std::string> texts;
  std::erase_if(scripts, [&](const Script& each) { return each.runs && !texts.insert(each.text).second; });
  return scripts;
}

void expect_printed(const Script& script, const std::string& now) {
  const std::string path = std::string(WEFT_SOURCE_DIR) + "/" + script.name.substr(0, script.name.find(':'));
  if (std::getenv("WEFT_REGENERATE") != nullptr && now != script.printed) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    std::string page = text.str();
    const std::string before = script.text + "```\n\n<!-- output -->\n```\n";
    ASSERT_NE(page.find(before + script.printed), page.npos) << script.name;
    std::ofstream(path) << page.replace(page.find(before) + before.size(), script.printed.size(), now);
  }
  EXPECT_EQ(script.printed, now) << script.name << ": WEFT_REGENERATE=1 build/docs_test writes it anew";
}

class Docs : public testing::TestWithParam<Script> {};

TEST_P(Docs, CommandsRun) {
  const Script& script = GetParam();
  if (!script.runs) {
    EXPECT_FALSE(script.not_run.empty()) << script.name << ": mark this block ```sh, or say why it is not run";
    return;
  }
  std::string directory = testing::TempDir() + "weft-docs-XXXXXX";
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  fs::create_directory(directory + "/run");
  fs::permissions(directory + "/run", fs::perms::owner_all);
  fs::create_directory_symlink(WEFT_SOURCE_DIR "/labs", directory + "/labs");
  fs::create_directory_symlink(fs::path(WEFT_BINARY).parent_path(), directory + "/build");
  std::ofstream(directory + "/script")
      << "set -eu\nexport XDG_RUNTIME_DIR=$PWD/run PATH=$PWD/build:$PATH\n"
         "end() { for world in run/weft/*/; do weft down \"$(basename \"$world\")\"; done; }\n"
         "trap 'end >/dev/null 2>&1 || true' EXIT\n"
      << script.text << "for job in $(jobs -p); do wait $job; done\n";
  int status = std::system(("cd " + directory + " && timeout 120 bash script >out 2>&1").c_str());
  std::ifstream out(directory + "/out");
  const std::string now((std::istreambuf_iterator<char>(out)), {});
  EXPECT_EQ(status, 0) << script.name << ":\n" << script.text << "printed\n" << now;
  if (script.has_output) expect_printed(script, now);
  fs::remove_all(directory);
}

std::string test_name(const testing::TestParamInfo<Script>& info) {
  std::string name = info.param.name;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name + "_" + std::to_string(info.index);
}
INSTANTIATE_TEST_SUITE_P(All, Docs, testing::ValuesIn(all_scripts()), test_name);

TEST(DocsText, HasCommands) {
  auto scripts = all_scripts();
  auto run = std::count_if(scripts.begin(), scripts.end(), [](const Script& each) { return each.runs; });
  EXPECT_GE(run, 6);
}

}  // namespace
