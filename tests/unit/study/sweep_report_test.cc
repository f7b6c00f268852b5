#include "study/sweep_report.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace weft::study {
namespace {

namespace fs = std::filesystem;

class SweepReportTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("weft-sweep-report-" + std::to_string(getpid()));
    fs::remove_all(root_);
    plan_.out = root_.string();
    plan_.lab_name = "x";
    plan_.axes = {{"a", {"1", "2", "3"}}};
    ASSERT_TRUE(make_cells(plan_));
  }
  void TearDown() override { fs::remove_all(root_); }

  // A run with a counter that results.json leaves out of its ports when it is 0.
  void finish(std::size_t index, int done, int cnps) {
    SweepCell& cell = plan_.cells[index];
    fs::create_directories(plan_.directory_of(cell));
    const std::string counters = cnps == 0 ? "" : "\"np_cnp_sent\": " + std::to_string(cnps);
    std::ofstream(plan_.directory_of(cell) + "/results.json")
        << R"({"lab": "x", "seed": 1, "workloads": [{"name": "w", "flows": {"done": )" << done
        << R"(, "same": 4}}], "ports": [{"name": "h0:p0", "hw_counters": {)" << counters
        << R"(}}], "expect": [{"what": "h0:p0.np_cnp_sent", "min": 2, "value": )" << cnps << R"(, "met": )"
        << (cnps >= 2 ? "true" : "false") << "}]}";
    cell.state = CellState::kDone;
  }

  fs::path root_;
  SweepPlan plan_;
};

TEST_F(SweepReportTest, ShowsExpectedPortCounterOfEveryRun) {
  finish(0, 1, 0);
  finish(1, 2, 3);
  const SweepFigures figures = SweepReader(plan_, {}).figures();
  ASSERT_FALSE(figures.names.empty());
  EXPECT_EQ(figures.names[0], "h0:p0.np_cnp_sent");
  EXPECT_EQ(figures.values[0][0], 0.0);
  EXPECT_EQ(figures.values[1][0], 3.0);
  EXPECT_EQ(figures.values[2][0], std::nullopt);  // has not run
  EXPECT_EQ(figures.met, (std::vector<bool>{false, true, false}));
}

TEST_F(SweepReportTest, LeavesOutEqualFigures) {
  finish(0, 1, 2);
  finish(1, 5, 2);
  const auto names = [&](AskedFigures asked) { return SweepReader(plan_, std::move(asked)).figures().names; };
  EXPECT_EQ(names({}), (std::vector<std::string>{"h0:p0.np_cnp_sent", "w.done"}));
  EXPECT_EQ(names({{"w.same"}, {}}), (std::vector<std::string>{"h0:p0.np_cnp_sent", "w.same", "w.done"}));
}

TEST_F(SweepReportTest, MissingCounterIsZero) {
  finish(0, 1, 2);
  const SweepFigures figures = SweepReader(plan_, {{"h1:p0.np_cnp_sent"}, {"h1:p0.np_cnp_sent"}}).figures();
  ASSERT_EQ(figures.names.size(), 2u);
  EXPECT_EQ(figures.names[1], "h1:p0.np_cnp_sent");
  EXPECT_EQ(figures.values[0][1], 0.0);
}

TEST_F(SweepReportTest, ReadsEachRunOnce) {
  SweepReader reader(plan_, {});
  finish(0, 1, 0);
  EXPECT_EQ(reader.figures().names.size(), 1u);
  fs::remove_all(plan_.directory_of(plan_.cells[0]));
  finish(1, 7, 5);
  const SweepFigures figures = reader.figures();
  EXPECT_EQ(figures.values[0][0], 0.0) << "what was read is kept";
  EXPECT_EQ(figures.values[1][0], 5.0);
  EXPECT_NE(std::find(figures.names.begin(), figures.names.end(), "w.done"), figures.names.end());
}

}  // namespace
}  // namespace weft::study
