#include "world/session.h"

#include <gtest/gtest.h>

#include "results/results_json.h"
#include "support/fabric_lab.h"
#include "support/labs.h"
#include "world/runner.h"

namespace weft::lab {
namespace {

support::FabricLab incast() {
  support::FabricLab fabric = support::leaf_spine(2, 1, 4);
  fabric.add_flows("incast", support::incast_to(0, 8, 500'000));
  return fabric;
}

std::unique_ptr<Session> open(const Lab& lab, const SessionOptions& options = {}) {
  auto session = Session::open(lab, options);
  EXPECT_TRUE(session.has_value());
  return std::move(*session);
}

TEST(Session, PausesChangeNothing) {
  support::FabricLab fabric = incast();
  for (const bool sampled : {false, true}) {
    if (sampled) fabric.lab.sample_ps = us(3);
    const std::string whole = results_json(fabric.lab, *run_lab(fabric.lab, {}));
    for (const Time_ps step_ps : {us(1), us(7) + 1, us(50)}) {
      const auto session = open(fabric.lab);
      Time_ps until_ps = step_ps;
      int pauses = 0;
      while (session->advance_until(until_ps) == SessionState::kPaused) {
        EXPECT_LE(session->now_ps(), until_ps);
        until_ps += step_ps;
        ++pauses;
      }
      EXPECT_GT(pauses, 5);
      EXPECT_EQ(results_json(fabric.lab, session->finish()), whole) << step_ps;
    }
  }
}

TEST(Session, PausesBetweenWorkloadsInTurnChangeNothing) {
  Lab lab = support::two_host_lab();
  lab.workloads.push_back(support::perftest("first", support::write_bw(65536, 100)));
  lab.workloads.push_back(support::perftest("second", support::write_bw(1024, 100)));
  const std::string whole = results_json(lab, *run_lab(lab, {}));
  const auto session = open(lab);
  for (Time_ps until_ps = us(20); session->advance_until(until_ps) == SessionState::kPaused;) until_ps += us(20);
  EXPECT_EQ(results_json(lab, session->finish()), whole);
}

TEST(Session, SnapshotsConvergeToResult) {
  support::FabricLab fabric = incast();
  const auto session = open(fabric.lab);
  std::uint64_t hops = 0;
  for (Time_ps until_ps = us(40); session->advance_until(until_ps) == SessionState::kPaused; until_ps += us(40)) {
    const RunResult so_far = session->snapshot();
    EXPECT_GE(so_far.hops, hops);
    EXPECT_LT(so_far.end_ps, until_ps);
    EXPECT_TRUE(so_far.ledger_balances());
    hops = so_far.hops;
  }
  EXPECT_GT(hops, 0u);
  EXPECT_GE(session->finish().hops, hops);
  EXPECT_EQ(session->snapshot().hops, run_lab(fabric.lab, {})->hops);
}

TEST(Session, CancelEndsRunAndKeepsResults) {
  support::FabricLab fabric = incast();
  const auto session = open(fabric.lab);
  ASSERT_EQ(session->advance_until(us(60)), SessionState::kPaused);
  session->cancel();
  EXPECT_EQ(session->advance_until(kNever_ps), SessionState::kCancelled);
  EXPECT_EQ(session->advance_until(kNever_ps), SessionState::kCancelled) << "it stays so";
  const RunResult result = session->finish();
  EXPECT_TRUE(result.interrupted);
  EXPECT_GT(result.hops, 0u);
}

TEST(Session, SubscribersSeeProgress) {
  Lab lab = support::two_host_lab();
  lab.workloads.push_back(support::perftest("bw", support::write_bw(65536, 5000)));
  const auto session = open(lab);
  Time_ps last_ps = -1;
  std::string workload;
  session->subscribe([&](const SessionProgress& progress) {
    EXPECT_GT(progress.now_ps, last_ps);
    last_ps = progress.now_ps;
    workload = progress.workload;
  });
  EXPECT_EQ(session->advance_until(kNever_ps), SessionState::kFinished);
  EXPECT_EQ(workload, "bw");
  EXPECT_GT(last_ps, 0);
}

TEST(Session, EndsAtLabDuration) {
  support::FabricLab fabric = incast();
  fabric.lab.duration_ps = us(70);
  const auto session = open(fabric.lab);
  EXPECT_EQ(session->advance_until(us(50)), SessionState::kPaused);
  EXPECT_EQ(session->advance_until(us(90)), SessionState::kCutOff);
  EXPECT_EQ(session->finish().end_ps, us(70));
}

}  // namespace
}  // namespace weft::lab
