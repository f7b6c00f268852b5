// Random loss, go-back-N and selective repeat: golden labs, and their curves against closed forms.
#include <gtest/gtest.h>

#include <cmath>

#include "support/lab_tables.h"

namespace {

using namespace weft;
using namespace weft::support;

constexpr double kLine4096_us = 4178 * 8 / 100e3;  // a packet of go-back-N
constexpr double kOwn4096_us = 4194 * 8 / 100e3;   // of selective repeat: with a RETH
constexpr double kTimeout_us = 2 * 4.096 * 1024;   // adaptive retransmission's first
constexpr double kBits4096 = 4096 * 8 / 1e3;       // of payload, in Gb/s for 1 us

struct LossMean {
  double goes_back_Gbps = 0, repeats_Gbps = 0, as_shipped_Gbps = 0;
};

// The lab with this loss on all of its cables, the mean over seeds.
LossMean mean_goodput(double loss, int size_MB, int seeds) {
  LossMean mean;
  for (int seed = 1; seed <= seeds; ++seed) {
    std::vector<std::string> overrides = {fmt::format("seed={}", seed)};
    for (int i : {0, 1, 2}) {
      overrides.push_back(fmt::format("faults[{}].probability={:.3f} ppm", i, loss * 1e6));
      overrides.push_back(fmt::format("workloads[{}].size={} MB", i, size_MB));
    }
    const Played played = play("loss-rate", overrides);
    mean.goes_back_Gbps += gbps(played.flows(0)[0]) / seeds;
    mean.repeats_Gbps += gbps(played.flows(1)[0]) / seeds;
    mean.as_shipped_Gbps += gbps(played.flows(2)[0]) / seeds;
    EXPECT_EQ(played.nic("g1:p0").counters.packet_seq_err, played.nic("g2:p0").counters.out_of_sequence);
    EXPECT_EQ(played.nic("s1:p0").counters.packet_seq_err, 0U);
  }
  return mean;
}

// Each loss costs what leaves until the NAK is acted upon: two packets, nak_generation and nak_reaction of a
// ConnectX-5, and 0.3 us of cable and pipelines both ways. The missing packet is lost again with the same probability,
// without a second NAK.
double go_back_n_Gbps(double loss) {
  const double reaction_us = 2 * kLine4096_us + 2 + 4 + 0.3;
  return kBits4096 / (kLine4096_us + loss * reaction_us + loss * loss * kTimeout_us);
}

// Each loss costs two packets, the missing one and a probe. A timeout takes three losses: of the packet, of its copy,
// and of the probe, now or when it was first sent.
double selective_repeat_Gbps(double loss) {
  return kBits4096 / (kOwn4096_us * (1 + 2 * loss) + 2 * loss * loss * loss * kTimeout_us);
}

TEST(LossRate, MatchesExpectedTable) {
  for (const char* name : {"loss-rate", "selective-repeat-incast", "spray"}) {
    std::string table = tables(play(name));
    expect_golden(name, table);
  }
  EXPECT_EQ(tables(play("spray")), tables(play("spray", {}, 2)));
}

TEST(LossRate, GoodputMatchesClosedForms) {
  const struct {
    double loss;
    int size_MB, seeds;
    double tolerance;  // of what is lost, or by chance: a timeout is a tenth of a short flow
  } table[] = {{1e-5, 500, 2, 0.001}, {1e-4, 500, 2, 0.002}, {1e-3, 500, 10, 0.06}, {1e-2, 300, 5, 0.15}};
  LossMean before{98.1, 97.7, 98.1};
  for (const auto& row : table) {
    const LossMean mean = mean_goodput(row.loss, row.size_MB, row.seeds);
    EXPECT_NEAR(mean.goes_back_Gbps / go_back_n_Gbps(row.loss), 1, row.tolerance) << row.loss;
    EXPECT_NEAR(mean.repeats_Gbps / selective_repeat_Gbps(row.loss), 1, row.tolerance / 2) << row.loss;
    // Every step down in the loss rate is a step up in goodput.
    EXPECT_LT(mean.goes_back_Gbps, before.goes_back_Gbps) << row.loss;
    EXPECT_LT(mean.repeats_Gbps, before.repeats_Gbps) << row.loss;
    EXPECT_LE(mean.as_shipped_Gbps, before.as_shipped_Gbps) << row.loss;
    before = mean;
  }
  EXPECT_GT(before.repeats_Gbps, 3 * before.goes_back_Gbps);
  EXPECT_GT(before.goes_back_Gbps, 5 * before.as_shipped_Gbps) << "slow restart takes loss for congestion";
}

// Beyond one in a hundred timeouts decide. Still smooth: no seed is far from the mean.
TEST(LossRate, HighLossIsLeftToTimeouts) {
  double before_Gbps = 90;
  for (double loss : {0.03, 0.05}) {
    const LossMean mean = mean_goodput(loss, 200, 4);
    EXPECT_NEAR(std::log(mean.repeats_Gbps / selective_repeat_Gbps(loss)), 0, std::log(1.4)) << loss;
    EXPECT_NEAR(std::log(mean.goes_back_Gbps / go_back_n_Gbps(loss)), 0, std::log(1.2)) << loss;
    EXPECT_LT(mean.repeats_Gbps, before_Gbps) << loss;
    before_Gbps = mean.repeats_Gbps;
  }
}

// Sixteen windows of 512 packets wait in the queue, each packet of 1102 bytes on the cable with FCS, without the gap;
// goodput is framing alone. Measured: 91.2 Gb/s, 9.6 MB.
TEST(SelectiveRepeatIncast, WindowsBoundQueue) {
  const Played played = play("selective-repeat-incast");
  double together_Gbps = 0;
  for (const lab::FlowOutcome& flow : played.flows()) together_Gbps += gbps(flow);
  EXPECT_NEAR(together_Gbps, 100 * 1024.0 / 1122, 0.3);
  EXPECT_EQ(played.lost(), 0U);
  const auto queue_B = static_cast<double>(played.port("leaf0:swp2").counters.max_queue_B[kRoce] +
                                           played.port("leaf0:swp2").counters.max_queue_B[0]);
  EXPECT_NEAR(queue_B / (16 * 512 * 1102.0), 1, 0.02);
  // Half of the window, half of the queue, and the wire is still full.
  const std::string half = "{selective_repeat: true, tx_psn_window: 256 packets}";
  const Played smaller =
      play("selective-repeat-incast", {"nodes.h0.nics[0].set=" + half, "nodes.h1.nics[0].set=" + half});
  const auto smaller_B = static_cast<double>(smaller.port("leaf0:swp2").counters.max_queue_B[kRoce] +
                                             smaller.port("leaf0:swp2").counters.max_queue_B[0]);
  EXPECT_NEAR(smaller_B / queue_B, 0.5, 0.05);
}

// Nothing is lost. What go-back-N sees in the change of order halves its flows; selective repeat pays for the packets
// that were late by more than nak_generation.
TEST(Spray, NeedsOutOfOrderPlacement) {
  const Played repeats = play("spray");
  const Played level = play("spray", {"routing.balancing=adaptive"});
  std::vector<std::string> plain;
  for (const char* host : {"h0", "h1", "h2", "h3"}) plain.push_back(fmt::format("nodes.{}.nics[0].set={{}}", host));
  const Played goes_back = play("spray", plain);
  for (std::size_t i : {0U, 1U}) {
    EXPECT_GT(gbps(repeats.flows()[i]), 75) << i;
    EXPECT_NEAR(gbps(level.flows()[i]), 100 * 4096.0 / 4194, 0.5) << i;
    EXPECT_LT(gbps(goes_back.flows()[i]), 55) << i;
  }
  for (const Played* each : {&repeats, &level, &goes_back}) EXPECT_EQ(each->lost(), 0U);
}

// Two senders and a buffer of up to 40 MB: goodput falls with the buffer, as smoothly as a straight line, for every
// seed.
TEST(LossyIncast, FallsEvenlyUpTo40MB) {
  std::vector<double> means_Gbps;
  for (int pool_MB : {20, 30, 40}) {
    double mean_Gbps = 0;
    for (int seed : {1, 2}) {
      const Played played =
          play("lossy-incast", {"fabric.switch=sn5600", fmt::format("seed={}", seed),
                                fmt::format("qos.buffer={{ingress_pool: 40 MB, egress_pool: {} MB}}", pool_MB),
                                "workloads[incast].size=1 GB"});
      Time_ps last_ps = 0;
      for (const lab::FlowOutcome& flow : played.flows()) last_ps = std::max(last_ps, flow.row.fct_ps());
      const double together_Gbps = 16e12 / static_cast<double>(last_ps);
      EXPECT_NEAR(gbps(played.flows()[0]) / gbps(played.flows()[1]), 1, 0.1) << pool_MB << " MB, seed " << seed;
      if (seed > 1) EXPECT_NEAR(together_Gbps / (mean_Gbps * 2), 1, 0.1) << pool_MB;
      mean_Gbps += together_Gbps / 2;
    }
    means_Gbps.push_back(mean_Gbps);
  }
  EXPECT_GT(means_Gbps[0], means_Gbps[1]);
  EXPECT_GT(means_Gbps[1], means_Gbps[2]);
  EXPECT_NEAR(means_Gbps[1] / ((means_Gbps[0] + means_Gbps[2]) / 2), 1, 0.05);
}

// The queue of the rig by probing ([simllm-buffer]): the workloads of cx5-rig that start together, 50 ms apart. Two
// senders offer 5, 10 and 20 Gb/s too much; what the queue holds over that is the time until the first packet is lost.
TEST(Cx5Rig, FirstLossComesWhenQueueIsFull) {
  const std::string path = std::string(WEFT_SOURCE_DIR) + "/labs/measured/cx5-rig.yaml";
  auto lab = lab::read_lab(text_of(path), path);
  ASSERT_TRUE(lab);
  lab->expectations.clear();
  std::erase_if(lab->workloads, [](const lab::WorkloadConfig& each) { return !each.start_ps; });
  ASSERT_EQ(lab->workloads.size(), 6U);
  const auto result = lab::run_lab(*lab, {});
  ASSERT_TRUE(result);
  const auto& drops = result->switches.at(0).drops.records();
  const struct {
    Time_ps start_ps;
    double measured_ms, tolerance;
  } probes[] = {{0, 9.05, 0.12}, {ms(50), 4.05, 0.1}, {ms(100), 2.2, 0.3}};
  for (const auto& probe : probes) {
    const auto first = std::find_if(drops.begin(), drops.end(),
                                    [&](const fabric::DropRecord& drop) { return drop.first_ps > probe.start_ps; });
    ASSERT_NE(first, drops.end());
    const double after_ms = static_cast<double>(first->first_ps - probe.start_ps) / 1e9;
    EXPECT_NEAR(after_ms / probe.measured_ms, 1, probe.tolerance) << probe.measured_ms;
  }
}

}  // namespace
