// Kernel TCP and CPU contention: the three scenarios of [mcornea-lab] (EPYC 7551P, two VMs), each from
// the lab in labs/host, and what must not change.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <memory>
#include <sstream>

#include "labfile/reader.h"
#include "results/results_json.h"
#include "world/runner.h"

namespace {

using namespace weft;

std::string host_lab_text(const std::string& name) {
  std::ifstream file(std::string(WEFT_SOURCE_DIR) + "/labs/host/" + name + ".yaml");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}
std::string with(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}
struct HostRun {
  std::unique_ptr<lab::Lab> lab;  // the result points into it
  lab::RunResult result;
};
HostRun run_text(const std::string& text, lab::SessionOptions options = {}) {
  auto lab = lab::read_lab(text, "lab.yaml");
  EXPECT_TRUE(lab) << (lab ? "" : lab::format_problem("lab.yaml", lab.error().front()));
  HostRun run{std::make_unique<lab::Lab>(std::move(*lab)), {}};
  auto result = lab::run_lab(*run.lab, options);
  EXPECT_TRUE(result);
  run.result = std::move(*result);
  return run;
}
const workload::Iperf3Result& tcp_of(const HostRun& run) {
  return *run.result.workloads.front().as<workload::Iperf3Result>();
}
std::string first_problem(const std::string& text) {
  auto lab = lab::read_lab(text, "lab.yaml");
  return lab ? "" : lab::format_problem("lab.yaml", lab.error().front());
}

constexpr const char* kShort = "-t 2";

std::string short_run(std::string text) {
  text = with(with(std::move(text), "-t 10", kShort), "-t 3", kShort);
  return text.substr(0, text.find("expect:"));
}

TEST(TcpLabs, StressTakesTwoThirdsOfTcpForEverySeed) {
  for (const char* seed : {"1", "2", "3"}) {
    const HostRun run =
        run_text(with(short_run(host_lab_text("cpu-contention")), "seed: 1", std::string("seed: ") + seed));
    EXPECT_NEAR(tcp_of(run).received_bps() / 1e9, 7.9, 0.79) << seed;
    EXPECT_GT(tcp_of(run).retransmits(), 0U) << seed;
  }
}

TEST(TcpLabs, IsolationGivesThemBack) {
  const HostRun run = run_text(short_run(host_lab_text("cpu-isolated")));
  EXPECT_NEAR(tcp_of(run).received_bps() / 1e9, 24.1, 0.6);
  EXPECT_EQ(tcp_of(run).retransmits(), 0U);
}

// What isolation protects is exactly a machine without stress.
TEST(TcpLabs, IsolatedIsAsQuiet) {
  const HostRun isolated = run_text(short_run(host_lab_text("cpu-isolated")));
  const HostRun quiet = run_text(with(short_run(host_lab_text("cpu-contention")), "stress: 64", "stress: 0"));
  EXPECT_EQ(tcp_of(isolated).received_B(), tcp_of(quiet).received_B());
  const auto& a = isolated.result.workloads[1].as<workload::PerftestResult>()->rows.front().samples_ps;
  const auto& b = quiet.result.workloads[1].as<workload::PerftestResult>()->rows.front().samples_ps;
  EXPECT_EQ(a, b);
}

TEST(TcpLabs, SmallerRingLosesMore) {
  const std::string text = short_run(host_lab_text("cpu-contention"));
  const HostRun small = run_text(with(text, "host: epyc-7551p\n", "host: epyc-7551p\n    set: {rx_ring: 256}\n"));
  const HostRun large = run_text(with(text, "host: epyc-7551p\n", "host: epyc-7551p\n    set: {rx_ring: 4096}\n"));
  EXPECT_GT(tcp_of(small).retransmits(), 100U);
  EXPECT_EQ(tcp_of(large).streams.front().receiver.ring_drops, 0U);
  EXPECT_LT(tcp_of(small).received_bps(), tcp_of(large).received_bps());
}

TEST(TcpLabs, SameOnTwoThreads) {
  const std::string text = short_run(host_lab_text("tcp-beside-rdma"));
  const HostRun one = run_text(text);
  lab::SessionOptions options;
  options.domains = options.threads = 2;
  const HostRun two = run_text(text, options);
  const auto streams = [](const HostRun& run) {
    std::vector<std::uint64_t> all;
    for (const auto& stream : run.result.workloads[1].as<workload::Iperf3Result>()->streams)
      all.insert(all.end(), {stream.sender.bytes, stream.receiver.bytes, stream.sender.retransmits});
    return all;
  };
  EXPECT_EQ(streams(one), streams(two));
}

// SACK and RACK find what was lost, and nothing else is retransmitted.
TEST(TcpLabs, RetransmissionsAreDrops) {
  const HostRun run = run_text(short_run(host_lab_text("tcp-beside-rdma")));
  std::uint64_t dropped = 0;
  for (const auto& link : run.result.links) dropped += link.ledger.of(fabric::Fate::kTailDrop);
  EXPECT_GT(dropped, 0U);
  EXPECT_EQ(run.result.workloads[1].as<workload::Iperf3Result>()->retransmits(), dropped);
}

// Reno at a loss rate p and a round trip R: 1.22 / sqrt(p) segments per R (Mathis 1997).
TEST(TcpLabs, RenoFollowsSquareRootOfLoss) {
  const std::string lab = R"(
version: 1
name: loss
nodes:
  a: {kind: host, nics: [{model: cx5-100g, ports: {p0: {address: 10.0.0.1/24}}}]}
  b: {kind: host, nics: [{model: cx5-100g, ports: {p0: {address: 10.0.0.2/24}}}]}
links: [{endpoints: ["a:p0", "b:p0"], cable: {kind: dac, length: 1 m}}]
faults: [{name: loss, link: "a:p0", action: drop, probability: 0.1 %}]
workloads: [{name: tcp, iperf3: -t 1 -C reno, client: a, server: b}]
)";
  const HostRun one = run_text(lab), four = run_text(with(lab, "0.1 %", "0.4 %"));
  const workload::TcpStreamEnd& sender = tcp_of(one).streams.front().sender;
  const double rtt_s = static_cast<double>(sender.mean_rtt_ps) / 1e12;
  EXPECT_NEAR(tcp_of(one).received_bps() * rtt_s / 8 / 1448 / (1.22 / std::sqrt(0.001)), 1, 0.35);
  EXPECT_NEAR(tcp_of(one).received_bps() / tcp_of(four).received_bps(), 2, 0.7);
}

TEST(TcpLabs, JsonHasShapeOfIperf3) {
  const HostRun run = run_text(short_run(host_lab_text("cpu-isolated")));
  const std::string json = lab::results_json(*run.lab, run.result);
  for (const char* key : {"\"sum_sent\"", "\"sum_received\"", "\"snd_cwnd\"", "\"bits_per_second\"",
                          "\"cpu_utilization_percent\"", "\"sender_tcp_congestion\":\"cubic\""})
    EXPECT_NE(json.find(key), std::string::npos) << key;
}

TEST(TcpLabs, SaysWhatIsWrongWithCpus) {
  const std::string text = host_lab_text("cpu-contention");
  EXPECT_NE(first_problem(with(text, "\"16-23,48-55,2-7,34-39\"", "\"16-64\"")).find("epyc-7551p has no CPU 64"),
            std::string::npos);
  EXPECT_NE(first_problem(with(text, "irq: \"16\"", "irq: \"8\"")).find("CPU 8 is not one of vm00's"),
            std::string::npos);
  EXPECT_NE(first_problem(with(text, "cpus: 0}", "cpus: 28}")).find("vm01 has no CPU 28"), std::string::npos);
  EXPECT_NE(first_problem(with(text, "-t 10", "-A 40")).find("-A: vm01 has no CPU 40"), std::string::npos);
  EXPECT_NE(first_problem(with(text, "-t 10", "-C vegas")).find("this congestion control is not modelled"),
            std::string::npos);
  EXPECT_NE(
      first_problem(with(text, "stress: 64,", "stress: 64, isolated: \"0-63\",")).find("stress has none to run on"),
      std::string::npos);
}

}  // namespace
