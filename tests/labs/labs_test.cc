// Every ready lab runs, meets its own expectations and balances its ledger; those of labs/ai in ai_labs_test.cc.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "labfile/reader.h"
#include "results/report.h"
#include "world/runner.h"

namespace {

using namespace weft;

// Those are run by `weft run` in tests/interop/program_workload_test.cc.
bool runs_programs(const std::filesystem::path& path) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.find("program:") != line.npos && !line.starts_with("#")) return true;
  }
  return false;
}

std::vector<std::string> lab_files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(std::string(WEFT_SOURCE_DIR) + "/labs")) {
    const bool is_ai = entry.path().parent_path().filename() == "ai";
    if (entry.path().extension() == ".yaml" && !is_ai && !runs_programs(entry.path()))
      files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

class ReadyLab : public testing::TestWithParam<std::string> {};

TEST_P(ReadyLab, RunsAndMeetsExpectations) {
  std::ifstream file(GetParam());
  std::ostringstream text;
  text << file.rdbuf();
  auto lab = lab::read_lab(text.str(), GetParam());
  if (!lab) {
    for (const lab::Problem& problem : lab.error()) ADD_FAILURE() << lab::format_problem(GetParam(), problem);
    return;
  }
  if (lab::first_outside(*lab) != nullptr) return;  // only a world in wall-clock mode has an outside
  EXPECT_FALSE(lab->workloads.empty()) << "a lab shows something";
  EXPECT_FALSE(lab->expectations.empty()) << "a lab says what is right";
  auto result = lab::run_lab(*lab, {});
  ASSERT_TRUE(result) << result.error();
  EXPECT_TRUE(result->ledger_balances());
  EXPECT_TRUE(result->expectations_met()) << lab::report(*lab, *result, {});
  // Within one node nothing is on a cable.
  if (!result->links.empty()) {
    EXPECT_GT(result->links.front().ledger.sent, 0U);
  }
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  // With its folder: two labs may have one name.
  const auto path = std::filesystem::relative(info.param, std::string(WEFT_SOURCE_DIR) + "/labs");
  std::string name = (path.parent_path() / path.stem()).string();
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Labs, ReadyLab, testing::ValuesIn(lab_files()), test_name);

TEST(ReadyLabs, AreComplete) {
  EXPECT_GE(lab_files().size(), 16U);
}

}  // namespace
