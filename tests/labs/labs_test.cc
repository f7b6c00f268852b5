// Every ready lab runs, meets its own expectations and balances its ledger; those of labs/ai in ai_labs_test.cc.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

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

// Labs from before the rule, whose names tables and other tests quote. None is added; one that follows the rule leaves
// the list.
const std::set<std::string> kOwnNames = {
    "dgx-spark",
    "fabric/cnp-scope",
    "fabric/loss-rate",
    "fabric/wrong-dscp-map",
    "forwarder/bridge-rx-ring",
    "host/read-request-size",
    "live/e810-and-cx6",
    "measured/cx5-ingress-loss",
    "measured/cx5-rig",
    "measured/m13-bf3-vf",
    "measured/m7-loopback-cx5",
};

// Hosts that run workloads are numbered from 0, by one of these (docs/labs.md). Machines of guests, forwarders and what
// is outside have names of their own.
bool follows_rule(const lab::Lab& lab) {
  std::set<std::string> names;
  std::set<std::uint32_t> machines;
  for (const lab::HostConfig& host : lab.hosts) {
    if (host.vm) machines.insert(host.vm->host);
  }
  for (std::uint32_t h = 0; h < lab.hosts.size(); ++h) {
    if (!machines.contains(h) && !lab.hosts[h].outside) names.insert(lab.hosts[h].name);
  }
  for (const std::string stem : {"h", "n", "node0", "vm0"}) {
    std::set<std::string> numbered;
    for (std::size_t i = 0; i < names.size(); ++i) numbered.insert(stem + std::to_string(i));
    if (numbered == names) return true;
  }
  return false;
}

TEST(ReadyLabs, HostNamesFollowOnePattern) {
  const std::string folder = std::string(WEFT_SOURCE_DIR) + "/labs";
  std::set<std::string> others;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".yaml") continue;
    std::ifstream file(entry.path());
    std::ostringstream text;
    text << file.rdbuf();
    const auto lab = lab::read_lab(text.str(), entry.path().string());
    const auto path = std::filesystem::relative(entry.path(), folder);
    ASSERT_TRUE(lab) << path;
    if (!follows_rule(*lab)) others.insert((path.parent_path() / path.stem()).string());
  }
  EXPECT_EQ(others, kOwnNames);
}

TEST(ReadyLabs, AreComplete) {
  EXPECT_GE(lab_files().size(), 16U);
}

}  // namespace
