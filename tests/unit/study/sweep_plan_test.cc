#include "study/sweep_plan.h"

#include <gtest/gtest.h>

namespace weft::study {
namespace {

TEST(SweepPlan, CommasInBracketsBelongToValue) {
  const auto axis = parse_axis("qos.queues={3: {ecn: off, dscp: [1, 2]}}, {}, '1, 2'");
  ASSERT_TRUE(axis) << axis.error().message;
  EXPECT_EQ(axis->path, "qos.queues");
  EXPECT_EQ(axis->values, (std::vector<std::string>{"{3: {ecn: off, dscp: [1, 2]}}", "{}", "'1, 2'"}));
}

TEST(SweepPlan, RejectsWrongAxes) {
  for (const char* text : {"", "path", "=1,2", "a=1,,2", "a=", "a={1", "a='x"}) EXPECT_FALSE(parse_axis(text)) << text;
}

TEST(SweepPlan, LastAxisChangesFirst) {
  SweepPlan plan;
  plan.axes = {{"a", {"1", "2"}}, {"b", {"x", "y", "z"}}};
  plan.set = {"seed=1"};
  ASSERT_TRUE(make_cells(plan));
  ASSERT_EQ(plan.cells.size(), 6u);
  EXPECT_EQ(plan.set_of(plan.cells[4]), (std::vector<std::string>{"seed=1", "a=2", "b=y"}));
  EXPECT_EQ(plan.cells[4].name, "cell-005");
}

TEST(SweepPlan, RejectsTooManyAndTwice) {
  SweepPlan plan;
  EXPECT_FALSE(make_cells(plan));
  plan.axes = {{"a", {"1"}}, {"a", {"2"}}};
  EXPECT_FALSE(make_cells(plan));
  plan.axes = {{"a", std::vector<std::string>(101, "1")}, {"b", std::vector<std::string>(101, "1")}};
  EXPECT_FALSE(make_cells(plan));
}

}  // namespace
}  // namespace weft::study
