// Golden labs of what PFC does to a fabric: pauses that walk upstream, victims, unfairness. Each has its table under
// tests/labs/fabric, and arithmetic of its own.
#include <gtest/gtest.h>

#include <map>

#include "support/lab_tables.h"

namespace {

using namespace weft;
using namespace weft::support;

struct FirstXoff {
  Time_ps time_ps;
  std::string node, port, peer;
};

// When each port of a switch first stopped its peer, in order of time.
std::vector<FirstXoff> first_xoffs(const Played& played) {
  std::vector<FirstXoff> firsts;
  for (const lab::SwitchOutcome& device : played.result.switches) {
    std::map<std::uint32_t, Time_ps> of_port;
    for (const fabric::PauseEvent& event : device.pauses.records) {
      if (event.sent && event.what == fabric::PauseEnd::kStart) of_port.try_emplace(event.port, event.time_ps);
    }
    for (const auto& [port, time_ps] : of_port)
      firsts.push_back({time_ps, device.config->name, device.ports[port].name, device.ports[port].peer});
  }
  std::sort(firsts.begin(), firsts.end(), [](const FirstXoff& a, const FirstXoff& b) {
    return a.time_ps != b.time_ps ? a.time_ps < b.time_ps : a.node < b.node;
  });
  return firsts;
}

// Cables between a node and h0, over the links of the lab file.
std::map<std::string, int> distances(const lab::Lab& lab, const std::string& from) {
  const auto node_of = [&](const lab::PortRef& ref) {
    std::string name = lab::port_name(lab, ref);
    return name.substr(0, name.find(':'));
  };
  std::map<std::string, int> distance{{from, 0}};
  for (int d = 0; d < 16; ++d) {
    for (const lab::LinkConfig& link : lab.links) {
      std::string a = node_of(link.a), b = node_of(link.b);
      if (distance.contains(a) && distance[a] == d) distance.try_emplace(b, d + 1);
      if (distance.contains(b) && distance[b] == d) distance.try_emplace(a, d + 1);
    }
  }
  return distance;
}

std::string xoff_table(const Played& played) {
  auto distance = distances(*played.lab, "h0");
  std::string out = fmt::format("{:>10} {:>9} {:<12} {}\n", "us", "cables", "XOFF from", "to");
  for (const FirstXoff& xoff : first_xoffs(played)) {
    out += fmt::format("{:>10.3f} {:>9} {:<12} {}\n", in_us(xoff.time_ps), distance[xoff.node],
                       xoff.node + ":" + xoff.port, xoff.peer);
  }
  return out;
}

TEST(PausePropagation, MatchesExpectedTable) {
  std::string table = xoff_table(play("pause-propagation"));
  expect_golden("pause-propagation", table);
  EXPECT_EQ(table, xoff_table(play("pause-propagation", {}, 2)));
}

// From each congested switch to the one behind it: the pause has to arrive, and then a buffer has to fill. A lossless
// group alone in its switch gets reserved + αB / (1 + α) with α = 1/8. A stopped port fills it at line rate; the
// fabric sends on at no less than a third of it (three senders), so that it takes at most 3/2 of that and a round trip.
TEST(PausePropagation, TiersFillBeforePausingUpstream) {
  Played played = play("pause-propagation");
  auto distance = distances(*played.lab, "h0");
  const lab::SwitchConfig& model = *played.device("core0").config;
  double limit_B =
      static_cast<double>(model.qos.groups[kRoce].reserved_B) + static_cast<double>(model.qos.ingress_pool_B) / 9;
  double fill_us = limit_B * 8 / 100e3;
  std::map<std::string, Time_ps> stopped_at;  // node -> when it was first asked to stop
  int hops = 0;
  Time_ps last_ps = 0;
  int last_distance = 0;
  for (const FirstXoff& xoff : first_xoffs(played)) {
    EXPECT_GE(distance[xoff.node], last_distance) << xoff.node << ": nobody further away is first";
    last_distance = distance[xoff.node];
    if (auto before = stopped_at.find(xoff.node); before != stopped_at.end()) {
      double gap_us = in_us(xoff.time_ps - before->second);
      // 20 m of AOC: 98 ns, two ports of 40 ns, RS-FEC, 84 B of pause frame and 300 ns of response.
      double pause_us = 0.098 + 0.080 + 0.0067 + 0.300;
      EXPECT_GE(gap_us, fill_us + pause_us) << xoff.node;
      EXPECT_LE(gap_us, 1.5 * fill_us + 10) << xoff.node;
      ++hops;
    } else {
      EXPECT_EQ(xoff.node, "edge0") << "the walk begins beside the receiver";
    }
    std::string peer = xoff.peer.substr(0, xoff.peer.find(':'));
    stopped_at.try_emplace(peer, xoff.time_ps);
    last_ps = xoff.time_ps;
  }
  EXPECT_EQ(hops, 8) << "two walks of agg, core, agg, edge";
  EXPECT_GT(last_ps, us(4 * 131)) << "four buffers of 1.6 MB at 100 Gb/s";
  EXPECT_EQ(played.lost(), 0U);
}

TEST(PausePropagation, CableEndsCountSamePauses) {
  Played played = play("pause-propagation");
  int compared = 0;
  for (const lab::SwitchOutcome& device : played.result.switches) {
    for (const lab::SwitchPortOutcome& port : device.ports) {
      if (port.peer[0] == 'h') {
        EXPECT_EQ(port.counters.pause_tx[kRoce], played.nic(port.peer).pause_rx[kRoce]) << port.peer;
      } else {
        EXPECT_EQ(port.counters.pause_tx[kRoce], played.port(port.peer).pause_rx[kRoce]) << port.peer;
      }
      compared += port.counters.pause_tx[kRoce] > 0 ? 1 : 0;
    }
  }
  EXPECT_EQ(compared, 11);
}

TEST(VictimFlow, MatchesExpectedTable) {
  std::string table = tables(play("victim-flow"));
  expect_golden("victim-flow", table);
  EXPECT_EQ(table, tables(play("victim-flow", {}, 2)));
}

// Arithmetic: h8's 24.51 Gb/s are dealt to the spine's two ports, and each half to the two senders behind it; the
// victim stands in the queue of one half as a third, so it moves at the rate of h0: a quarter of 24.51.
TEST(VictimFlow, RunsAtRateOfSharedQueue) {
  Played played = play("victim-flow");
  double line_Gbps = 25 * 4096 / 4178.0;
  EXPECT_NEAR(gbps(played.flows(1)[0]), line_Gbps / 4, line_Gbps / 40) << "a tenth more: buffers that filled at first";
  for (const lab::FlowOutcome& flow : played.flows(0)) EXPECT_NEAR(gbps(flow), line_Gbps / 4, 0.05) << flow.from;
  EXPECT_EQ(played.lost(), 0U);
  Played alone = play("victim-flow", {"workloads[incast].pairs=[[h0, h8]]"});
  EXPECT_NEAR(gbps(alone.flows(1)[0]), line_Gbps, 0.1);
  Played with_ecn = play("victim-flow", {"qos.queues={}"});
  EXPECT_NEAR(gbps(with_ecn.flows(1)[0]), line_Gbps, 0.1);
  EXPECT_EQ(with_ecn.xoffs(), 0U);
}

TEST(PfcUnfairness, MatchesExpectedTable) {
  for (const char* name : {"pfc-unfairness", "pfc-unfairness-dcqcn"}) {
    std::string table = tables(play(name));
    expect_golden(name, table);
    EXPECT_EQ(table, tables(play(name, {}, 2))) << name;
  }
}

double jain(const std::vector<lab::FlowOutcome>& flows) {
  double sum = 0, squares = 0;
  for (const lab::FlowOutcome& flow : flows) {
    sum += gbps(flow);
    squares += gbps(flow) * gbps(flow);
  }
  return sum * sum / (static_cast<double>(flows.size()) * squares);
}

// The parking lot: leaf0 gives each of its two busy ports half of h0's link. h1 has a port for itself and is done after
// twice its line time; the other three share a port, and together all four need four times one line time.
TEST(PfcUnfairness, SharesPerPort) {
  Played played = play("pfc-unfairness");
  double alone_us = line_time_us(100e6, 100);
  EXPECT_NEAR(in_us(played.flows()[0].row.fct_ps()), 2 * alone_us, 0.01 * alone_us);
  for (std::size_t i = 1; i < 4; ++i)
    EXPECT_NEAR(in_us(played.flows()[i].row.fct_ps()), 4 * alone_us, 0.01 * alone_us) << i;
  // Rates of 1/2, 1/4, 1/4, 1/4.
  EXPECT_NEAR(jain(played.flows()), 1.25 * 1.25 / (4 * (0.25 + 3 * 0.0625)), 0.002);
  EXPECT_EQ(played.lost(), 0U);
}

TEST(PfcUnfairness, IsFixedByDcqcn) {
  Played played = play("pfc-unfairness-dcqcn");
  EXPECT_GT(jain(played.flows()), 0.99);
  EXPECT_EQ(played.xoffs(), 0U);
  EXPECT_EQ(played.lost(), 0U);
  std::uint64_t received = 0;
  for (const lab::FlowOutcome& flow : played.flows()) {
    EXPECT_GT(in_us(flow.row.fct_ps()), 3 * line_time_us(100e6, 100)) << flow.from << " had no more than a third";
    received += flow.cnps_received;
  }
  EXPECT_EQ(received, played.nic("h0:p0").counters.np_cnp_sent);
}

}  // namespace
