// N senders of src/nic/congestion/dcqcn.cc at one marking queue against the fixed point of docs/mechanisms/dcqcn.md.
#include <gtest/gtest.h>

#include <initializer_list>

#include "support/dcqcn_bottleneck.h"

namespace weft::nic {
namespace {

using support::BottleneckResult;
using support::BottleneckRun;
using support::DcqcnLink;

DcqcnLink ramp(double kmax_B, double pmax) {
  DcqcnLink link;
  link.kmax_B = kmax_B;
  link.pmax = pmax;
  return link;
}

BottleneckResult simulate(const DcqcnLink& link, int flows, bool mark_at_enqueue = false) {
  BottleneckRun run;
  run.flows = flows;
  run.mark_at_enqueue = mark_at_enqueue;
  run.settle_ps = ms(300);
  run.measure_ps = ms(1000);
  return support::run_bottleneck(link, dcqcn_paper(), run);
}

// The equations solved by a second program, of which only these numbers are kept.
TEST(DcqcnFixedPoint, SolversAgreeWithReferenceValues) {
  const DcqcnLink link;
  EXPECT_NEAR(support::fluid_fixed_point(link, 2).p, 0.000796, 1e-6);
  EXPECT_NEAR(support::fluid_fixed_point(link, 10).p, 0.006176, 1e-6);
  EXPECT_NEAR(support::fluid_fixed_point(link, 10).alpha, 0.153, 1e-3);
  EXPECT_NEAR(support::cycle_fixed_point(link, 2).p, 0.001002, 1e-6);
  EXPECT_NEAR(support::cycle_fixed_point(link, 10).p, 0.007818, 1e-6);
  EXPECT_NEAR(support::cycle_fixed_point(link, 10).alpha, 0.1635, 1e-4);
  EXPECT_NEAR(support::cycle_fixed_point(link, 10).current_bps, 4e9, 1e3);
}

void expect_fixed_point(const DcqcnLink& link, int flows) {
  const auto point = support::cycle_fixed_point(link, flows);
  const BottleneckResult measured = simulate(link, flows);
  EXPECT_NEAR(measured.queue_B / point.queue_B, 1, 0.10) << flows << " flows, " << point.queue_B << " B expected";
  EXPECT_NEAR(measured.cnp_per_s / point.cnp_per_s, 1, 0.06) << flows;
  EXPECT_NEAR(measured.lowest_bps / point.current_bps, 1, 0.10) << flows;
  EXPECT_NEAR(measured.highest_bps / point.current_bps, 1, 0.10) << flows;
  EXPECT_GT(measured.total_bps, 0.997 * link.capacity_bps) << flows;
}

void expect_fixed_points(const DcqcnLink& link, std::initializer_list<int> flow_counts) {
  for (const int flows : flow_counts) expect_fixed_point(link, flows);
}

TEST(DcqcnFixedPoint, PaperRampHoldsTwoToTenFlows) {
  expect_fixed_points(ramp(200e3, 0.01), {2, 6, 10});
}

TEST(DcqcnFixedPoint, RampOfDoubleLengthHoldsMoreFlows) {
  expect_fixed_points(ramp(400e3, 0.02), {2, 12, 16});
}

TEST(DcqcnFixedPoint, LongFlatRampHoldsSixtyFourFlows) {
  expect_fixed_points(ramp(3200e3, 0.1), {2, 16, 64});
}

// Why the cycle model exists: the fluid model's queue is a fifth and more too short where the ramp is not yet its
// limit.
TEST(DcqcnFixedPoint, FluidModelIsTooLow) {
  for (int flows : {3, 6}) {
    const double ratio = simulate(DcqcnLink{}, flows).queue_B / support::fluid_fixed_point(DcqcnLink{}, flows).queue_B;
    EXPECT_GT(ratio, 1.15) << flows;
    EXPECT_LT(ratio, 1.40) << flows;
  }
}

// Beyond the ramp there is no fixed point; the queue stays under the wall at Kmax and the link stays full.
TEST(DcqcnFixedPoint, QueueStaysNearKmaxBeyondRamp) {
  const DcqcnLink link;
  EXPECT_GT(support::cycle_fixed_point(link, 16).p, link.pmax);
  const BottleneckResult measured = simulate(link, 16);
  EXPECT_LT(measured.queue_B, link.kmax_B);
  EXPECT_GT(measured.queue_B, 0.85 * link.kmax_B);
}

// A mark set on arrival waits out the queue before the sender is notified: past Kmax every flow is cut again and again
// for what is already gone, and the queue swings between the ends.
TEST(DcqcnFixedPoint, MarkingAtEnqueueOscillatesAtKmax) {
  const DcqcnLink link;
  const BottleneckResult at_enqueue = simulate(link, 10, true);
  const BottleneckResult at_dequeue = simulate(link, 10);
  EXPECT_GT(at_enqueue.deviation_B, 1.5 * at_dequeue.deviation_B);
  EXPECT_LT(at_enqueue.total_bps, 0.99 * link.capacity_bps);
}

}  // namespace
}  // namespace weft::nic
