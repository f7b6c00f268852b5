// The ring all-reduce of labs/ring-all-reduce.yaml, against arithmetic, and the same over cables from host to host.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "labfile/reader.h"
#include "results/results_json.h"
#include "world/runner.h"

namespace {

using namespace weft;

lab::Lab read(const std::string& text) {
  auto lab = lab::read_lab(text, "lab.yaml");
  EXPECT_TRUE(lab.has_value()) << lab::format_problem("lab.yaml", lab.error().front());
  return std::move(*lab);
}

const workload::FlowsOutcome& flows_of(const lab::RunResult& result) {
  return *result.workloads.at(0).as<workload::FlowsOutcome>();
}

// Bytes on the line of a WRITE with immediate: Ethernet 14 + FCS 4 + preamble and gap 20, IPv4 20, UDP 8, BTH 12 and
// ICRC 4 around each packet of 4096, RETH 16 in the first and ImmDt 4 in the last.
constexpr std::uint64_t line_B(std::uint64_t size_B) {
  return size_B + (size_B + 4095) / 4096 * (14 + 4 + 20 + 20 + 8 + 12 + 4) + 16 + 4;
}

TEST(RingAllReduce, MatchesStepsTimesSerialisationAndPath) {
  std::ifstream file(std::string(WEFT_SOURCE_DIR) + "/labs/ring-all-reduce.yaml");
  std::ostringstream text;
  text << file.rdbuf();
  const lab::Lab lab = read(text.str());
  const auto result = lab::run_lab(lab, {});
  ASSERT_TRUE(result);
  const workload::FlowsOutcome& outcome = flows_of(*result);
  constexpr int kHosts = 4, kSteps = 2 * (kHosts - 1);
  ASSERT_EQ(outcome.flows.size(), static_cast<std::size_t>(kSteps * kHosts));
  // 1,000,000 B in 245 packets at 80 ps a byte.
  const Time_ps chunk_ps = static_cast<Time_ps>(line_B(1'000'000)) * 80;
  ASSERT_EQ(chunk_ps, 81'608'800);
  // The way of a packet: post, doorbell and fetch of 32 KiB at the sender (2.5 us on PCIe 3.0 x16); the last packet
  // once more, as the switch stores it; two cables, the switch and the receiver's NIC; CQE and poll. Some microseconds
  // on this lab's models.
  const Time_ps least_ps = 4178 * 80 / 10, most_ps = us(7);
  for (int step = 1; step < kSteps; ++step) {
    for (int h = 0; h < kHosts; ++h) {
      const auto number = static_cast<std::size_t>(step * kHosts + h);
      const Time_ps took_ps = outcome.flows[number].row.start_ps - outcome.flows[number - kHosts].row.start_ps;
      EXPECT_GE(took_ps, chunk_ps + least_ps) << step << " " << h;
      EXPECT_LE(took_ps, chunk_ps + most_ps) << step << " " << h;
      EXPECT_EQ(outcome.ready_ps[number], outcome.flows[number].row.start_ps) << "no delay";
    }
  }
  EXPECT_GE(outcome.summary.last_end_ps, kSteps * (chunk_ps + least_ps));
  EXPECT_LE(outcome.summary.last_end_ps, kSteps * (chunk_ps + most_ps));
  // Results say what waited for what.
  const std::string json = lab::results_json(lab, *result);
  EXPECT_NE(json.find(R"("name":"s1h0","from":"h0:p0")"), std::string::npos);
  EXPECT_NE(json.find(R"("after":["s0h3","s0h0"],"ready_ps":)"), std::string::npos);
}

// Hosts with two ports: what comes in at one is waited for by a flow that leaves by the other.
TEST(RingAllReduce, PortsOfOneHostWaitForEachOther) {
  for (const char* op : {"write", "send"}) {
    std::string text = fmt::format(
        "version: 1\nname: r\nfabric: {{template: ring, hosts: 3, host: {{nic: cx5-100g, mtu: 4200 B}}}}\n"
        "workloads:\n  - name: x\n    flows: graph\n    op: {}\n    size: 100 kB\n    list:\n",
        op);
    constexpr int kFlows = 30;
    for (int i = 0; i < kFlows; ++i)
      text += fmt::format("      - {{name: f{}, from: \"h{}:p1\", to: \"h{}:p0\"{}}}\n", i, i % 3, (i + 1) % 3,
                          i == 0 ? "" : fmt::format(", after: f{}", i - 1));
    const lab::Lab lab = read(text);
    const auto result = lab::run_lab(lab, {});
    ASSERT_TRUE(result);
    const workload::FlowsOutcome& outcome = flows_of(*result);
    EXPECT_EQ(outcome.summary.done, static_cast<std::uint64_t>(kFlows));
    const auto least_ps = static_cast<Time_ps>(line_B(100'000) - 20) * 80;
    for (std::size_t i = 1; i < kFlows; ++i) {
      const Time_ps took_ps = outcome.flows[i].row.start_ps - outcome.flows[i - 1].row.start_ps;
      EXPECT_GT(took_ps, least_ps) << i;
      EXPECT_LT(took_ps, least_ps + us(7)) << i;
    }
  }
}

// Ten thousand flows, each after the one before it and one after all: no step grows with the number of flows.
TEST(RingAllReduce, LongChainsRun) {
  constexpr int kFlows = 10'000;
  std::string text =
      "version: 1\nname: r\nfabric: {template: single-switch, hosts: 2, switch: sn3700c, host: {nic: cx5-100g}}\n"
      "workloads:\n  - {name: x, flows: graph, size: 100 B, list: [\n";
  std::string all;
  for (int i = 0; i < kFlows; ++i) {
    text += fmt::format("    {{name: f{}, from: h{}, to: h{}{}}},\n", i, i % 2, 1 - i % 2,
                        i == 0 ? "" : fmt::format(", after: f{}", i - 1));
    all += fmt::format("{}f{}", i == 0 ? "" : ", ", i);
  }
  text += "    {name: last, from: h0, to: h1, after: [" + all + "]}]}\n";
  const lab::Lab lab = read(text);
  const auto result = lab::run_lab(lab, {});
  ASSERT_TRUE(result);
  EXPECT_EQ(flows_of(*result).summary.done, kFlows + 1U);
}

}  // namespace
