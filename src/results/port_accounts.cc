#include "results/port_accounts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/figures.h"
#include "base/text_table.h"
#include "results/report_text.h"
#include "spec/line_bytes.h"
#include "tools/perftest/budget.h"

namespace weft::lab {
namespace {

constexpr std::size_t kMostAccounts = 32;
struct Column {
  nic::Wait wait;
  const char* name;
};
constexpr Column kWaits[] = {{nic::Wait::kMessageRate, "message rate"},
                             {nic::Wait::kPace, "congestion control"},
                             {nic::Wait::kPause, "paused"},
                             {nic::Wait::kRecovery, "loss recovery"}};

}  // namespace

std::string port_accounts_text(const RunResult& result) {
  std::vector<const PortOutcome*> ports;
  for (const PortOutcome& port : result.ports) {
    if (port.counters.tx().packets > 0) ports.push_back(&port);
  }
  if (ports.empty()) return "";
  std::stable_sort(ports.begin(), ports.end(), [](const PortOutcome* a, const PortOutcome* b) {
    return a->counters.tx().bytes > b->counters.tx().bytes;
  });
  const std::size_t all = ports.size();
  ports.resize(std::min(all, kMostAccounts));

  TextTable table;
  table.add_column("port", TextTable::Align::kLeft);
  table.add_column("sent us");
  table.add_column("no work, or a full window");
  for (const Column& column : kWaits) table.add_column(column.name);
  for (std::size_t i = 0; i < nic::kPcieLimits; ++i)
    table.add_column(workload::pcie_cause(static_cast<nic::PcieLimit>(i)).name);
  for (const PortOutcome* port : ports) {
    const nic::Counters::Traffic sent = port->counters.tx();
    const double line_B = static_cast<double>(sent.bytes + sent.packets * fabric::kLineOverhead_B);
    std::vector<std::string> cells{port->name,
                                   us_cell(static_cast<Time_ps>(line_B * 8e12 / static_cast<double>(port->rate_bps)))};
    const auto add = [&](Time_ps idle_ps) { cells.push_back(idle_ps == 0 ? "0" : us_cell(idle_ps)); };
    const auto idle_ps = [&](nic::Wait wait) { return port->counters.idle_ps[static_cast<std::size_t>(wait)]; };
    add(idle_ps(nic::Wait::kPost) + idle_ps(nic::Wait::kRoundTrip));
    for (const Column& column : kWaits) add(idle_ps(column.wait));
    for (std::size_t i = 0; i < nic::kPcieLimits; ++i) add(idle_ps(nic::wait_for(static_cast<nic::PcieLimit>(i))));
    table.add_row(std::move(cells));
  }
  return fmt::format(
      "\nwhat ports did{}: us in which they sent, and were idle, by what the next packet had waited for\n{}",
      all > kMostAccounts ? fmt::format(", the busiest {} of {}", kMostAccounts, all) : "", table.brief_text());
}

}  // namespace weft::lab
