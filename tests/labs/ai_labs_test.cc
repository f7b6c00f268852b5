// Collectives: the labs of labs/ai run and meet what they expect; bytes on each link and times against arithmetic; the
// same results on any number of threads; bad input.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "labfile/reader.h"
#include "model/workload_metrics.h"
#include "results/lossless_loss.h"
#include "results/report.h"
#include "results/results_json.h"
#include "world/runner.h"

namespace {

using namespace weft;

std::string ai_text(const std::string& name) {
  std::ifstream file(std::string(WEFT_SOURCE_DIR) + "/labs/" + name + ".yaml");
  EXPECT_TRUE(file.good()) << name;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

struct AiRun {
  std::unique_ptr<lab::Lab> lab;
  lab::RunResult result;
  std::string json;
};
AiRun run_ai(const std::string& text, const std::vector<std::string>& overrides = {}, std::uint32_t threads = 1) {
  auto read = lab::read_lab(text, "lab.yaml", overrides);
  EXPECT_TRUE(read) << (read ? "" : lab::format_problem("lab.yaml", read.error().front()));
  AiRun run{std::make_unique<lab::Lab>(std::move(*read)), {}, {}};
  lab::SessionOptions options;
  options.domains = options.threads = threads;
  auto result = lab::run_lab(*run.lab, options);
  EXPECT_TRUE(result);
  run.result = std::move(*result);
  lab::results_json(*run.lab, run.result, [&](std::string_view piece) { run.json += piece; });
  return run;
}
const workload::NcclResult& nccl_of(const AiRun& run, std::size_t workload = 0) {
  return *run.result.workloads.at(workload).as<workload::NcclResult>();
}

// Every figure that a lab of labs/ai measures. What they should be is in the other tests here and in job_labs_test.cc;
// this table shows what a change moves. What labs_test asks of the other labs is asked here of these: one run is
// enough.
TEST(AiLabs, FiguresAreGolden) {
  std::vector<std::filesystem::path> labs;
  for (const auto& entry : std::filesystem::directory_iterator(WEFT_SOURCE_DIR "/labs/ai")) {
    if (entry.path().extension() == ".yaml") labs.push_back(entry.path());
  }
  std::sort(labs.begin(), labs.end());
  std::string now;
  for (const std::filesystem::path& path : labs) {
    auto read = lab::read_lab(ai_text("ai/" + path.stem().string()), path.string(), {});
    ASSERT_TRUE(read) << lab::format_problem(path.string(), read.error().front());
    const auto result = lab::run_lab(*read, {});
    ASSERT_TRUE(result);
    EXPECT_FALSE(read->workloads.empty() || read->expectations.empty()) << path;
    EXPECT_TRUE(result->ledger_balances()) << path;
    EXPECT_TRUE(result->expectations_met()) << path << "\n" << lab::report(*read, *result, {});
    EXPECT_TRUE(result->failures().empty()) << path;
    for (const lab::WorkloadOutcome& workload : result->workloads) {
      workload.visit([&](const auto& options, const auto& outcome) {
        for (std::string_view metric : workload::metric_names(options)) {
          const std::optional<double> value = workload::metric_value(options, outcome, metric);
          if (value)
            now +=
                fmt::format("{:<28}{:<12}{:<36}{:.6g}\n", path.stem().string(), workload.config->name, metric, *value);
        }
      });
    }
    std::uint64_t frames = 0;
    for (const lab::LinkOutcome& link : result->links) frames += link.ledger.sent;
    now += fmt::format("{:<28}{:<12}{:<36}{}\n", path.stem().string(), "links", "frames", frames);
  }
  const std::string path = WEFT_SOURCE_DIR "/tests/labs/ai.txt";
  if (std::getenv("WEFT_REGENERATE") != nullptr) std::ofstream(path) << now;
  std::ostringstream golden;
  golden << std::ifstream(path).rdbuf();
  EXPECT_EQ(now, golden.str()) << "after a deliberate change: WEFT_REGENERATE=1, and say why in the commit";
}

TEST(AiLabs, LogTellsTransport) {
  const auto log = [](const char* name) { return nccl_of(run_ai(ai_text(std::string("ai/") + name))).log; };
  EXPECT_NE(log("socket-fallback").find("via NET/Socket/0"), std::string::npos);
  const std::string staged = log("gdr-off");
  EXPECT_NE(staged.find("via NET/IB/0\n"), std::string::npos);
  EXPECT_EQ(staged.find("GDRDMA"), std::string::npos);
}

// Half of what arrives goes on to the other socket, which takes less than half of the line rate: PFC holds the rest
// back, and the NICs' receive buffers lose nothing.
TEST(AiLabs, ReceiversBehindSlowSocketLoseNothing) {
  const std::string text = ai_text("ai/healthy-2x4");
  const AiRun run = run_ai(text.substr(0, text.find("workloads:")) +
                           "workloads: [{name: all, nccl: alltoall_perf -b 64M -e 64M -g 1 -c 0}]\n");
  std::uint64_t pauses = 0;
  for (const lab::PortOutcome& port : run.result.ports) {
    EXPECT_EQ(port.counters.rx_discards_phy, 0U) << port.name;
    pauses += port.counters.tx_pause[3];
  }
  EXPECT_GT(pauses, 100U) << "they were nearly full";
  EXPECT_TRUE(lab::lossless_losses(*run.lab, run.result).empty());
}

// A ring of hosts with one GPU and one 200G NIC each.
std::string ring_of(std::uint32_t hosts, const std::string& test) {
  std::string text = "version: 1\nname: ring\ndescription: x\nseed: 1\nnodes:\n";
  for (std::uint32_t i = 0; i < hosts; ++i)
    text += fmt::format(
        "  h{0}:\n    kind: host\n    host: dgx-h100\n    gpus: [{{model: h100-sxm, slot: gpu0}}]\n    nics:\n"
        "      - {{model: cx6-200g, slot: nic0, ports: {{p0: {{address: 10.0.0.{1}/24, mtu: 4200 B}}}}}}\n",
        i, i + 1);
  text += "  leaf: {kind: switch, model: sn3700}\nlinks:\n";
  for (std::uint32_t i = 0; i < hosts; ++i)
    text +=
        fmt::format("  - {{endpoints: [\"h{}:p0\", \"leaf:swp{}\"], cable: {{kind: dac, length: 2 m}}}}\n", i, i + 1);
  return text + "qos: {profile: roce-lossless}\nworkloads:\n  - {name: ar, nccl: " + test +
         ", env: {NCCL_ALGO: ring, NCCL_PROTO: Simple}}\n";
}

// 2(n-1)/n of the buffer leaves and enters every NIC, and bus bandwidth comes near the line's.
TEST(AiLabs, RingAllReduceNearLineRate) {
  const double line_GBps = 200.0 / 8 * 4096 / (4096 + 82);
  for (std::uint32_t hosts : {2U, 3U, 8U, 16U}) {
    const std::uint64_t size_B = 64 << 20;
    const AiRun run = run_ai(ring_of(hosts, fmt::format("all_reduce_perf -b {0} -e {0} -n 1 -w 0", size_B)));
    const auto& report = nccl_of(run).report;
    ASSERT_EQ(report.rows.size(), 1U);
    ASSERT_TRUE(report.rows[0].places[0]);
    const double busbw = report.rows[0].places[0]->busbw;
    EXPECT_LT(busbw, line_GBps) << hosts;
    // At the end of each loop a block only receives: one of its 2n-1 primitives leaves the line idle for a while.
    EXPECT_GT(busbw, (1 - 0.31 / hosts) * line_GBps) << hosts;
    EXPECT_EQ(report.wrong(), 0U);
    // Two runs, out of place and in place; 58 B of headers around each 4096. WRITEs with immediate carry the data; the
    // FIFO's 64 B are beside it.
    const double each_B = 2.0 * 2 * (hosts - 1) / hosts * static_cast<double>(size_B);
    for (const auto& port : run.result.ports) {
      if (port.name.starts_with("leaf")) continue;
      EXPECT_NEAR(static_cast<double>(port.counters.tx().bytes) / each_B, 1.015, 0.003) << port.name << " of " << hosts;
    }
  }
}

TEST(AiLabs, ThreadsChangeNothing) {
  const std::string text = ring_of(4, "alltoall_perf -b 1K -e 4M -f 64 -n 2");
  const std::string one = run_ai(text).json;
  EXPECT_EQ(one, run_ai(text, {}, 2).json);
  EXPECT_EQ(one, run_ai(text, {}, 4).json);
}

TEST(AiLabs, BadInputIsNamed) {
  const auto problem = [](const std::string& workload) {
    std::string text = ring_of(2, "all_reduce_perf -b 8 -e 8");
    text = text.substr(0, text.find("workloads:")) + "workloads:\n  - " + workload + "\n";
    auto read = lab::read_lab(text, "lab.yaml");
    EXPECT_FALSE(read) << workload;
    return read ? std::string() : lab::format_problem("lab.yaml", read.error().front());
  };
  EXPECT_NE(problem("{name: x, nccl: all_reduce_perf -g 2}").find("2 ranks on h0, which has 1 GPU"), std::string::npos);
  EXPECT_NE(problem("{name: x, nccl: all_reduce_perf -e 64G}").find("needs 3 buffers"), std::string::npos);
  EXPECT_NE(problem("{name: x, nccl: all_reduce_perf -e 8 -b 8, gpus_per_host: 4}").find("4 ranks on h0"),
            std::string::npos);
  EXPECT_NE(problem("{name: x, nccl: reduce_perf -b 8 -r 7}").find("there are 2 ranks"), std::string::npos);
  EXPECT_NE(problem("{name: x, nccl: all_reduce_pref}").find("did you mean"), std::string::npos);
  EXPECT_NE(problem("{name: x, nccl: all_reduce_perf, env: {PATH: /}}").find("not a variable of NCCL"),
            std::string::npos);
  EXPECT_NE(problem("{name: x, nccl: all_reduce_perf, nccl_version: 2.17.1}").find("from 2.18 to 2.30"),
            std::string::npos);
  EXPECT_NE(problem("{name: x, nccl: all_reduce_perf, env: {NCCL_IB_GID_INDEX: 2}}").find("is RoCE v1"),
            std::string::npos);
  EXPECT_NE(problem("{name: x, nccl: all_reduce_perf, env: {NCCL_IB_GID_INDEX: 5}}").find("empty entry"),
            std::string::npos);
  EXPECT_NE(
      problem("{name: x, nccl: all_gather_perf -b 8 -e 8, algorithm: halving-doubling}").find("another collective"),
      std::string::npos);
  EXPECT_NE(problem("{name: x, nccl: all_reduce_perf -b 8 -e 8, algorithm: halving}").find("halving-doubling"),
            std::string::npos);
  EXPECT_NE(
      problem("{name: x, nccl: all_reduce_perf -b 8 -e 8, env: {NCCL_ALGO: PAT}}").find("no algorithm and protocol"),
      std::string::npos);
  EXPECT_NE(problem("{name: x, nccl: all_reduce_perf, client: h0}").find("does not fit"), std::string::npos);
}

// Ranks that only send run ahead of a root that receives from all: the iterations that are simulated must tell the time
// of those that are not.
// Rails that do not meet: without PXN a rank cannot reach the others on their rails. That is told before anything runs.
TEST(AiLabs, SeparateRailsFailBeforeRun) {
  std::string text = ai_text("measured/m19-rccl-mi355x");
  text = text.substr(0, text.find("workloads:"));
  const auto run_with = [&](const char* workload) { return run_ai(text + "workloads:\n  - " + workload + "\n"); };
  const AiRun without = run_with("{name: a, nccl: alltoall_perf -b 64K -e 64K, env: {NCCL_PXN_DISABLE: 1}}");
  const std::string& failure = nccl_of(without).report.failure;
  EXPECT_NE(failure.find("no path joins n1:p7 and n0:p0"), std::string::npos) << failure;
  EXPECT_NE(failure.find("NCCL_PXN_DISABLE=0"), std::string::npos) << failure;
  EXPECT_TRUE(nccl_of(without).report.rows.empty());
  EXPECT_FALSE(without.result.failures().empty());
  const AiRun with = run_with("{name: a, nccl: alltoall_perf -b 64K -e 64K, env: {NCCL_PXN_DISABLE: 0}}");
  EXPECT_EQ(nccl_of(with).report.failure, "");
  EXPECT_EQ(nccl_of(with).report.rows.size(), 1u);
  EXPECT_TRUE(with.result.failures().empty());
}

TEST(AiLabs, RootedIterationsStandForAll) {
  const std::string text = ai_text("ai/healthy-2x4");
  for (const char* test : {"gather_perf", "scatter_perf", "broadcast_perf"}) {
    const auto time_us = [&](bool every) {
      const std::string workload = fmt::format("workloads: [{{name: x, nccl: {} -b 32M -e 32M -c 0 -n 16}}]\n", test);
      auto lab = lab::read_lab(text.substr(0, text.find("workloads:")) + workload, "lab.yaml");
      std::get<workload::NcclOptions>(lab->workloads.at(0).options).every_iteration = every;
      const auto result = lab::run_lab(*lab, {});
      const auto& place = *result->workloads.at(0).as<workload::NcclResult>()->report.rows.at(0).places[0];
      EXPECT_EQ(place.iterations == 16, every) << test;
      return place.time_us;
    };
    EXPECT_NEAR(time_us(false) / time_us(true), 1, 0.15) << test;
  }
}

// -m: one kernel for sixteen all-reduces, where each alone has a launch and an end.
TEST(AiLabs, AggregatedIterationsAreOneKernel) {
  const auto time_us = [](const std::string& flags) {
    const AiRun run = run_ai(ring_of(2, "all_reduce_perf -b 1K -e 1K -n 8 " + flags));
    EXPECT_EQ(nccl_of(run).report.wrong(), 0U);
    return nccl_of(run).report.rows.at(0).places[0]->time_us;
  };
  EXPECT_LT(time_us("-m 16"), 0.5 * time_us("-m 1"));
}

// Warm-ups are simulated where they cost little: their frames are on the links, and a row's time is its own.
TEST(AiLabs, WarmUpsAreSimulated) {
  const auto frames = [](const AiRun& run) {
    std::uint64_t sum = 0;
    for (const lab::LinkOutcome& link : run.result.links) sum += link.ledger.sent;
    return sum;
  };
  const AiRun cold = run_ai(ring_of(2, "all_reduce_perf -b 1M -e 1M -n 4 -w 0"));
  const AiRun warm = run_ai(ring_of(2, "all_reduce_perf -b 1M -e 1M -n 4 -w 4"));
  EXPECT_NEAR(static_cast<double>(frames(warm)) / static_cast<double>(frames(cold)), 2, 0.1);
  const auto time_us = [](const AiRun& run) { return nccl_of(run).report.rows[0].places[0]->time_us; };
  EXPECT_NEAR(time_us(warm) / time_us(cold), 1, 0.05);
}

// Blocks of collectives hold SMs: compute beside them is slowed by their share, and by nothing where none is beside it.
TEST(AiLabs, CollectivesTakeSms) {
  const auto slowed = [](const std::vector<std::string>& overrides) {
    const AiRun run = run_ai(ai_text("ai/sms-taken"), overrides);
    double percent = -1;
    run.result.workloads.at(0).visit([&](const auto& options, const auto& outcome) {
      percent = workload::metric_value(options, outcome, "slowed_percent").value_or(-1);
    });
    return percent;
  };
  const double all = slowed({});
  const double four = slowed({"workloads[step].job.env.NCCL_MAX_NCHANNELS=4"});
  EXPECT_NEAR(slowed({"workloads[step].job.overlap=false", "expect={}"}), 0, 1e-6);
  EXPECT_GT(all, 1);
  EXPECT_LT(all, 100.0 * 16 / (132 - 16));  // all of its time beside 16 blocks
  EXPECT_GT(four, 0.1);
  EXPECT_LT(four, 100.0 * 4 / (132 - 4));
}

// MPI's recursive halving and doubling: as many bytes as a ring, in 2 log2(n) steps instead of 2(n-1).
TEST(AiLabs, HalvingDoublingMovesWhatTheoryHas) {
  const std::string forced = ", env: {NCCL_ALGO: ring, NCCL_PROTO: Simple}";
  const auto run = [&](std::uint32_t hosts, std::uint64_t size_B, const std::string& how) {
    std::string text = ring_of(hosts, fmt::format("all_reduce_perf -b {0} -e {0} -n 1", size_B));
    return run_ai(text.replace(text.find(forced), forced.size(), how));
  };
  const auto time_us = [](const AiRun& one) { return nccl_of(one).report.rows.at(0).places[0]->time_us; };
  for (std::uint32_t hosts : {4U, 8U, 6U}) {
    const std::uint64_t size_B = 64 << 20;
    const AiRun large = run(hosts, size_B, ", algorithm: halving-doubling");
    EXPECT_EQ(nccl_of(large).choices.front(), "HALVING_DOUBLING/SIMPLE");
    EXPECT_EQ(nccl_of(large).report.wrong(), 0U);
    if (std::has_single_bit(hosts)) {
      EXPECT_GT(nccl_of(large).report.rows[0].places[0]->busbw, 0.8 * 24.5) << hosts;
      // Out of place and in place; 58 B of headers around each 4096 B.
      const double each_B = 2.0 * 2 * (hosts - 1) / hosts * static_cast<double>(size_B);
      for (const auto& port : large.result.ports) {
        if (port.name.starts_with("leaf")) continue;
        EXPECT_NEAR(static_cast<double>(port.counters.tx().bytes) / each_B, 1.015, 0.005) << port.name;
      }
    }
    const AiRun small = run(hosts, 1024, ", algorithm: halving-doubling");
    EXPECT_LT(time_us(small), time_us(run(hosts, 1024, forced))) << hosts;
  }
}

// log2(n) hops up and down against 2(n-1) around: a tree is faster for small sizes, a ring for large ones, and the
// times cross where NCCL's choice changes from the one to the other: of 16 hosts between 1 and 4 MiB.
TEST(AiLabs, TreeAndRingCrossWhereNcclChanges) {
  const std::string forced = ", env: {NCCL_ALGO: ring, NCCL_PROTO: Simple}";
  const std::string text = ring_of(16, "all_reduce_perf -b 1M -e 4M -f 4 -n 2 -c 0");
  const auto with = [&](const std::string& env) {
    std::string changed = text;
    return run_ai(changed.replace(changed.find(forced), forced.size(), env));
  };
  const auto time_us = [](const AiRun& run, std::size_t row) {
    return nccl_of(run).report.rows.at(row).places[0]->time_us;
  };
  const auto best_us = [&](const std::string& algorithm, std::size_t row) {
    double best = 1e9;
    for (const char* protocol : {"LL128", "Simple"})
      best = std::min(best,
                      time_us(with(fmt::format(", env: {{NCCL_ALGO: {}, NCCL_PROTO: {}}}", algorithm, protocol)), row));
    return best;
  };
  EXPECT_LT(best_us("tree", 0), 0.8 * best_us("ring", 0));
  EXPECT_GT(best_us("tree", 1), 1.1 * best_us("ring", 1));
  const AiRun own = with("");
  EXPECT_EQ(nccl_of(own).choices.front(), "TREE/LL128");
  EXPECT_EQ(nccl_of(own).choices.back(), "RING/LL128");
}

}  // namespace
