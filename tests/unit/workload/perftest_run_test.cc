#include <gtest/gtest.h>

#include "support/host_pair.h"
#include "workload/perftest/run.h"

namespace weft::workload {
namespace {

using support::HostPair;
using support::HostPairOptions;

struct Bench {
  HostPair pair;
  Endpoint ends[2];
  explicit Bench(const HostPairOptions& options = {}) : pair(options) {
    for (std::uint32_t side : {0U, 1U}) {
      ends[side].host = &pair.host(side);
      ends[side].device = &pair.device(side);
      ends[side].active_mtu_B = 4096;
    }
  }
  PerftestResult run(const PerftestOptions& options) {
    PerftestRun perftest(options, ends[0], ends[1]);
    Time_ps at_ps = 0;
    while (perftest.start_phase(at_ps)) {
      pair.run();
      perftest.finish_phase(false);
      at_ps = std::max(pair.host(0).last_event_ps(), pair.host(1).last_event_ps()) + us(100);
    }
    return perftest.result();
  }
};

PerftestOptions options(PerftestVerb verb, std::uint64_t size_B, std::uint64_t iterations) {
  PerftestOptions o;
  o.verb = verb;
  o.size_B = size_B;
  o.iterations = iterations;
  o.cq_mod = 1;
  o.no_peak = true;
  return o;
}

double Gbps(const BwMeasure& bw, std::uint64_t size_B) {
  return static_cast<double>(bw.messages * size_B) * 8000.0 / static_cast<double>(bw.elapsed_ps);
}

TEST(PerftestRun, LargeMessagesReachFramingLimit) {
  for (PerftestVerb verb : {PerftestVerb::kWrite, PerftestVerb::kSend, PerftestVerb::kRead}) {
    Bench bench;
    PerftestResult result = bench.run(options(verb, 65536, 500));
    ASSERT_EQ(result.rows.size(), 1U);
    EXPECT_EQ(result.rows[0].failure, "");
    EXPECT_EQ(result.rows[0].bw[0].messages, 500U);
    // By the headers: 98.04 Gb/s at 4096.
    EXPECT_NEAR(Gbps(result.rows[0].bw[0], 65536), 98.0, 0.5) << static_cast<int>(verb);
    EXPECT_EQ(result.mtu_B, 4096U);
  }
}

TEST(PerftestRun, RateLimitHolds) {
  for (PerftestVerb verb : {PerftestVerb::kWrite, PerftestVerb::kSend, PerftestVerb::kRead}) {
    for (std::uint32_t burst : {1U, 16U}) {
      Bench bench;
      PerftestOptions o = options(verb, 65536, 800);
      o.rate_limit = 40;
      o.burst_size = burst;
      PerftestResult result = bench.run(o);
      EXPECT_EQ(result.rows[0].bw[0].messages, 800U);
      EXPECT_NEAR(Gbps(result.rows[0].bw[0], 65536), 40.0, 0.8) << static_cast<int>(verb) << " " << burst;
    }
  }
}

TEST(PerftestRun, BidirectionalCountsBothDirections) {
  Bench bench;
  PerftestOptions o = options(PerftestVerb::kWrite, 65536, 500);
  o.bidirectional = true;
  PerftestResult result = bench.run(o);
  ASSERT_EQ(result.rows[0].bw.size(), 2U);
  for (const BwMeasure& bw : result.rows[0].bw) EXPECT_NEAR(Gbps(bw, 65536), 97.5, 1.0);
}

TEST(PerftestRun, AllSizesFromTwoTo8MiB) {
  Bench bench;
  PerftestOptions o = options(PerftestVerb::kWrite, 65536, 10);
  o.all_sizes = true;
  PerftestResult result = bench.run(o);
  ASSERT_EQ(result.rows.size(), 23U);
  for (std::size_t i = 0; i < 23; ++i) {
    EXPECT_EQ(result.rows[i].size_B, 2ULL << i);
    EXPECT_EQ(result.rows[i].failure, "");
    EXPECT_EQ(result.rows[i].bw[0].messages, 10U);
  }
}

TEST(PerftestRun, QpsDoAllIterations) {
  Bench bench;
  PerftestOptions o = options(PerftestVerb::kWrite, 4096, 100);
  o.qps = 4;
  PerftestResult result = bench.run(o);
  EXPECT_EQ(result.rows[0].bw[0].messages, 400U);
  EXPECT_EQ(result.local.size(), 4U);
  EXPECT_NE(result.local[0].qpn, result.local[3].qpn);
}

TEST(PerftestRun, LatencyHasOneSampleFewerThanIterations) {
  for (PerftestVerb verb : {PerftestVerb::kWrite, PerftestVerb::kSend, PerftestVerb::kRead, PerftestVerb::kAtomic}) {
    Bench bench;
    PerftestOptions o = options(verb, 8, 50);
    o.latency = true;
    o.tx_depth = 1;
    o.rx_depth = 16;
    PerftestResult result = bench.run(o);
    EXPECT_EQ(result.rows[0].failure, "") << static_cast<int>(verb);
    const std::vector<Time_ps>& samples = result.rows[0].samples_ps;
    ASSERT_EQ(samples.size(), 49U) << static_cast<int>(verb);
    // Without interrupts and jitter every round is the same.
    for (Time_ps sample_ps : samples) EXPECT_EQ(sample_ps, samples[0]);
    // One flight and pipeline for half a round trip, two for READ and atomics; a few hundred ns of host and NIC.
    bool whole = verb == PerftestVerb::kRead || verb == PerftestVerb::kAtomic;
    Time_ps least_ps = (whole ? 2 : 1) * (us(1) + ns(100));
    EXPECT_GT(samples[0], least_ps + ns(300));
    EXPECT_LT(samples[0], least_ps + us(1) + (whole ? ns(500) : 0));
  }
}

TEST(PerftestRun, DurationExcludesMargins) {
  HostPairOptions plain;
  plain.carry_payload = false;
  Bench bench(plain);
  PerftestOptions o = options(PerftestVerb::kWrite, 1 << 23, 0);
  o.duration_s = 1;
  PerftestResult result = bench.run(o);
  // A second of 8 MiB messages: 2048 packets of 4178 bytes and a RETH each.
  double expected = 1e12 / ((2048 * 4178 + 16) * 80.0);
  EXPECT_NEAR(static_cast<double>(result.rows[0].bw[0].messages), expected, 2);
  EXPECT_EQ(result.rows[0].bw[0].elapsed_ps, kSecond_ps);
}

TEST(PerftestRun, FailureEndsTest) {
  HostPairOptions broken;
  broken.faults[0].emplace_back();
  Bench bench(broken);
  PerftestOptions o = options(PerftestVerb::kWrite, 65536, 10);
  o.all_sizes = true;
  o.qp_timeout = 4;
  PerftestResult result = bench.run(o);
  ASSERT_EQ(result.rows.size(), 1U);
  EXPECT_NE(result.rows[0].failure.find("status 12"), std::string::npos) << result.rows[0].failure;
}

}  // namespace
}  // namespace weft::workload
