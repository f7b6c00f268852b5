// What flows leave in the report, in results.json and in results.sqlite.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "base/figures.h"
#include "base/plural.h"
#include "base/text_table.h"
#include "results/fair_shares.h"
#include "results/json_rows.h"
#include "results/kinds/flow_verdicts.h"
#include "results/kinds/workload_kind.h"
#include "results/report_text.h"
#include "store/rows/flow_rows.h"
#include "store/table.h"
#include "tools/perftest/budget.h"

namespace weft::lab {

namespace {

using Align = TextTable::Align;
using workload::FlowOptions;
using workload::FlowRow;
using workload::FlowsOutcome;
using workload::FlowState;
using workload::FlowSummary;

constexpr std::size_t kMostFlowRows = 32;  // of a table

const char* state_name(FlowState state) {
  static constexpr const char* kNames[] = {"waiting", "running", "done", "failed"};
  return kNames[static_cast<std::size_t>(state)];
}

// Names and dependencies of flows, where they have any.
class Graph {
 public:
  Graph(const FlowOptions& options, const FlowsOutcome& outcome) : options_(options), outcome_(outcome) {
    if (options.dependencies.empty()) return;
    first_.resize(options.flows.size() + 1);
    for (const workload::FlowDependency& each : options.dependencies) ++first_[each.flow + 1];
    for (std::size_t i = 0; i < options.flows.size(); ++i) first_[i + 1] += first_[i];
  }

  std::string name(std::size_t flow) const { return options_.names.empty() ? "" : options_.names[flow]; }
  // What it waits for.
  std::span<const workload::FlowDependency> after(std::size_t flow) const {
    if (first_.empty()) return {};
    return std::span(options_.dependencies).subspan(first_[flow], first_[flow + 1] - first_[flow]);
  }
  // When the last of them had ended.
  std::optional<Time_ps> ready_ps(std::size_t flow) const {
    if (after(flow).empty() || outcome_.ready_ps.empty() || outcome_.ready_ps[flow] == kNever_ps) return std::nullopt;
    return outcome_.ready_ps[flow];
  }
  std::string ready_us(std::size_t flow) const {
    if (after(flow).empty()) return "";
    return ready_ps(flow) ? us_cell(*ready_ps(flow)) : "-";
  }
  std::string after_text(std::size_t flow) const {
    constexpr std::size_t kMostNames = 3;
    std::string text;
    const auto list = after(flow);
    for (const workload::FlowDependency& each : list.first(std::min(list.size(), kMostNames)))
      text += (text.empty() ? "" : " ") + options_.names[each.before];
    return list.size() > kMostNames ? fmt::format("{} and {} more", text, list.size() - kMostNames) : text;
  }

 private:
  const FlowOptions& options_;
  const FlowsOutcome& outcome_;
  std::vector<std::size_t> first_;
};

// The worst of each hop, as the packets themselves brought it.
std::string telemetry_table(const std::vector<const FlowOutcome*>& flows) {
  TextTable table;
  table.add_column("from", Align::kLeft);
  table.add_column("to", Align::kLeft);
  table.add_column("leaves by", Align::kLeft);
  table.add_column("max queue kB");
  table.add_column("max stay us");
  for (const FlowOutcome* flow : flows) {
    for (const HopOutcome& hop : flow->hops)
      table.add_row({flow->from, flow->to, hop.port, kB_cell(hop.max_queue_B), us_cell(hop.max_stay_ps)});
  }
  return table.empty() ? "" : "\nTelemetry:\n\n" + block(table);
}

std::string flows_text(const std::string& workload, const FlowOptions& options, const FlowsOutcome& outcome) {
  const FlowSummary& s = outcome.summary;
  const FairShares shares(outcome.flows);
  std::string out = fmt::format("  {} done, {} failed, {} unfinished", counted(s.done, "flow"), s.failed, s.unfinished);
  if (s.done > 0) {
    out += fmt::format("; {} together, Jain {:.4f}\n", rate_text(s.goodput_bps), s.jain);
    out += fmt::format("  FCT us: p50 {}, p99 {}, p99.9 {}, max {}", us_cell(s.fct_p50_ps), us_cell(s.fct_p99_ps),
                       us_cell(s.fct_p999_ps), us_cell(s.fct_max_ps));
    if (s.slowdown_p50 > 0) out += fmt::format("\n  slowdown: p50 {:.2f}, p99 {:.2f}", s.slowdown_p50, s.slowdown_p99);
    if (const std::vector<double> parts = shares.sorted(); parts.size() > 1)
      out += fmt::format("\n  of its fair share of its hosts' ports a flow got: p50 {}, least {}",
                         share_text(parts[parts.size() / 2]), share_text(parts.front()));
  }
  out += "\n\n";
  std::vector<const FlowOutcome*> shown;
  for (const FlowOutcome& flow : outcome.flows) shown.push_back(&flow);
  if (shown.size() > kMostFlowRows) {
    constexpr std::size_t kSlowest = 16;
    auto takes_ps = [](const FlowOutcome* flow) {
      return flow->row.state == FlowState::kDone ? flow->row.fct_ps() : kNever_ps;
    };
    std::stable_sort(shown.begin(), shown.end(),
                     [&](const FlowOutcome* a, const FlowOutcome* b) { return takes_ps(a) > takes_ps(b); });
    out += fmt::format("The {} slowest of {}; all are in results.json.\n\n", kSlowest, shown.size());
    shown.resize(kSlowest);
  }
  const Graph graph(options, outcome);
  TextTable table;
  table.add_column("flow", Align::kLeft);
  table.add_column("name", Align::kLeft);
  table.add_column("from", Align::kLeft);
  table.add_column("to", Align::kLeft);
  for (const char* title :
       {"size", "ready us", "start us", "FCT us", "Gb/s", "slowdown", "fair share", "re-sent", "CNPs"})
    table.add_column(title);
  table.add_column("after", Align::kLeft);
  for (const FlowOutcome* flow : shown) {
    const FlowRow& row = flow->row;
    bool done = row.state == FlowState::kDone;
    std::string fct = done ? us_cell(row.fct_ps()) : row.state == FlowState::kFailed ? "failed" : "unfinished";
    const auto number = static_cast<std::size_t>(flow - outcome.flows.data());
    table.add_row(
        {fmt::format("{}/{}", workload, number), graph.name(number), flow->from, flow->to,
         message_size_text(row.size_B), graph.ready_us(number), row.start_ps == kNever_ps ? "-" : us_cell(row.start_ps),
         fct, done ? fmt::format("{:.2f}", row.goodput_bps() / 1e9) : "-",
         flow->slowdown > 0 ? fmt::format("{:.2f}", flow->slowdown) : "-",
         shares.part(number) > 0 ? share_text(shares.part(number)) : "-", std::to_string(flow->retransmitted_packets),
         std::to_string(flow->cnps_received), graph.after_text(number)});
  }
  if (!table.empty()) out += block(table);
  out += telemetry_table(shown);
  auto failed = std::find_if(outcome.flows.begin(), outcome.flows.end(),
                             [](const FlowOutcome& flow) { return flow.row.state == FlowState::kFailed; });
  if (failed != outcome.flows.end())
    out += fmt::format("  {} -> {}: {}\n", failed->from, failed->to, failed->row.failure());
  return out;
}

store::FlowSummaryRow summary_row(const FlowsOutcome& outcome) {
  const FlowSummary& s = outcome.summary;
  store::FlowSummaryRow row;
  row.done = s.done;
  row.failed = s.failed;
  row.unfinished = s.unfinished;
  row.bytes_done_B = s.bytes_done_B;
  if (s.done == 0) return row;
  row.goodput_bps = s.goodput_bps;
  row.jain = s.jain;
  row.fct_p50_ps = s.fct_p50_ps;
  row.fct_p99_ps = s.fct_p99_ps;
  row.fct_p999_ps = s.fct_p999_ps;
  row.fct_max_ps = s.fct_max_ps;
  row.slowdown_p50 = s.slowdown_p50;
  row.slowdown_p99 = s.slowdown_p99;
  if (const std::vector<double> parts = FairShares(outcome.flows).sorted(); !parts.empty()) {
    row.fair_share_p50 = parts[parts.size() / 2];
    row.fair_share_min = parts.front();
  }
  return row;
}

store::VerdictRow verdict_row(const workload::PerftestBudget& budget) {
  store::VerdictRow row{budget.healthy, budget.line_Gbps, budget.framing_Gbps, budget.best_framing_Gbps, {}};
  for (const workload::BudgetLine& line : budget.lines) row.budget_Gbps.emplace_back(line.name, line.Gbps);
  return row;
}

store::FlowRow row_of(const std::string& workload, const Graph& graph, const FlowOutcome& flow, std::size_t number) {
  const FlowRow& own = flow.row;
  const bool is_done = own.state == FlowState::kDone;
  store::FlowRow row;
  row.workload = workload;
  row.number = number;
  row.id = own.id;
  if (const std::string name = graph.name(number); !name.empty()) row.name = name;
  row.from = flow.from;
  row.to = flow.to;
  row.qpn = own.qpn;
  row.size_B = own.size_B;
  for (const workload::FlowDependency& each : graph.after(number)) row.after.push_back(graph.name(each.before));
  row.ready_ps = graph.ready_ps(number);
  if (own.start_ps != kNever_ps) row.start_ps = own.start_ps;
  row.state = state_name(own.state);
  if (is_done) row.fct_ps = own.fct_ps();
  if (is_done) row.goodput_bps = own.goodput_bps();
  if (is_done) row.posted_ps = own.first_post_ps;
  if (flow.slowdown > 0) row.slowdown = flow.slowdown;
  if (own.state == FlowState::kFailed) row.failure = own.failure();
  row.retransmitted_packets = flow.retransmitted_packets;
  row.cnps_received = flow.cnps_received;
  if (flow.budget) row.verdict = verdict_row(*flow.budget);
  for (const HopOutcome& hop : flow.hops) row.telemetry.push_back({hop.port, hop.max_queue_B, hop.max_stay_ps});
  return row;
}

// Only where there is a graph, so that the file of a lab without one has no tables that say nothing.
void write_graphs(const RunResult& result, store::SqliteFile& file) {
  const auto is_graph = [](const WorkloadOutcome& outcome) {
    const auto* options = outcome.config->as<FlowOptions>();
    return options != nullptr && !options->names.empty();
  };
  if (std::none_of(result.workloads.begin(), result.workloads.end(), is_graph)) return;
  store::Inserter<store::FlowNameRow> names(file);
  store::Inserter<store::FlowAfterRow> after(file);
  for (const WorkloadOutcome& outcome : result.workloads) {
    if (!is_graph(outcome)) continue;
    const Graph graph(*outcome.config->as<FlowOptions>(), *outcome.as<FlowsOutcome>());
    for (std::size_t i = 0; i < outcome.as<FlowsOutcome>()->flows.size(); ++i) {
      names.add({outcome.config->name, i, graph.name(i), graph.ready_ps(i)});
      for (const workload::FlowDependency& each : graph.after(i)) after.add({outcome.config->name, i, each.before});
    }
  }
}

}  // namespace

std::string report_section(const FlowOptions& options, const FlowsOutcome& outcome, const Lab&,
                           const WorkloadConfig& config) {
  return heading(fmt::format("{}: {}", config.name, counted(outcome.flows.size(), "flow"))) +
         flows_text(config.name, options, outcome);
}

void write_json(const FlowOptions& options, const FlowsOutcome& outcome, const Lab&, const WorkloadConfig& config,
                store::JsonStream& out) {
  store::JsonText text;
  text.open('{');
  text.add("name", config.name);
  text.close('}');
  out.open_with(std::string(text.text()));
  out.open("flows", '{');
  store::write_members(out, summary_row(outcome));
  out.open("flows", '[');
  const Graph graph(options, outcome);
  for (std::size_t i = 0; i < outcome.flows.size(); ++i)
    store::write_row(out, text, row_of(config.name, graph, outcome.flows[i], i));
  out.close(']');
  out.close('}');
  out.close('}');
}

std::string flow_verdicts_text(const FlowsOutcome& outcome) {
  std::vector<const FlowOutcome*> flows;
  for (const FlowOutcome& flow : outcome.flows) {
    if (flow.budget) flows.push_back(&flow);
  }
  std::stable_sort(flows.begin(), flows.end(),
                   [](const FlowOutcome* a, const FlowOutcome* b) { return a->row.fct_ps() > b->row.fct_ps(); });
  const std::size_t all = flows.size();
  flows.resize(std::min(all, kMostFlowRows));
  std::string out;
  for (const FlowOutcome* flow : flows)
    out += fmt::format("{} -> {}: {}\n", flow->from, flow->to, workload::verdict_text(*flow->budget));
  if (all > kMostFlowRows) out += fmt::format("these are the slowest {} of {}\n", kMostFlowRows, all);
  return out;
}

void write_tables(std::type_identity<FlowOptions>, const RunResult& result, store::SqliteFile& file) {
  store::Inserter<store::FlowRow> rows(file);
  for (const WorkloadOutcome& outcome : result.workloads) {
    const auto* flows = outcome.as<FlowsOutcome>();
    if (flows == nullptr) continue;
    const Graph graph(*outcome.config->as<FlowOptions>(), *flows);
    for (std::size_t i = 0; i < flows->flows.size(); ++i)
      rows.add(row_of(outcome.config->name, graph, flows->flows[i], i));
  }
  write_graphs(result, file);
}

std::string failure_text(const FlowOptions&, const FlowsOutcome& outcome, const RunResult& run, const Judged& judged) {
  if (judged({"done", "failed", "unfinished"})) return "";
  const FlowSummary& flows = outcome.summary;
  const bool cut_short = (run.interrupted || run.cut_off) && run.circular_waits.empty();
  const std::uint64_t all = flows.done + flows.failed + flows.unfinished;
  if (flows.failed > 0) return count_text(flows.failed, all, "flow") + " failed";
  if (flows.unfinished > 0 && !cut_short)
    return count_text(flows.unfinished, all, "flow") + " unfinished, and nothing more would happen";
  return "";
}

void add_evidence(const FlowOptions& options, const FlowsOutcome& outcome, const Lab&, const WorkloadConfig& config,
                  Evidence& evidence) {
  evidence.workloads.back().kind = "flows";
  const Graph graph(options, outcome);
  for (std::size_t i = 0; i < outcome.flows.size(); ++i)
    evidence.flows.push_back(row_of(config.name, graph, outcome.flows[i], i));
}

}  // namespace weft::lab
