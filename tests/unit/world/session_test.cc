#include "world/session.h"

#include <gtest/gtest.h>

#include "results/results_json.h"
#include "support/fabric_lab.h"
#include "support/labs.h"
#include "workload/transfer/run.h"
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

// One flow alone, two together that count their start from its end, one alone again: in the order of the lab.
support::FabricLab groups(Time_ps second_ps) {
  support::FabricLab fabric = support::leaf_spine(2, 1, 4);
  const auto add = [&](const std::string& name, std::uint32_t from, std::optional<Time_ps> start_ps) {
    fabric.add_flows(name, {{from, 0, 500'000, 0, 0}});
    fabric.lab.workloads.back().start_ps = start_ps;
  };
  add("alone", 1, std::nullopt);
  add("first", 1, us(0));
  add("second", 2, second_ps);
  add("last", 1, std::nullopt);
  return fabric;
}
Time_ps fct_ps(const RunResult& result, std::size_t workload) {
  return result.workloads.at(workload).as<workload::FlowsOutcome>()->flows.at(0).row.fct_ps();
}

TEST(Session, GroupsOfTimedWorkloadsTakeTheirTurn) {
  const support::FabricLab beside = groups(us(10));
  const RunResult result = *run_lab(beside.lab, {});
  const Time_ps alone_ps = fct_ps(result, 0);
  EXPECT_EQ(fct_ps(result, 3), alone_ps);
  EXPECT_GT(fct_ps(result, 1), alone_ps + us(20)) << "beside the second";
  EXPECT_GT(fct_ps(result, 2), fct_ps(result, 1) - us(10));

  // After the first has ended; had the time counted from the start of the run, the end would be earlier.
  const support::FabricLab after = groups(ms(2));
  const RunResult later = *run_lab(after.lab, {});
  EXPECT_EQ(fct_ps(later, 1), alone_ps);
  EXPECT_EQ(fct_ps(later, 3), alone_ps);
  EXPECT_GT(later.end_ps, ms(2) + 3 * alone_ps + us(200));
  EXPECT_LT(later.end_ps, ms(3));
}

TEST(Session, GroupsKeepTheirResultsThroughPausesAndEnds) {
  support::FabricLab fabric = groups(us(10));
  const RunResult result = *run_lab(fabric.lab, {});
  const auto session = open(fabric.lab);
  for (Time_ps until_ps = us(7); session->advance_until(until_ps) == SessionState::kPaused;) until_ps += us(7);
  EXPECT_EQ(results_json(fabric.lab, session->finish()), results_json(fabric.lab, result));

  // Between two groups: what has not begun is no success.
  const Time_ps between_ps = fct_ps(result, 0) + us(50);
  const auto cancelled = open(fabric.lab);
  EXPECT_EQ(cancelled->advance_until(between_ps), SessionState::kPaused);
  cancelled->cancel();
  EXPECT_EQ(cancelled->advance_until(kNever_ps), SessionState::kCancelled);
  EXPECT_TRUE(cancelled->finish().interrupted);
  fabric.lab.duration_ps = between_ps;
  const RunResult cut = *run_lab(fabric.lab, {});
  EXPECT_TRUE(cut.cut_off);
  EXPECT_EQ(cut.workloads.at(0).as<workload::FlowsOutcome>()->summary.done, 1U);
  EXPECT_EQ(cut.workloads.at(1).as<workload::FlowsOutcome>()->summary.done, 0U);
}

// A snapshot is what a run that ends there leaves behind: the same JSON, but for the words that say that it was cut
// off.
TEST(Session, SnapshotsConvergeToResult) {
  support::FabricLab fabric = incast();
  const auto session = open(fabric.lab);
  std::uint64_t hops = 0, bytes = 0;
  int snapshots = 0;
  for (Time_ps until_ps = us(40); session->advance_until(until_ps) == SessionState::kPaused; until_ps += us(40)) {
    const RunResult so_far = session->snapshot();
    if (so_far.workloads.at(0).as<workload::FlowsOutcome>()->summary.unfinished == 0) continue;  // timers run out
    EXPECT_GT(so_far.hops, hops);
    EXPECT_EQ(so_far.end_ps, until_ps) << "what is stopped is so until then";
    EXPECT_TRUE(so_far.ledger_balances());
    const std::uint64_t now_B = so_far.ports.at(0).counters.priorities[3].rx.bytes;
    EXPECT_GT(now_B, bytes) << "the receiver of the incast";
    hops = so_far.hops;
    bytes = now_B;
    ++snapshots;
    Lab shorter = fabric.lab;
    shorter.duration_ps = until_ps;
    RunResult cut = *run_lab(shorter, {});
    EXPECT_TRUE(cut.cut_off);
    cut.cut_off = false;
    EXPECT_EQ(results_json(fabric.lab, so_far), results_json(fabric.lab, cut)) << until_ps;
  }
  EXPECT_GT(snapshots, 5);
  EXPECT_EQ(results_json(fabric.lab, session->finish()), results_json(fabric.lab, *run_lab(fabric.lab, {})));
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
  lab.workloads.push_back(support::perftest("again", support::write_bw(65536, 5000)));
  const auto session = open(lab);
  std::vector<Time_ps> times_ps;
  std::vector<std::string> workloads;
  int others = 0;
  session->subscribe([&](const SessionProgress& progress) {
    EXPECT_EQ(progress.now_ps, session->now_ps());
    times_ps.push_back(progress.now_ps);
    if (workloads.empty() || workloads.back() != progress.workload) workloads.push_back(progress.workload);
  });
  session->subscribe([&](const SessionProgress&) { ++others; });
  EXPECT_EQ(session->advance_until(kNever_ps), SessionState::kFinished);
  ASSERT_GT(times_ps.size(), 10U);
  EXPECT_EQ(others, static_cast<int>(times_ps.size())) << "each of them is called";
  for (std::size_t i = 1; i < times_ps.size(); ++i) EXPECT_GT(times_ps[i], times_ps[i - 1]);
  EXPECT_EQ(workloads, (std::vector<std::string>{"bw", "again"}));
  EXPECT_GT(times_ps.back(), session->finish().end_ps / 2);
}

// As `weft up` has it: nothing of the lab runs by itself, somebody from outside posts, and it never finishes.
TEST(Session, OpenEndedRunsUntilCancelled) {
  Lab lab = support::two_host_lab();
  lab.workloads.push_back(support::perftest("not-run", support::write_bw(65536, 5000)));
  lab.expectations.push_back({"not-run", "bw_average_Gbps", 1.0, std::nullopt});
  SessionOptions options;
  options.open_ended = true;
  const auto session = open(lab, options);
  std::vector<Time_ps> times_ps;
  session->subscribe([&](const SessionProgress& progress) {
    EXPECT_EQ(progress.workload, "");
    times_ps.push_back(progress.now_ps);
  });
  EXPECT_EQ(session->advance_until(ms(1)), SessionState::kPaused);
  EXPECT_EQ(session->advance_until(ms(1)), SessionState::kPaused) << "at rest it is not over";
  World& world = session->world();
  for (int round = 0; round < 2; ++round) {
    workload::TransferRun transfer({}, world.endpoint({0, 0, 0}, 0), world.endpoint({1, 0, 0}, 0), 1);
    transfer.start_phase(world.engine().horizon_ps());
    EXPECT_EQ(session->advance_until(kNever_ps), SessionState::kPaused);
    transfer.finish_phase(false);
    EXPECT_EQ(transfer.result().verified, 1U) << "packets carry their bytes";
    EXPECT_EQ(times_ps.back(), session->now_ps());
    const RunResult so_far = session->snapshot();
    EXPECT_TRUE(so_far.workloads.empty());
    EXPECT_EQ(so_far.end_ps, session->now_ps());
    EXPECT_EQ(so_far.ports.at(1).counters.rx_write_requests, round + 1U);
  }
  session->cancel();
  EXPECT_EQ(session->advance_until(kNever_ps), SessionState::kCancelled);
  EXPECT_TRUE(session->finish().expectations.empty());
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
