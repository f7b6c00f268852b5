// One planted fault in each capture: the analyzer names it first, and nothing that does not follow from it. Nothing at
// all in healthy captures.
#include <gtest/gtest.h>

#include <algorithm>

#include "analyze/doc_examples.h"
#include "analyze/planted_run.h"

namespace weft::planted {
namespace {

bool contains(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string case_name(const testing::TestParamInfo<PlantedCase>& info) {
  return info.param.name;
}

std::string words_of_first(const AnalyzeRun& run) {
  const auto& first = run.json.at("findings").at(0);
  std::string text = first.at("what").get<std::string>() + "\n" + first.at("cause").get<std::string>();
  for (const auto& remedy : first.at("remedies"))
    text += "\n" + remedy.at("where").get<std::string>() + ": " + remedy.at("command").get<std::string>();
  return text;
}

class PlantedFaults : public testing::TestWithParam<PlantedCase> {};

TEST_P(PlantedFaults, NamedFirst) {
  const PlantedCase& row = GetParam();
  PlantedRun run;
  make_capture(row, run);
  if (HasFatalFailure()) return;
  const AnalyzeRun analysis = analyze(row, run);
  ASSERT_FALSE(analysis.json.is_discarded()) << analysis.output;
  const Named names = named(analysis);
  const std::string all = joined(names.findings) + "; notes: " + joined(names.notes);
  EXPECT_EQ(analysis.status, 1);
  ASSERT_FALSE(names.findings.empty()) << "nothing found, " << row.first << " expected; " << all;
  EXPECT_EQ(names.findings.front(), row.first) << all;
  for (const std::string& each : row.found)
    EXPECT_TRUE(contains(names.findings, each) || contains(names.notes, each)) << each << " is missing: " << all;
  for (const std::string& each : names.findings)
    EXPECT_TRUE(each == row.first || contains(row.found, each) || contains(row.also, each))
        << each << " does not follow from the fault: " << all;
  const std::string words = words_of_first(analysis);
  for (const std::string& each : row.says) EXPECT_NE(words.find(each), words.npos) << each << " is missing: " << words;
  for (const std::string& each : row.says_not) EXPECT_EQ(words.find(each), words.npos) << each << " is said: " << words;
  for (const DocExample& example : doc_examples())
    if (example.row == row.name) expect_printed(example, analyze_text(row, run));
}

INSTANTIATE_TEST_SUITE_P(Analyze, PlantedFaults, testing::ValuesIn(all_planted_faults()), case_name);

class HealthyCaptures : public testing::TestWithParam<PlantedCase> {};

TEST_P(HealthyCaptures, GiveNoFinding) {
  const PlantedCase& row = GetParam();
  PlantedRun run;
  make_capture(row, run);
  if (HasFatalFailure()) return;
  const AnalyzeRun analysis = analyze(row, run);
  ASSERT_FALSE(analysis.json.is_discarded()) << analysis.output;
  const Named names = named(analysis);
  EXPECT_EQ(joined(names.findings), "");
  EXPECT_EQ(analysis.status, 0);
  for (const std::string& each : row.found)
    EXPECT_TRUE(contains(names.notes, each)) << each << " is missing: " << joined(names.notes);
}

INSTANTIATE_TEST_SUITE_P(Analyze, HealthyCaptures, testing::ValuesIn(healthy_captures()), case_name);

}  // namespace
}  // namespace weft::planted
