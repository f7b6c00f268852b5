// LAGs: equal transfers over parallel links against the mean over all deals of a hash, members that fail, policies.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "results/counters/lag_results.h"
#include "support/lab_tables.h"
#include "tools/perftest/report.h"

namespace {

using namespace weft;
using namespace weft::support;

constexpr double kPart_B = 5e6;
const std::vector<std::string> kSmall = {"workloads[parts].size=5 MB"};

// Mean of the largest of `bins` when `balls` are thrown: over all ways to throw them.
double mean_fullest(int balls, int bins) {
  std::map<std::vector<int>, double> ways = {{std::vector<int>(static_cast<std::size_t>(bins)), 1.0}};
  for (int i = 0; i < balls; ++i) {
    std::map<std::vector<int>, double> next;
    for (const auto& [counts, share] : ways) {
      for (std::size_t bin = 0; bin < counts.size(); ++bin) {
        std::vector<int> more = counts;
        ++more[bin];
        std::sort(more.begin(), more.end());
        next[more] += share / bins;
      }
    }
    ways = std::move(next);
  }
  double mean = 0;
  for (const auto& [counts, share] : ways) mean += counts.back() * share;
  return mean;
}

const lab::LagDirection& leaving(const std::vector<lab::LagDirection>& all, const std::string& from) {
  for (const lab::LagDirection& each : all) {
    if (each.from == from) return each;
  }
  ADD_FAILURE() << "no LAG leaves " << from;
  return all.front();
}

// Parts that the members carried, from their counters.
std::vector<int> parts_of(const Played& played) {
  const auto all = lab::lag_directions(*played.lab, played.result);
  const lab::LagDirection& lag = leaving(all, "leaf0");
  const double part_B = static_cast<double>(lag.bytes()) / 8;
  std::vector<int> parts;
  for (const lab::LagMember& member : lag.members)
    parts.push_back(static_cast<int>(std::lround(static_cast<double>(member.bytes) / part_B)));
  return parts;
}

double last_us(const Played& played) {
  double last = 0;
  for (const lab::FlowOutcome& flow : played.flows()) last = std::max(last, in_us(flow.row.fct_ps()));
  return last;
}

// Each draw takes as many line times as its fullest link has flows, and over draws that is the mean of `weft plan
// uplink --streams 8 --nics 4`: 3.54 of 8 parts on 4 links, so that 1 TB takes 35.4 s.
TEST(Lag, FullestLinkDecides) {
  constexpr int kDraws = 64;
  const double part_us = line_time_us(kPart_B, 100);
  double sum = 0, squares = 0;
  for (int draw = 1; draw <= kDraws; ++draw) {
    auto sets = kSmall;
    sets.push_back(fmt::format("routing={{hash_seed: {}}}", draw));
    const Played played = play("lag", sets);
    const std::vector<int> parts = parts_of(played);
    ASSERT_EQ(parts.size(), 4U);
    EXPECT_EQ(parts[0] + parts[1] + parts[2] + parts[3], 8) << draw;
    const int fullest = *std::max_element(parts.begin(), parts.end());
    EXPECT_NEAR(last_us(played) / part_us, fullest, 0.03 * fullest) << draw;
    EXPECT_EQ(played.lost(), 0U);
    sum += fullest;
    squares += fullest * fullest;
  }
  const double mean = sum / kDraws;
  const double error = std::sqrt((squares / kDraws - mean * mean) / kDraws);
  EXPECT_NEAR(mean_fullest(8, 4), 3.54, 0.005);
  EXPECT_NEAR(mean, mean_fullest(8, 4), 3 * error);
}

TEST(Lag, SameOnTwoCores) {
  const std::vector<std::string> tiny = {"workloads[parts].size=1 MB"};
  EXPECT_EQ(tables(play("lag", tiny)), tables(play("lag", tiny, 2)));
}

// A member without a signal has none of the flows from then on, and the others carry what it had; routes do not change
// while one is left, so that nothing waits for `convergence`.
TEST(Lag, MemberThatFailsGivesItsFlows) {
  const Played whole = play("lag", kSmall);
  const std::vector<int> before = parts_of(whole);
  const auto full = static_cast<std::size_t>(std::max_element(before.begin(), before.end()) - before.begin());
  auto sets = kSmall;
  sets.push_back(
      fmt::format("faults=[{{link: \"leaf0:swp{}\", both_directions: true, action: cut, start: 100 us}}]", 29 + full));
  sets.push_back("routing={convergence: 1 s}");
  const Played cut = play("lag", sets);
  for (const lab::FlowOutcome& flow : cut.flows()) EXPECT_EQ(flow.row.state, workload::FlowState::kDone) << flow.from;
  EXPECT_LT(last_us(cut), 100'000) << "no flow waited for the routes";
  const auto all = lab::lag_directions(*cut.lab, cut.result);
  const lab::LagDirection& lag = leaving(all, "leaf0");
  const double at_most_B = 100e9 / 8 * 101e-6;
  EXPECT_LT(static_cast<double>(lag.members[full].bytes), at_most_B);
  EXPECT_GT(lag.bytes(), 8 * static_cast<std::uint64_t>(kPart_B));
}

// The leaves have hosts of their own subnets, so that nothing but the LAG joins them.
TEST(Lag, AllMembersDown) {
  auto sets = kSmall;
  std::string faults;
  for (int port = 29; port <= 32; ++port)
    faults += fmt::format("{}{{link: \"leaf0:swp{}\", both_directions: true, action: cut, start: 100 us, end: 300 us}}",
                          faults.empty() ? "" : ", ", port);
  sets.push_back("faults=[" + faults + "]");
  sets.push_back("routing={convergence: 10 us}");
  const Played cut = play("lag", sets);
  for (const lab::FlowOutcome& flow : cut.flows()) EXPECT_EQ(flow.row.state, workload::FlowState::kDone) << flow.from;
  EXPECT_GT(cut.lost(fabric::Fate::kNoRoute), 0U);
}

double bandwidth_Gbps(const Played& played, std::size_t number) {
  const lab::WorkloadOutcome& outcome = played.result.workloads[number];
  const auto* options = outcome.config->as<workload::PerftestOptions>();
  return workload::perftest_numbers(*options, outcome.as<workload::PerftestResult>()->rows.front()).bw_average_Gbps;
}

// One queue pair stays on one member. Of eight, each posts as many messages, so that the member with most of them
// decides: 8 parts of the work at 25G / fullest.
TEST(Lag, QueuePairsSpreadOverMembers) {
  const auto alone = [](const std::string& more, const std::string& policy) {
    return play("lag-programs", {fmt::format("workloads=[{{name: w, perftest: write_bw, client: h0, server: h1, args: "
                                             "--report_gbits -n 1000{}}}]",
                                             more),
                                 fmt::format("routing={{lag_hash: {}}}", policy),
                                 "qos={profile: roce-lossless, queues: {3: {ecn: off}}}", "expect={}"});
  };
  constexpr double kMember_Gbps = 24.51;  // framing of 25G
  EXPECT_NEAR(bandwidth_Gbps(alone("", "layer3+4"), 0), kMember_Gbps, 0.01 * kMember_Gbps);
  const Played eight = alone(" -q 8", "layer3+4");
  const std::vector<int> parts = parts_of(eight);
  const int fullest = *std::max_element(parts.begin(), parts.end());
  EXPECT_LT(fullest, 8);
  EXPECT_NEAR(bandwidth_Gbps(eight, 0), kMember_Gbps * 8 / fullest, 0.05 * kMember_Gbps * 8 / fullest);
  EXPECT_NEAR(bandwidth_Gbps(alone(" -q 8", "layer2+3"), 0), kMember_Gbps, 0.01 * kMember_Gbps)
      << "one pair of hosts, one member";
}

TEST(Lag, ReportNamesMembers) {
  const Played played = play("lag", kSmall);
  const std::string section = lab::lag_section(*played.lab, played.result);
  const auto all = lab::lag_directions(*played.lab, played.result);
  const lab::LagDirection& lag = leaving(all, "leaf0");
  EXPECT_NE(section.find("po1"), section.npos);
  EXPECT_NE(section.find(lag.fullest().port), section.npos) << section;
  std::uint64_t sum = 0;
  for (int port = 29; port <= 32; ++port) sum += played.port(fmt::format("leaf0:swp{}", port)).counters.tx[kRoce].bytes;
  EXPECT_EQ(sum, lag.bytes());
}

}  // namespace
