#include "results/run_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "base/plural.h"
#include "results/kinds/workload_kind.h"

namespace weft::lab {
bool RunResult::expectations_met() const {
  return std::all_of(expectations.begin(), expectations.end(), [](const ExpectationOutcome& e) { return e.met; });
}

bool RunResult::ledger_balances() const {
  return std::all_of(links.begin(), links.end(), [](const LinkOutcome& l) { return l.balances(); });
}

std::string count_text(std::uint64_t count, std::uint64_t all, std::string_view what) {
  return fmt::format("{} of {}", count, counted(all, what));
}

std::string address_text(const fabric::PortAddress& port) {
  IpAddress address;
  std::copy(port.ip.begin(), port.ip.end(), std::begin(address.bytes));
  address.is_v4 = port.v4;
  return to_string(address);
}

std::vector<std::string> RunResult::failures() const {
  std::vector<std::string> list;
  for (const WorkloadOutcome& outcome : workloads) {
    const Judged judged = [&](std::initializer_list<std::string_view> metrics) {
      return std::any_of(expectations.begin(), expectations.end(), [&](const ExpectationOutcome& each) {
        return each.expectation->subject == outcome.config->name &&
               std::find(metrics.begin(), metrics.end(), each.expectation->metric) != metrics.end();
      });
    };
    const std::string what = outcome.visit(
        [&](const auto& options, const auto& left) { return failure_text(options, left, *this, judged); });
    if (!what.empty()) list.push_back(outcome.config->name + ": " + what);
  }
  return list;
}

}  // namespace weft::lab
