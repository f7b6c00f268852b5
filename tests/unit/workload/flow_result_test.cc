#include "spec/flow_result.h"

#include <gtest/gtest.h>

#include "workload/flow/summary.h"

namespace weft::workload {
namespace {

FlowRow row(std::uint64_t size_B, Time_ps start_ps, Time_ps end_ps, FlowState state = FlowState::kDone) {
  FlowRow result;
  result.size_B = size_B;
  result.start_ps = start_ps;
  result.end_ps = end_ps;
  result.state = state;
  return result;
}

TEST(FlowResult, SummaryByHand) {
  std::vector<FlowRow> rows = {
      row(1000, us(1), us(2)),   // 1 us, 8 Gb/s
      row(1000, us(1), us(3)),   // 2 us, 4 Gb/s
      row(4000, us(2), us(10)),  // 8 us, 4 Gb/s
      row(9999, us(2), us(90), FlowState::kFailed),
      row(9999, us(2), 0, FlowState::kRunning),
      row(9999, us(50), 0, FlowState::kWaiting),
  };
  FlowSummary summary = summarise(rows);
  EXPECT_EQ(summary.done, 3U);
  EXPECT_EQ(summary.failed, 1U);
  EXPECT_EQ(summary.unfinished, 2U);
  EXPECT_EQ(summary.bytes_done_B, 6000U);
  EXPECT_EQ(summary.last_end_ps, us(10));
  EXPECT_DOUBLE_EQ(summary.goodput_bps, 48'000 / 9e-6);
  EXPECT_EQ(summary.fct_p50_ps, us(2));
  EXPECT_EQ(summary.fct_p99_ps, us(8));
  EXPECT_EQ(summary.fct_p999_ps, us(8));
  EXPECT_EQ(summary.fct_max_ps, us(8));
  EXPECT_DOUBLE_EQ(summary.jain, 16.0 * 16 / (3 * 96));
  EXPECT_EQ(summary.slowdown_p50, 0);
}

TEST(FlowResult, NoFlowCompleted) {
  std::vector<FlowRow> rows = {row(1, 0, us(1), FlowState::kFailed)};
  FlowSummary summary = summarise(rows);
  EXPECT_EQ(summary.failed, 1U);
  EXPECT_EQ(summary.goodput_bps, 0);
  EXPECT_EQ(summarise({}).unfinished, 0U);
}

}  // namespace
}  // namespace weft::workload
