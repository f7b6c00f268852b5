#include "results/run_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "base/plural.h"
#include "results/metrics.h"

namespace weft::lab {
namespace {

std::string count_text(std::uint64_t count, std::uint64_t all, std::string_view what) {
  return fmt::format("{} of {}", count, counted(all, what));
}

std::string of_perftest(const workload::PerftestResult& perftest, bool cut_short) {
  if (perftest.rows.empty()) return cut_short ? "" : "nothing was measured";
  const std::string& failure = perftest.rows.back().failure;
  if (failure == workload::kInterrupted && cut_short) return "";
  return failure.substr(0, failure.find('\n'));
}

std::string of_transfer(const workload::TransferOptions& options, const workload::TransferResult& transfer) {
  if (transfer.failed > 0)
    return fmt::format("{} failed, the first with status {}", count_text(transfer.failed, transfer.posted, "operation"),
                       transfer.wc_status);
  if (transfer.stalled)
    return count_text(transfer.posted - transfer.completed, transfer.posted, "operation") + " did not complete";
  // A datagram may be lost without anybody's fault.
  if (!options.ud && transfer.verified < transfer.completed)
    return count_text(transfer.completed - transfer.verified, transfer.completed, "operation") +
           " left wrong bytes at the far end";
  return "";
}

std::string of_flows(const workload::FlowSummary& flows, bool cut_short) {
  const std::uint64_t all = flows.done + flows.failed + flows.unfinished;
  if (flows.failed > 0) return count_text(flows.failed, all, "flow") + " failed";
  if (flows.unfinished > 0 && !cut_short)
    return count_text(flows.unfinished, all, "flow") + " unfinished, and nothing more would happen";
  return "";
}

std::string of_programs(const workload::ProgramOptions& options, const ProgramsOutcome& outcome) {
  for (std::size_t i = 0; i < outcome.programs.size(); ++i) {
    const workload::ProgramOutcome& each = outcome.programs[i];
    if (each.exit_status() == 0) continue;
    return fmt::format("{} on {}: {}", options.programs[i].words.front(), options.programs[i].node, end_text(each));
  }
  return outcome.all_ended() ? "" : "not every program ended";
}

}  // namespace

bool RunResult::expectations_met() const {
  return std::all_of(expectations.begin(), expectations.end(), [](const ExpectationOutcome& e) { return e.met; });
}

bool RunResult::ledger_balances() const {
  return std::all_of(links.begin(), links.end(), [](const LinkOutcome& l) { return l.balances(); });
}

std::string address_text(const fabric::PortAddress& port) {
  IpAddress address;
  std::copy(port.ip.begin(), port.ip.end(), std::begin(address.bytes));
  address.is_v4 = port.v4;
  return to_string(address);
}

std::vector<std::string> RunResult::failures() const {
  std::vector<std::string> list;
  const bool cut_short = interrupted || cut_off;
  for (const WorkloadOutcome& outcome : workloads) {
    const auto judged = [&](std::initializer_list<std::string_view> metrics) {
      return std::any_of(expectations.begin(), expectations.end(), [&](const ExpectationOutcome& each) {
        return each.expectation->subject == outcome.config->name &&
               std::find(metrics.begin(), metrics.end(), each.expectation->metric) != metrics.end();
      });
    };
    std::string what;
    if (outcome.perftest) what = of_perftest(*outcome.perftest, cut_short);
    if (outcome.transfer && !judged({"completed", "failed", "bytes_ok", "wc_status"}))
      what = of_transfer(*outcome.config->transfer, *outcome.transfer);
    if (outcome.flows && !judged({"done", "failed", "unfinished"}))
      what = of_flows(outcome.flows->summary, cut_short && circular_waits.empty());
    if (outcome.programs && !(judged({kExitMetric}) && outcome.programs->all_ended()))
      what = of_programs(*outcome.config->programs, *outcome.programs);
    if (!what.empty()) list.push_back(outcome.config->name + ": " + what);
  }
  return list;
}

}  // namespace weft::lab
