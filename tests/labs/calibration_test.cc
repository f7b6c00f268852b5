// The measured public tables that the device and host parameters are held against (docs/sources.md): each row with what
// was measured, what Weft gives and the distance. The whole table is checked in (tests/labs/calibration.txt), so that a
// change of a parameter shows everything it moves; beside it stand the tolerances of the rows, and the framing limit
// computed here from header sizes alone.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "labfile/reader.h"
#include "tools/perftest/report.h"
#include "world/runner.h"

namespace {

using namespace weft;

enum class Column { kGbps, kMpps, kTypical_us, kP99_us, kP999_us };

struct Row {
  const char* source;
  const char* lab;   // under labs/
  const char* test;  // perftest and its flags, or a workload of the lab: "workload near"
  std::uint64_t size_B;
  Column column;
  double measured;
  double tolerance_pct;  // 0: a check, its distance is reported only
};

constexpr const char* kSweep = "write_bw -a --report_gbits";

constexpr Row kRows[] = {
    // ConnectX-4 Lx back to back.
    {"[mcornea-lab]", "two-node-25g", kSweep, 2, Column::kMpps, 3.751204, 3},
    {"[mcornea-lab]", "two-node-25g", kSweep, 64, Column::kGbps, 1.93, 3},
    {"[mcornea-lab]", "two-node-25g", kSweep, 64, Column::kMpps, 3.769190, 3},
    {"[mcornea-lab]", "two-node-25g", kSweep, 512, Column::kGbps, 15.43, 3},
    {"[mcornea-lab]", "two-node-25g", kSweep, 512, Column::kMpps, 3.768025, 3},
    {"[mcornea-lab]", "two-node-25g", kSweep, 1024, Column::kGbps, 22.67, 3},
    {"[mcornea-lab]", "two-node-25g", kSweep, 1024, Column::kMpps, 2.766892, 3},
    {"[mcornea-lab]", "two-node-25g", kSweep, 4096, Column::kGbps, 24.40, 3},
    {"[mcornea-lab]", "two-node-25g", kSweep, 4096, Column::kMpps, 0.744519, 3},
    {"[mcornea-lab]", "two-node-25g", kSweep, 65536, Column::kGbps, 24.50, 3},
    {"[mcornea-lab]", "two-node-25g", kSweep, 65536, Column::kMpps, 0.046733, 3},
    {"[mcornea-lab]", "two-node-25g", kSweep, 1048576, Column::kGbps, 24.51, 3},
    {"[mcornea-lab]", "two-node-25g", kSweep, 1048576, Column::kMpps, 0.002922, 3},
    {"[mcornea-lab]", "two-node-25g", "write_lat", 2, Column::kTypical_us, 1.41, 5},
    {"framing 1024", "two-node-25g-mtu1500", "write_bw --report_gbits", 65536, Column::kGbps, 23.141, 0.5},
    // [gpu-operator]: 100G, IB MTU 1024.
    {"[gpu-operator]", "measured/v7-100g-gpu-memory", kSweep, 2, Column::kMpps, 6.897, 5},
    {"[gpu-operator]", "measured/v7-100g-gpu-memory", kSweep, 64, Column::kMpps, 7.007, 5},
    {"[gpu-operator]", "measured/v7-100g-gpu-memory", kSweep, 256, Column::kMpps, 7.314, 5},
    {"[gpu-operator]", "measured/v7-100g-gpu-memory", kSweep, 512, Column::kMpps, 7.259, 5},
    {"[gpu-operator]", "measured/v7-100g-gpu-memory", kSweep, 1024, Column::kMpps, 7.179, 5},
    {"[gpu-operator]", "measured/v7-100g-gpu-memory", kSweep, 2048, Column::kGbps, 91.47, 5},
    {"[gpu-operator]", "measured/v7-100g-gpu-memory", kSweep, 4096, Column::kGbps, 92.06, 5},
    {"[gpu-operator]", "measured/v7-100g-gpu-memory", kSweep, 8192, Column::kGbps, 92.31, 5},
    {"[gpu-operator]", "measured/v7-100g-gpu-memory", kSweep, 16384, Column::kGbps, 92.46, 5},
    {"[gpu-operator]", "measured/v7-100g-gpu-memory", kSweep, 65536, Column::kGbps, 92.38, 5},
    {"[gpu-operator]", "measured/v7-100g-gpu-memory", kSweep, 1048576, Column::kGbps, 92.40, 5},
    {"[gpu-operator]", "measured/v7-100g-gpu-memory", kSweep, 8388608, Column::kGbps, 92.39, 5},
    // [cx5-cx6-25g]: ConnectX-5 to ConnectX-6 at 25G. 2709.48 MiB/s.
    {"[cx5-cx6-25g]", "measured/v11-25g-cx5-cx6", "write_bw --report_gbits", 65536, Column::kGbps, 22.729, 5},
    {"[cx5-cx6-25g]", "measured/v11-25g-cx5-cx6", "write_lat", 2, Column::kTypical_us, 1.33, 5},
    // Large messages against the framing limit.
    {"framing 4096", "two-node-100g", "write_bw --report_gbits", 65536, Column::kGbps, 98.014, 0.5},
    {"framing 4096", "two-node-200g", "write_bw --report_gbits", 65536, Column::kGbps, 196.03, 0.5},
    {"framing 4096", "two-node-400g", "write_bw --report_gbits", 65536, Column::kGbps, 392.06, 0.5},
    // Checks, not fitted: [ndr-dac] is InfiniBand framing, [send-bw-100g] does not name its NIC, the latencies their
    // hosts.
    {"[ndr-dac] (IB)", "two-node-400g", "send_lat", 2, Column::kTypical_us, 1.27, 0},
    {"[ndr-dac] (IB)", "two-node-400g", "send_bw --report_gbits", 65536, Column::kGbps, 390.5, 0},
    {"[ndr-dac] (IB)", "two-node-400g", "read_bw --report_gbits", 65536, Column::kGbps, 328.61, 1},
    {"[ndr-dac] (IB)", "two-node-400g", "write_bw --report_gbits", 65536, Column::kGbps, 392.34, 0},
    {"[send-bw-100g]", "two-node-100g", "send_bw -a --report_gbits", 2, Column::kMpps, 2.85, 0},
    {"[send-bw-100g]", "two-node-100g", "send_bw -a --report_gbits", 4096, Column::kGbps, 84.23, 0},
    {"[send-bw-100g]", "two-node-100g", "send_bw -a --report_gbits", 8192, Column::kGbps, 97.31, 0},
    {"[send-bw-100g]", "two-node-100g", "send_bw -a --report_gbits", 65536, Column::kGbps, 98.14, 0},
    {"[cx5-latency]", "two-node-100g", "write_lat", 2, Column::kTypical_us, 1.58, 0},
    {"[cx5-latency]", "two-node-100g", "read_lat", 2, Column::kTypical_us, 2.69, 0},
    {"[cx5-latency]", "two-node-100g", "atomic_lat", 8, Column::kTypical_us, 2.65, 0},
    {"[spark-vllm-docker]", "dgx-spark", "write_lat", 2, Column::kTypical_us, 1.47, 0},
    {"[spark-vllm-docker]", "dgx-spark", "write_bw -q 4 --report_gbits", 65536, Column::kGbps, 111.7, 0},
    {"[mcornea-pfc]", "two-node-25g", "write_bw -b --report_gbits", 65536, Column::kGbps, 48.912, 0},
    {"[kentino]", "two-node-100g", "send_lat", 2, Column::kTypical_us, 1.25, 0},
    {"[kentino]", "two-node-200g", "send_lat", 2, Column::kTypical_us, 1.10, 0},
    {"[kentino]", "two-node-400g", "send_lat", 2, Column::kTypical_us, 0.95, 0},
    // One ConnectX-5 rig, through a switch.
    {"[simllm-size]", "measured/cx5-rig", "workload depth1", 64, Column::kGbps, 0.130, 10},
    {"[simllm-size]", "measured/cx5-rig", "workload depth1", 256, Column::kGbps, 0.515, 10},
    {"[simllm-size]", "measured/cx5-rig", "workload depth1", 1024, Column::kGbps, 1.955, 10},
    {"[simllm-size]", "measured/cx5-rig", "workload depth1", 2048, Column::kGbps, 3.710, 10},
    {"[simllm-size]", "measured/cx5-rig", "workload depth1", 4096, Column::kGbps, 7.040, 10},
    {"[simllm-size]", "measured/cx5-rig", "workload depth1", 8192, Column::kGbps, 12.965, 10},
    {"[simllm-size]", "measured/cx5-rig", "workload depth1", 16384, Column::kGbps, 21.950, 10},
    {"[simllm-size]", "measured/cx5-rig", "workload depth1", 32768, Column::kGbps, 33.485, 10},
    {"[simllm-size]", "measured/cx5-rig", "workload depth1", 65536, Column::kGbps, 49.630, 10},
    {"[simllm-size]", "measured/cx5-rig", "workload depth1", 131072, Column::kGbps, 65.930, 10},
    {"[simllm-size]", "measured/cx5-rig", "workload depth1", 262144, Column::kGbps, 79.230, 10},
    {"[simllm-size]", "measured/cx5-rig", "workload depth1", 524288, Column::kGbps, 87.355, 10},
    {"[simllm-size]", "measured/cx5-rig", "workload depth1", 1048576, Column::kGbps, 73.955, 0},
    {"[simllm-size]", "measured/cx5-rig", "workload depth1", 2097152, Column::kGbps, 75.590, 0},
    {"[simllm-size]", "measured/cx5-rig", "workload depth1", 4194304, Column::kGbps, 77.025, 0},
    {"[simllm-size]", "measured/cx5-rig", "workload depth1", 8388608, Column::kGbps, 77.060, 0},
    {"[simllm-size]", "measured/cx5-rig", "workload small", 1024, Column::kMpps, 3.87, 10},
    {"[simllm-size]", "measured/cx5-rig", "workload ceiling", 65536, Column::kGbps, 97.7, 1},
    {"[simllm-size]", "measured/cx5-rig", "workload duplex", 65536, Column::kGbps, 195.0, 1},
    {"[simllm-size]", "measured/cx5-rig", "workload mtu1024", 65536, Column::kGbps, 92.2, 1},
    {"[simllm-size]", "measured/cx5-rig", "workload lat", 2, Column::kTypical_us, 2.10, 10},
    {"[simllm-size]", "measured/cx5-rig", "workload read-lat", 2, Column::kTypical_us, 3.99, 10},
    {"[simllm-ingress]", "measured/cx5-ingress-loss", "workload deep-8k", 8192, Column::kGbps, 77.18, 0},
    {"[simllm-ingress]", "measured/cx5-ingress-loss", "workload deep-64k", 65536, Column::kGbps, 81.42, 0},
    {"[simllm-ingress]", "measured/cx5-ingress-loss", "workload deep-256k", 262144, Column::kGbps, 82.09, 0},
    {"[simllm-ingress]", "measured/cx5-ingress-loss", "workload deep-512k", 524288, Column::kGbps, 81.95, 0},
    {"[simllm-ingress]", "measured/cx5-ingress-loss", "workload gap-8k", 8192, Column::kGbps, 88.16, 1},
    {"[simllm-ingress]", "measured/cx5-ingress-loss", "workload gap-64k-100us", 65536, Column::kGbps, 84.97, 1},
    {"[simllm-ingress]", "measured/cx5-ingress-loss", "workload many", 65536, Column::kGbps, 97.44, 10},
    // Virtual functions, and what turns round inside a NIC.
    {"[simllm-loopback]", "measured/m7-loopback-cx5", "workload loop-alone", 65536, Column::kGbps, 196.6, 3},
    {"[bf3-vf]", "measured/m13-bf3-vf", "workload one", 65536, Column::kGbps, 196.03, 0},
    {"[bf3-vf]", "measured/m13-bf3-vf", "workload many", 65536, Column::kGbps, 196.03, 0},
    {"[bf3-vf]", "measured/m13-bf3-vf", "workload lat", 2, Column::kTypical_us, 2.40, 0},
    {"[bf3-vf]", "measured/m13-bf3-vf", "workload lat", 2, Column::kP99_us, 3.57, 0},
    {"[bf3-vf]", "measured/m13-bf3-vf", "workload lat", 2, Column::kP999_us, 6.21, 0},
    // Where memory is: NUMA, GPUs, PCIe (docs/mechanisms/host.md).
    {"[mcornea-lab]", "two-vms-one-host", "workload near", 2, Column::kTypical_us, 1.44, 10},
    {"[mcornea-lab]", "two-vms-one-host", "workload near", 2, Column::kP99_us, 1.53, 10},
    {"[mcornea-lab]", "two-vms-one-host", "workload near", 2, Column::kP999_us, 5.22, 10},
    {"[mcornea-lab]", "two-vms-one-host", "workload wrong", 2, Column::kTypical_us, 1.62, 10},
    {"[mcornea-lab]", "two-vms-one-host", "workload wrong", 2, Column::kP99_us, 1.97, 10},
    {"[mcornea-lab]", "two-vms-one-host", "workload wrong", 2, Column::kP999_us, 7.99, 10},
    {"[mcornea-lab]", "two-vms-one-host", "workload contended", 2, Column::kTypical_us, 1.50, 10},
    {"[mcornea-lab]", "two-vms-one-host", "workload contended", 2, Column::kP99_us, 1.71, 10},
    {"[mcornea-lab]", "two-vms-one-host", "workload contended", 2, Column::kP999_us, 7.59, 10},
    {"[hdr-numa]", "host/numa-near-far-200g", "workload near", 65536, Column::kGbps, 187.0, 10},
    {"[hdr-numa]", "host/numa-near-far-200g", "workload far", 65536, Column::kGbps, 90.5, 10},
    {"[mcornea-pfc]", "host/gpudirect-25g", "workload gpu", 65536, Column::kGbps, 24.5, 3},
    {"[mcornea-pfc]", "host/gpudirect-25g", "workload host-both", 65536, Column::kGbps, 48.912, 3},
    {"[mcornea-pfc]", "host/gpudirect-25g", "workload gpu-both", 65536, Column::kGbps, 44.424, 10},
    {"[mooncake]", "host/relaxed-ordering", "workload gpu-ordered", 65536, Column::kGbps, 120, 10},
    {"[mooncake]", "host/relaxed-ordering", "workload host-ordered", 65536, Column::kGbps, 376, 10},
    {"[mlperf-dgx-h100]", "host/relaxed-ordering", "workload gpu", 65536, Column::kGbps, 392, 10},
    {"[sd665-h100]", "host/gpu-position-h100", "workload host", 1048576, Column::kGbps, 229.55, 10},
    {"[sd665-h100]", "host/gpu-position-h100", "workload gpu0", 1048576, Column::kGbps, 147.01, 0},
    {"[sd665-h100]", "host/gpu-position-h100", "workload gpu1", 1048576, Column::kGbps, 109.57, 0},
    {"[sd665-h100]", "host/gpu-position-h100", "workload gpu2", 1048576, Column::kGbps, 69.22, 0},
    {"[sd665-h100]", "host/gpu-position-h100", "workload gpu2-to-gpu1", 1048576, Column::kGbps, 103.79, 10},
    {"[sd665-h100]", "host/gpu-position-h100", "workload gpu1-to-gpu2", 1048576, Column::kGbps, 104.55, 10},
    {"[pollara-mi355x]", "host/gpu-bidirectional-400g", "workload host", 1048576, Column::kGbps, 779.08, 10},
    {"[pollara-mi355x]", "host/gpu-bidirectional-400g", "workload gpu", 1048576, Column::kGbps, 696.64, 10},
};

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// One simulated perftest; several rows share it.
const workload::PerftestNumbers& simulated(const Row& row) {
  static std::map<std::string, std::map<std::uint64_t, workload::PerftestNumbers>> cache;
  auto& sizes = cache[fmt::format("{} {}", row.lab, row.test)];
  if (sizes.empty()) {
    std::string path = fmt::format("{}/labs/{}.yaml", WEFT_SOURCE_DIR, row.lab);
    auto lab = lab::read_lab(read_file(path), path);
    EXPECT_TRUE(lab) << path;
    std::vector<std::string> words = workload::split_words(row.test);
    std::string test = words.front();
    words.erase(words.begin());
    lab::WorkloadConfig workload;
    if (test == "workload") {
      for (const lab::WorkloadConfig& each : lab->workloads) {
        if (each.name == words.front()) workload = each;
      }
      EXPECT_EQ(workload.name, words.front());
    } else {
      auto parsed = workload::parse_perftest(test, words);
      EXPECT_TRUE(parsed) << row.test;
      workload.name = test;
      workload.client = lab->links.front().a;
      workload.server = lab->links.front().b;
      workload.options = *parsed;
    }
    const auto* options = workload.as<workload::PerftestOptions>();
    lab->workloads = {workload};
    lab->expectations.clear();
    auto result = lab::run_lab(*lab, {});
    EXPECT_TRUE(result);
    for (const workload::PerftestRow& measured : result->workloads.front().as<workload::PerftestResult>()->rows) {
      EXPECT_EQ(measured.failure, "");
      sizes[measured.size_B] = workload::perftest_numbers(*options, measured);
    }
  }
  return sizes.at(row.size_B);
}

double value_of(const Row& row) {
  const workload::PerftestNumbers& numbers = simulated(row);
  switch (row.column) {
    case Column::kGbps:
      return numbers.bw_average_Gbps;
    case Column::kMpps:
      return numbers.msg_rate_Mpps;
    case Column::kTypical_us:
      return numbers.t_typical_us;
    case Column::kP99_us:
      return numbers.p99_us;
    case Column::kP999_us:
      return numbers.p999_us;
  }
  return 0;
}

// What [simllm-ingress] counted: 0.18 % of a saturating flow, 73 packets for each packet_seq_err; nothing with pauses
// or both ways.
TEST(Calibration, IngressLossOfSaturatingFlow) {
  std::string path = std::string(WEFT_SOURCE_DIR) + "/labs/measured/cx5-ingress-loss.yaml";
  auto lab = lab::read_lab(read_file(path), path);
  ASSERT_TRUE(lab);
  const std::vector<lab::WorkloadConfig> all = lab->workloads;
  lab->expectations.clear();
  for (const lab::WorkloadConfig& each : all) {
    if (each.name != "deep-64k" && each.name != "gap-8k" && each.name != "gap-64k-100us" && each.name != "both")
      continue;
    lab->workloads = {each};
    auto result = lab::run_lab(*lab, {});
    ASSERT_TRUE(result);
    double lost = 0, received = 0, gaps = 0;
    for (const lab::PortOutcome& port : result->ports) {
      gaps += static_cast<double>(port.counters.packet_seq_err);
      if (port.name != "b:p0") continue;
      lost = static_cast<double>(port.counters.rx_discards_phy);
      for (const auto& priority : port.counters.priorities) received += static_cast<double>(priority.rx.packets);
    }
    if (each.name == "deep-64k") {
      EXPECT_NEAR(100 * lost / (lost + received), 0.18, 0.054);
      EXPECT_NEAR(lost / gaps, 73, 22);
    } else {
      EXPECT_EQ(lost, 0) << each.name;
    }
  }
}

std::string table() {
  constexpr const char* kUnits[] = {"Gb/s", "Mpps", "us typ", "us p99", "us 99.9"};
  std::string out = fmt::format("{:<20} {:<28} {:<32} {:>8} {:<7} {:>10} {:>10} {:>7} {:>7}\n", "source", "lab", "test",
                                "bytes", "unit", "measured", "weft", "%", "allowed");
  for (const Row& row : kRows) {
    double value = value_of(row);
    std::string allowed = row.tolerance_pct > 0 ? fmt::format("{}", row.tolerance_pct) : "check";
    out += fmt::format("{:<20} {:<28} {:<32} {:>8} {:<7} {:>10.6g} {:>10.6g} {:>+7.2f} {:>7}\n", row.source, row.lab,
                       row.test, row.size_B, kUnits[static_cast<int>(row.column)], row.measured, value,
                       100 * (value / row.measured - 1), allowed);
  }
  return out;
}

TEST(Calibration, FittedRowsAreWithinTolerance) {
  for (const Row& row : kRows) {
    if (row.tolerance_pct == 0) continue;
    double distance_pct = 100 * (value_of(row) / row.measured - 1);
    EXPECT_LE(std::abs(distance_pct), row.tolerance_pct)
        << row.source << " " << row.lab << " " << row.test << " " << row.size_B;
  }
}

// What the wire allows, from header sizes alone: preamble 8, Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4, FCS 4, gap 12
// for each packet and a RETH of 16 for each message.
double framing_limit_Gbps(double rate_Gbps, double message_B, double mtu_B) {
  double packets = std::ceil(message_B / mtu_B);
  return rate_Gbps * message_B / (message_B + packets * 82 + 16);
}

TEST(Calibration, NoRowExceedsFramingLimit) {
  const std::map<std::string, std::pair<double, double>> wires = {{"two-node-25g", {25, 4096}},
                                                                  {"two-node-25g-mtu1500", {25, 1024}},
                                                                  {"measured/v7-100g-gpu-memory", {100, 1024}},
                                                                  {"two-node-100g", {100, 4096}},
                                                                  {"two-node-200g", {200, 4096}},
                                                                  {"two-node-400g", {400, 4096}}};
  int compared = 0;
  for (const Row& row : kRows) {
    bool write_bw =
        std::string(row.test).rfind("write_bw", 0) == 0 && std::string(row.test).find(" -b") == std::string::npos;
    auto wire = wires.find(row.lab);
    if (!write_bw || wire == wires.end()) continue;
    double limit = framing_limit_Gbps(wire->second.first, static_cast<double>(row.size_B), wire->second.second);
    EXPECT_LE(simulated(row).bw_average_Gbps, limit * 1.00001) << row.lab << " " << row.size_B;
    // From 4 KiB on the wire is the only limit.
    if (row.size_B >= 4096) {
      EXPECT_GE(simulated(row).bw_average_Gbps, limit * 0.995) << row.lab << " " << row.size_B;
    }
    ++compared;
  }
  EXPECT_GT(compared, 20);
}

TEST(Calibration, MatchesExpectedTable) {
  std::string path = std::string(WEFT_SOURCE_DIR) + "/tests/labs/calibration.txt";
  std::string now = table();
  if (std::getenv("WEFT_REGENERATE") != nullptr) std::ofstream(path) << now;
  EXPECT_EQ(now, read_file(path)) << "after a deliberate change: WEFT_REGENERATE=1, and say why in the commit";
}

}  // namespace
