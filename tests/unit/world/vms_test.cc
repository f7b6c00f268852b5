// Virtual machines in a running world: what guests of one host share, and functions of one NIC.
#include <gtest/gtest.h>

#include "results/metric_value.h"
#include "tools/perftest/report.h"
#include "unit/labfile/lab_text.h"
#include "world/runner.h"

namespace weft::lab {
namespace {

// Two guests on a host of two NUMA nodes: the NICs are on node 0, all memory and CPUs of the guests on node 1, and what
// joins them carries 40 Gb/s.
std::string two_guests(std::string_view first_start, std::string_view second_start) {
  return fmt::format(R"(version: 1
name: guests
nodes:
  box:
    kind: host
    layout:
      numa:
        - cpus 0-7 memory 64 GB
        - cpus 8-15 memory 64 GB
      numa_links:
        - 0-1 40 Gbps 60 ns
      slots:
        - slot0 node0 4.0 x16
        - slot1 node0 4.0 x16
    nics:
      - {{model: cx5-100g, slot: slot0}}
      - {{model: cx5-100g, slot: slot1}}
  peer0: {{kind: host, nics: [{{model: cx5-100g, ports: {{p0: {{address: 10.0.0.2/24, mtu: 4200 B}}}}}}]}}
  peer1: {{kind: host, nics: [{{model: cx5-100g, ports: {{p0: {{address: 10.0.1.2/24, mtu: 4200 B}}}}}}]}}
  vm0:
    kind: vm
    vm_of: box
    vcpus: "8-11"
    numatune: [1]
    pages: 1G
    nics: [{{of: slot0, function: pf, ports: {{p0: {{address: 10.0.0.1/24, mtu: 4200 B}}}}}}]
  vm1:
    kind: vm
    vm_of: box
    vcpus: "12-15"
    numatune: [1]
    pages: 1G
    nics: [{{of: slot1, function: pf, ports: {{p0: {{address: 10.0.1.1/24, mtu: 4200 B}}}}}}]
links:
  - endpoints: ["vm0:p0", "peer0:p0"]
  - endpoints: ["vm1:p0", "peer1:p0"]
workloads:
  - {{name: a, perftest: write_bw, client: vm0, server: peer0, start: {}, args: -n 1000}}
  - {{name: b, perftest: write_bw, client: vm1, server: peer1, start: {}, args: -n 1000}}
)",
                     first_start, second_start);
}

std::vector<double> rates_Gbps(const Lab& lab, const SessionOptions& options = {}) {
  const auto result = run_lab(lab, options);
  EXPECT_TRUE(result.has_value());
  std::vector<double> rates;
  for (std::size_t i = 0; result && i < lab.workloads.size(); ++i) {
    const auto& row = result->workloads[i].as<workload::PerftestResult>()->rows.front();
    EXPECT_EQ(row.failure, "");
    rates.push_back(workload::perftest_numbers(*lab.workloads[i].as<workload::PerftestOptions>(), row).bw_average_Gbps);
  }
  return rates;
}

TEST(Vms, GuestsShareLinkBetweenNumaNodes) {
  const auto apart = rates_Gbps(read_good(two_guests("0 ms", "100 ms")));
  EXPECT_NEAR(apart.at(0), 40, 1);
  EXPECT_NEAR(apart.at(1), 40, 1);
  const auto together = rates_Gbps(read_good(two_guests("0 ms", "0 ms")));
  EXPECT_NEAR(together.at(0), 20, 1);
  EXPECT_NEAR(together.at(1), 20, 1);
}

TEST(Vms, SameResultsOnTwoThreads) {
  const Lab lab = read_good(two_guests("0 ms", "0 ms"));
  SessionOptions two;
  two.domains = two.threads = 2;
  EXPECT_EQ(rates_Gbps(lab), rates_Gbps(lab, two));
}

constexpr std::string_view kFunctions = R"(version: 1
name: functions
nodes:
  box: {kind: host, nics: [{model: cx6-25g, ports: {p0: {address: 10.0.0.1/24, mtu: 4200 B}}}]}
  peer: {kind: host, nics: [{model: cx6-25g, ports: {p0: {address: 10.0.0.2/24, mtu: 4200 B}}}]}
  vm0:
    kind: vm
    vm_of: box
    vcpus: "0-1"
    pages: 1G
    nics: [{of: p0, ports: {v0: {address: 10.0.0.11/24, mtu: 4200 B}}}]
  vm1:
    kind: vm
    vm_of: box
    vcpus: "2-3"
    pages: 1G
    nics: [{of: p0, max_tx_rate: 5 Gbps, ports: {v0: {address: 10.0.0.12/24, mtu: 4200 B}}}]
links:
  - endpoints: ["box:p0", "peer:p0"]
workloads:
)";

TEST(Vms, FunctionsSharePort) {
  const Lab lab = read_good(std::string(kFunctions) + R"(
  - {name: host, perftest: write_bw, client: box, server: peer, start: 0 ms, args: -n 1000}
  - {name: free, perftest: write_bw, client: vm0, server: peer, start: 0 ms, args: -n 1000}
  - {name: limited, perftest: write_bw, client: vm1, server: peer, start: 0 ms, args: -n 600}
)");
  const auto rates = rates_Gbps(lab);
  EXPECT_NEAR(rates.at(2), 5, 0.2) << "max_tx_rate";
  EXPECT_NEAR(rates.at(0), rates.at(1), 0.3) << "the port's turn goes round";
  EXPECT_NEAR(rates.at(0) + rates.at(1) + rates.at(2), 24.5, 0.5);
}

// Between functions nothing is on the cable, and a card of which no internal rate is known has its line rate.
TEST(Vms, TrafficInsideNic) {
  const Lab lab = read_good(std::string(kFunctions) + R"(
  - {name: inside, perftest: write_bw, client: vm0, server: box, args: -n 1000}
  - {name: flows, flows: all-to-all, hosts: [box, vm0, vm1], size: 1 MB}
  - {name: tcp, iperf3: -n 10M, client: vm0, server: vm1}
)");
  const auto result = run_lab(lab, {});
  ASSERT_TRUE(result.has_value());
  const auto& row = result->workloads[0].as<workload::PerftestResult>()->rows.front();
  const double Gbps =
      workload::perftest_numbers(*lab.workloads[0].as<workload::PerftestOptions>(), row).bw_average_Gbps;
  EXPECT_NEAR(Gbps, 24.5, 0.1);
  for (const workload::FlowOutcome& flow : result->workloads[1].as<workload::FlowsOutcome>()->flows)
    EXPECT_EQ(flow.row.state, workload::FlowState::kDone) << flow.from << " to " << flow.to;
  ASSERT_EQ(result->ports.size(), 2U) << "a virtual function has no counters of its own";
  for (const LinkOutcome& link : result->links) EXPECT_EQ(link.ledger.sent, 0U) << link.from;
}

TEST(Vms, FunctionsAreRefusedWhereProgramsRun) {
  const Lab lab = read_good(std::string(kFunctions) + "  - {name: w, transfer: write, client: vm0, server: box}\n");
  SessionOptions options;
  options.open_ended = true;
  const auto session = Session::open(lab, options);
  ASSERT_FALSE(session.has_value());
  EXPECT_EQ(session.error(), "vm0 has a virtual function, which no program can use yet: pass the NIC (function: pf)");
}

}  // namespace
}  // namespace weft::lab
