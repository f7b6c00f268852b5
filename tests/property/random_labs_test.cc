// Random labs of every kind (support/random_lab.h), whole runs as `weft run` makes them: no assertion of the packet
// path fails, every ledger balances (a run aborts otherwise), and one to four domains give the same results. It is
// meant for builds with WEFT_DCHECKS: `make random-labs PACKETS=50000000`. WEFT_RANDOM_PACKETS sets how many packets
// hosts send at least, WEFT_RANDOM_FIRST from which seed on; WEFT_RANDOM_SEED runs one lab alone.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "results/results_json.h"
#include "support/random_lab.h"
#include "support/sanitized.h"
#include "world/runner.h"

namespace weft {
namespace {

constexpr std::uint64_t kPackets = support::kSanitized ? 40'000 : 400'000;

std::uint64_t asked(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

struct Coverage {
  std::uint64_t labs = 0, packets = 0, hops = 0;
  std::uint64_t pauses = 0, marks = 0, drops = 0, storms = 0, lags = 0, forwarders = 0, selective = 0, telemetry = 0;
  std::uint64_t transfers = 0, perftests = 0, tcp = 0;
};

void note_lab(const lab::Lab& lab, Coverage& coverage) {
  ++coverage.labs;
  coverage.lags += !lab.lags.empty();
  coverage.selective += lab.hosts.front().nics.front().model.selective_repeat;
  bool forwarder = false, telemetry = false, transfer = false, perftest = false, tcp = false;
  for (const lab::SwitchConfig& device : lab.switches) forwarder |= device.forwarder.has_value();
  for (const lab::WorkloadConfig& workload : lab.workloads) {
    const auto* flows = workload.as<workload::FlowOptions>();
    telemetry |= flows != nullptr && flows->telemetry != engine::TelemetryFormat::kNone;
    transfer |= workload.as<workload::TransferOptions>() != nullptr;
    perftest |= workload.as<workload::PerftestOptions>() != nullptr;
    tcp |= workload.as<workload::Iperf3Options>() != nullptr;
  }
  coverage.forwarders += forwarder;
  coverage.telemetry += telemetry;
  coverage.transfers += transfer;
  coverage.perftests += perftest;
  coverage.tcp += tcp;
}

void note_run(const lab::RunResult& result, Coverage& coverage) {
  for (const lab::LinkOutcome& link : result.links) {
    coverage.hops += link.ledger.sent;
    if (link.from.starts_with("h")) coverage.packets += link.ledger.sent;
  }
  bool pauses = false, marks = false, drops = false, storms = false;
  for (const lab::SwitchOutcome& device : result.switches) {
    for (const lab::SwitchPortOutcome& port : device.ports) {
      for (std::size_t c = 0; c < fabric::kClasses; ++c) {
        pauses |= port.counters.xoff_tx[c] > 0;
        marks |= port.counters.ecn_marked[c] > 0;
        storms |= port.counters.storms[c] > 0;
      }
      for (const std::uint64_t lost : port.counters.drops) drops |= lost > 0;
    }
  }
  coverage.pauses += pauses;
  coverage.marks += marks;
  coverage.drops += drops;
  coverage.storms += storms;
}

std::string run(const lab::Lab& lab, std::uint32_t domains, std::int64_t window_divisor, Coverage* coverage) {
  lab::SessionOptions options;
  options.domains = domains;
  options.window_divisor = window_divisor;
  const auto result = lab::run_lab(lab, options);
  if (!result) return "error: " + result.error();
  if (coverage != nullptr) note_run(*result, *coverage);
  return lab::results_json(lab, *result);
}

void check_lab(std::uint64_t seed, Coverage& coverage) {
  SCOPED_TRACE(fmt::format("WEFT_RANDOM_SEED={}", seed));
  const lab::Lab lab = support::random_wide_lab(seed);
  note_lab(lab, coverage);
  const std::string expected = run(lab, 1, 1, &coverage);
  EXPECT_FALSE(expected.starts_with("error")) << expected;
  const auto domains = static_cast<std::uint32_t>(2 + seed % 3);
  const std::int64_t divisor = seed % 5 == 0 ? 3 : 1;
  const std::uint64_t before = coverage.packets;
  EXPECT_TRUE(run(lab, domains, divisor, &coverage) == expected) << domains << " domains, window / " << divisor;
  EXPECT_GT(coverage.packets, before);
}

// What random labs found. Selective repeat: acknowledgements overtook the place at which new packets go on after a
// repair, since the queue pair had gone back before it, and it went on outside of its send queue.
TEST(RandomLabs, RepairEndsBehindAcknowledgedPackets) {
  Coverage coverage;
  check_lab(499, coverage);
}

TEST(RandomLabs, KeepInvariants) {
  Coverage coverage;
  if (const char* seed = std::getenv("WEFT_RANDOM_SEED")) return check_lab(std::strtoull(seed, nullptr, 10), coverage);
  const std::uint64_t packets = asked("WEFT_RANDOM_PACKETS", kPackets);
  for (std::uint64_t seed = asked("WEFT_RANDOM_FIRST", 1); coverage.packets < packets && !HasFailure(); ++seed) {
    std::fprintf(stderr, "seed %llu\r", static_cast<unsigned long long>(seed));  // of the lab that an assertion ends
    check_lab(seed, coverage);
  }
  const auto share = [&](std::uint64_t n) {
    return 100.0 * static_cast<double>(n) / static_cast<double>(std::max<std::uint64_t>(coverage.labs, 1));
  };
  const auto of_runs = [&](std::uint64_t n) { return share(n) / 2; };
  fmt::print(
      "{} labs, {} packets, {} hops; runs with pauses {:.0f} %, marks {:.0f} %, drops {:.0f} %, storms {:.0f} %; labs "
      "with LAGs {:.0f} %, forwarders {:.0f} %, selective repeat {:.0f} %, telemetry {:.0f} %, transfers {:.0f} %, "
      "perftest {:.0f} %, TCP {:.0f} %\n",
      coverage.labs, coverage.packets, coverage.hops, of_runs(coverage.pauses), of_runs(coverage.marks),
      of_runs(coverage.drops), of_runs(coverage.storms), share(coverage.lags), share(coverage.forwarders),
      share(coverage.selective), share(coverage.telemetry), share(coverage.transfers), share(coverage.perftests),
      share(coverage.tcp));
  if (coverage.labs < 100) return;
  for (const std::uint64_t n : {coverage.lags, coverage.forwarders, coverage.selective, coverage.telemetry,
                                coverage.transfers, coverage.perftests, coverage.tcp})
    EXPECT_GE(share(n), 5);
  for (const std::uint64_t n : {coverage.pauses, coverage.marks, coverage.drops, coverage.storms})
    EXPECT_GE(of_runs(n), 10);
}

}  // namespace
}  // namespace weft
