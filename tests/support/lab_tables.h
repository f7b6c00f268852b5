// Ready labs as golden tables: runs a lab of labs/fabric, draws what an engineer would look at (flows, pauses, drops)
// and compares it with the table that is checked in. Units are in the column heads; class 3 is the lossless one.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "labfile/reader.h"
#include "world/runner.h"

namespace weft::support {

inline constexpr std::size_t kRoce = 3;  // priority, queue and group of RoCE in roce-lossless

inline std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The outcome points into the lab.
struct Played {
  std::unique_ptr<lab::Lab> lab;
  lab::RunResult result;

  const std::vector<lab::FlowOutcome>& flows(std::size_t workload = 0) const {
    return result.workloads[workload].as<workload::FlowsOutcome>()->flows;
  }
  const lab::SwitchOutcome& device(const std::string& name) const {
    for (const lab::SwitchOutcome& each : result.switches) {
      if (each.config->name == name) return each;
    }
    ADD_FAILURE() << "no switch " << name;
    return result.switches.front();
  }
  // "leaf0:swp1"
  const lab::SwitchPortOutcome& port(const std::string& name) const {
    std::size_t colon = name.find(':');
    const lab::SwitchOutcome& owner = device(name.substr(0, colon));
    for (const lab::SwitchPortOutcome& each : owner.ports) {
      if (each.name == name.substr(colon + 1)) return each;
    }
    ADD_FAILURE() << "no port " << name;
    return owner.ports.front();
  }
  const lab::PortOutcome& nic(const std::string& name) const {
    for (const lab::PortOutcome& each : result.ports) {
      if (each.name == name) return each;
    }
    ADD_FAILURE() << "no port " << name;
    return result.ports.front();
  }
  std::uint64_t xoffs() const {
    std::uint64_t sum = 0;
    for (const lab::SwitchOutcome& device : result.switches) {
      for (const lab::SwitchPortOutcome& port : device.ports) sum += port.counters.xoff_tx[kRoce];
    }
    return sum;
  }
  std::uint64_t lost(fabric::Fate reason) const {
    std::uint64_t sum = 0;
    for (const lab::SwitchOutcome& device : result.switches) {
      for (const lab::SwitchPortOutcome& port : device.ports)
        sum += port.counters.drops[static_cast<std::size_t>(reason)];
    }
    return sum;
  }
  // What the NICs sent and what came out of the network, RoCE frames of every kind.
  std::uint64_t sent() const {
    std::uint64_t sum = 0;
    for (const lab::PortOutcome& port : result.ports) sum += port.counters.tx().packets;
    return sum;
  }
  std::uint64_t received() const {
    std::uint64_t sum = 0;
    for (const lab::PortOutcome& port : result.ports) sum += port.counters.rx().packets;
    return sum;
  }
  std::uint64_t lost() const {
    std::uint64_t sum = 0;
    for (const lab::SwitchOutcome& device : result.switches) sum += device.drops.total();
    return sum;
  }
};

inline Played play(const std::string& name, const std::vector<std::string>& overrides = {}, std::uint32_t domains = 1) {
  std::string path = fmt::format("{}/labs/fabric/{}.yaml", WEFT_SOURCE_DIR, name);
  Played played;
  auto lab = lab::read_lab(text_of(path), path, overrides);
  if (!lab) {
    for (const lab::Problem& problem : lab.error()) ADD_FAILURE() << lab::format_problem(path, problem);
    std::abort();
  }
  played.lab = std::make_unique<lab::Lab>(std::move(*lab));
  lab::SessionOptions options;
  options.domains = options.threads = domains;
  auto result = lab::run_lab(*played.lab, options);
  EXPECT_TRUE(result) << name;
  played.result = std::move(*result);
  EXPECT_TRUE(played.result.ledger_balances()) << name;
  return played;
}

inline double in_us(Time_ps time_ps) {
  return static_cast<double>(time_ps) / 1e6;
}
inline double gbps(const lab::FlowOutcome& flow) {
  return flow.row.state == workload::FlowState::kDone ? flow.row.goodput_bps() / 1e9 : 0;
}

// A flow that is not done has no time and no rate.
inline std::string flow_table(const Played& played) {
  std::string out = fmt::format("{:<10} {:<8} {:<8} {:>8} {:>10} {:>8} {:>7} {:>6}\n", "workload", "from", "to", "MB",
                                "fct_us", "Gb/s", "resent", "cnps");
  for (const lab::WorkloadOutcome& workload : played.result.workloads) {
    if (workload.as<workload::FlowsOutcome>() == nullptr) continue;  // perftest beside the flows
    for (const lab::FlowOutcome& flow : workload.as<workload::FlowsOutcome>()->flows) {
      bool done = flow.row.state == workload::FlowState::kDone;
      std::string unfinished = flow.row.state == workload::FlowState::kFailed ? "failed" : "running";
      out +=
          fmt::format("{:<10} {:<8} {:<8} {:>8.3f} {:>10} {:>8} {:>7} {:>6}\n", workload.config->name, flow.from,
                      flow.to, static_cast<double>(flow.row.size_B) / 1e6,
                      done ? fmt::format("{:.1f}", in_us(flow.row.fct_ps())) : unfinished,
                      done ? fmt::format("{:.2f}", gbps(flow)) : "-", flow.retransmitted_packets, flow.cnps_received);
    }
  }
  return out;
}

// Ports of switches at which something happened to the lossless class: what they sent, what stopped them, how full.
inline std::string port_table(const Played& played) {
  std::string out = fmt::format("{:<16} {:<14} {:>5} {:>10} {:>10} {:>9} {:>8} {:>6}\n", "port", "peer", "xoff",
                                "stops_us", "stopped_us", "queue_kB", "marked", "lost");
  for (const lab::SwitchOutcome& device : played.result.switches) {
    for (const lab::SwitchPortOutcome& port : device.ports) {
      const fabric::SwitchPortCounters& counters = port.counters;
      std::uint64_t lost = 0;
      for (std::uint64_t n : counters.drops) lost += n;
      bool quiet = counters.xoff_tx[kRoce] == 0 && port.pause_rx[kRoce] == 0 && lost == 0 &&
                   counters.ecn_marked[kRoce] == 0 && counters.max_queue_B[kRoce] < 100'000;
      if (quiet) continue;
      out += fmt::format("{:<16} {:<14} {:>5} {:>10.2f} {:>10.2f} {:>9.1f} {:>8} {:>6}\n",
                         device.config->name + ":" + port.name, port.peer, counters.xoff_tx[kRoce],
                         in_us(counters.pause_tx_ps[kRoce]), in_us(port.pause_rx_ps[kRoce]),
                         static_cast<double>(counters.max_queue_B[kRoce]) / 1e3, counters.ecn_marked[kRoce], lost);
    }
  }
  return out;
}

inline std::string nic_table(const Played& played) {
  std::string out = fmt::format("{:<8} {:>9} {:>10} {:>10} {:>9} {:>8} {:>6} {:>6} {:>6}\n", "nic", "pauses_rx",
                                "stopped_us", "pauses_tx", "out_of_sq", "timeouts", "ce", "cnp_tx", "cnp_rx");
  for (const lab::PortOutcome& port : played.result.ports) {
    const nic::Counters& counters = port.counters;
    bool quiet = port.pause_rx[kRoce] == 0 && counters.tx_pause[kRoce] == 0 && counters.out_of_sequence == 0 &&
                 counters.local_ack_timeout_err == 0 && counters.np_ecn_marked_roce_packets == 0 &&
                 counters.rp_cnp_handled == 0;
    if (quiet) continue;
    out += fmt::format("{:<8} {:>9} {:>10.2f} {:>10} {:>9} {:>8} {:>6} {:>6} {:>6}\n", port.name, port.pause_rx[kRoce],
                       in_us(port.pause_rx_ps[kRoce]), counters.tx_pause[kRoce], counters.out_of_sequence,
                       counters.local_ack_timeout_err, counters.np_ecn_marked_roce_packets, counters.np_cnp_sent,
                       counters.rp_cnp_handled);
  }
  return out;
}

// Nothing when nothing was lost.
inline std::string drop_table(const Played& played) {
  std::string rows;
  for (const lab::SwitchOutcome& device : played.result.switches) {
    std::array<std::uint64_t, fabric::kFateCount> lost{};
    for (const lab::SwitchPortOutcome& port : device.ports) {
      for (std::size_t f = 0; f < lost.size(); ++f) lost[f] += port.counters.drops[f];
    }
    for (std::size_t f = 0; f < lost.size(); ++f) {
      if (lost[f] != 0)
        rows += fmt::format("{:<12} {:<20} {:>8}\n", device.config->name, fabric::kFateNames[f], lost[f]);
    }
  }
  return rows.empty() ? "" : fmt::format("\n{:<12} {:<20} {:>8}\n", "switch", "lost to", "packets") + rows;
}

inline std::string tables(const Played& played) {
  return flow_table(played) + "\n" + port_table(played) + "\n" + nic_table(played) + drop_table(played);
}

// The line time of a flow: preamble 8, Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4, FCS 4 and gap 12 for each packet,
// a RETH of 16 for each message.
inline double line_time_us(double size_B, double rate_Gbps, double mtu_B = 4096, double messages = 1) {
  double packets = std::ceil(size_B / mtu_B);
  return (size_B + 82 * packets + 16 * messages) * 8 / (rate_Gbps * 1e3);
}

// Compares with tests/labs/fabric/NAME.txt.
inline void expect_golden(const std::string& name, const std::string& now) {
  std::string path = fmt::format("{}/tests/labs/fabric/{}.txt", WEFT_SOURCE_DIR, name);
  if (std::getenv("WEFT_REGENERATE") != nullptr) std::ofstream(path) << now;
  EXPECT_EQ(now, text_of(path)) << "after a deliberate change: WEFT_REGENERATE=1, and say why in the commit";
}

}  // namespace weft::support
