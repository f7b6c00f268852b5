#include "study/sweep_run.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "study/sweep_report.h"
#include "study/sweep_resume.h"

namespace weft::study {
namespace {

namespace fs = std::filesystem;

// Cells are run by a script in place of weft: "run LAB --out DIR --set a=N …" leaves the results of a run behind.
class SweepRunTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("weft-sweep-" + std::to_string(getpid()));
    fs::remove_all(root_);
    fs::create_directories(root_ / "out");
    std::ofstream(root_ / "weft") << R"(#!/bin/sh
out=$4 set=$6
case $set in
  a=2) echo "lab.yaml:1: wrong" >&2; exit 2;;
  a=3) kill -9 $$;;
esac
mkdir -p "$out"
printf 'version: 1\n' > "$out/lab.yaml"
touch "$out/report.md"
[ "$set" = a=5 ] || touch "$out/results.sqlite"
printf '{"lab": "x", "seed": 1, "set": ["%s"], "workloads": [{"name": "w", "flows": {"done": %s}}]}' "$set" "${set#a=}" > "$out/results.json"
echo run >> "$out/count"
)";
    fs::permissions(root_ / "weft", fs::perms::owner_all);
    plan_.lab_text = "version: 1\n";
    plan_.lab_path = "lab.yaml";
    plan_.out = (root_ / "out").string();
    plan_.axes = {{"a", {"1", "2", "3", "4"}}};
    ASSERT_TRUE(make_cells(plan_));
    options_.program = (root_ / "weft").string();
    options_.at_once = 3;
  }
  void TearDown() override { fs::remove_all(root_); }

  fs::path root_;
  SweepPlan plan_;
  SweepOptions options_;
};

TEST_F(SweepRunTest, FailuresStayInTheirCells) {
  run_cells(plan_, options_);
  EXPECT_EQ(plan_.cells[0].state, CellState::kDone);
  EXPECT_EQ(plan_.cells[1].state, CellState::kFailed);
  EXPECT_EQ(plan_.cells[1].problem, "lab.yaml:1: wrong");
  EXPECT_EQ(plan_.cells[2].problem, "ended by signal 9");
  EXPECT_EQ(plan_.cells[3].state, CellState::kDone);
}

TEST_F(SweepRunTest, RunWithoutAllFilesHasFailed) {
  plan_.axes = {{"a", {"1", "5"}}};
  ASSERT_TRUE(make_cells(plan_));
  run_cells(plan_, options_);
  EXPECT_EQ(plan_.cells[0].state, CellState::kDone);
  EXPECT_EQ(plan_.cells[1].state, CellState::kFailed);
  EXPECT_EQ(find_done(plan_), 1u);
}

TEST_F(SweepRunTest, FinishedCellsAreNotRunAgain) {
  run_cells(plan_, options_);
  SweepPlan again = plan_;
  ASSERT_TRUE(make_cells(again));
  EXPECT_EQ(find_done(again), 2u);
  run_cells(again, options_);
  std::ifstream count(again.directory_of(again.cells[0]) + "/count");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(count), {}), "run\n");
  // Of another lab, nothing is done.
  ASSERT_TRUE(make_cells(again));
  again.lab_text = "version: 1\nname: y\n";
  EXPECT_EQ(find_done(again), 0u);
}

TEST_F(SweepRunTest, KeepsSweepOfOtherValues) {
  plan_.lab_name = "x";
  EXPECT_FALSE(other_sweep(plan_));
  run_cells(plan_, options_);
  std::ofstream(root_ / "out/sweep.json") << sweep_json(plan_, SweepReader(plan_, {}).figures());
  EXPECT_FALSE(other_sweep(plan_)) << "the same sweep goes on";
  const auto with = [&](const std::function<void(SweepPlan&)>& change) {
    SweepPlan plan = plan_;
    change(plan);
    EXPECT_TRUE(make_cells(plan));
    return other_sweep(plan).has_value();
  };
  EXPECT_FALSE(with([](SweepPlan& plan) { plan.axes[0].values.push_back("9"); })) << "more cells";
  EXPECT_TRUE(with([](SweepPlan& plan) { plan.axes[0].values.pop_back(); }));
  EXPECT_TRUE(with([](SweepPlan& plan) { plan.axes[0].values[0] = "9"; }));
  EXPECT_TRUE(with([](SweepPlan& plan) { plan.axes[0].path = "b"; }));
  EXPECT_TRUE(with([](SweepPlan& plan) { plan.set = {"c=1"}; }));
  EXPECT_TRUE(with([](SweepPlan& plan) { plan.seed = 7; }));
  EXPECT_TRUE(with([](SweepPlan& plan) { plan.lab_name = "y"; }));
  for (const char* text :
       {"{}", "{\"vary\": 3}", "[1]", "{\"lab\": \"x\", \"set\": [], \"vary\": [{\"path\": \"a\"}]}"}) {
    std::ofstream(root_ / "out/sweep.json") << text;
    EXPECT_EQ(other_sweep(plan_).has_value(), text[0] == '{') << text;
  }
}

TEST_F(SweepRunTest, CellOfAnotherLabHasFailed) {
  plan_.lab_text = "version: 1\nname: before\n";
  run_cells(plan_, options_);
  EXPECT_EQ(plan_.cells[0].state, CellState::kFailed);
  EXPECT_EQ(plan_.cells[0].problem, "lab.yaml was changed during the sweep");
}

TEST_F(SweepRunTest, CancelledSweepStartsNothing) {
  std::atomic<bool> cancel{true};
  options_.cancel = &cancel;
  run_cells(plan_, options_);
  for (const SweepCell& cell : plan_.cells) EXPECT_EQ(cell.state, CellState::kWaits);
}

TEST_F(SweepRunTest, MissingProgramFailsCells) {
  options_.program = (root_ / "missing").string();
  run_cells(plan_, options_);
  for (const SweepCell& cell : plan_.cells) EXPECT_EQ(cell.state, CellState::kFailed);
}

}  // namespace
}  // namespace weft::study
