// What flows leave in the report, in results.json and in results.sqlite.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
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
#include "tools/perftest/budget.h"

namespace weft::lab {

namespace {

using Json = nlohmann::ordered_json;
using Align = TextTable::Align;
using workload::FlowOptions;
using workload::FlowRow;
using workload::FlowsOutcome;
using workload::FlowState;
using workload::FlowSummary;

constexpr std::size_t kMostFlowRows = 32;  // of a table

constexpr const char* kFlowSchema = R"(
CREATE TABLE flow(workload TEXT, number INTEGER, id INTEGER, source TEXT, destination TEXT, size_B INTEGER,
  start_ps INTEGER, fct_ps INTEGER, state TEXT, goodput_bps REAL, slowdown REAL, retransmitted_packets INTEGER,
  cnps_received INTEGER);
)";

// By number in `flow`: the names of flows, when what they wait for had ended, and what that was.
constexpr const char* kGraphSchema = R"(
CREATE TABLE flow_name(workload TEXT, number INTEGER, name TEXT, ready_ps INTEGER);
CREATE TABLE flow_after(workload TEXT, number INTEGER, after INTEGER);
)";

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

Json flows_object(const FlowsOutcome& outcome) {
  const FlowSummary& s = outcome.summary;
  Json j;
  j["done"] = s.done;
  j["failed"] = s.failed;
  j["unfinished"] = s.unfinished;
  j["bytes_done_B"] = s.bytes_done_B;
  if (s.done > 0) {
    j["goodput_Gbps"] = places(s.goodput_bps / 1e9, 6);
    j["jain"] = places(s.jain, 6);
    j["fct_p50_ps"] = s.fct_p50_ps;
    j["fct_p99_ps"] = s.fct_p99_ps;
    j["fct_p999_ps"] = s.fct_p999_ps;
    j["fct_max_ps"] = s.fct_max_ps;
    j["slowdown_p50"] = places(s.slowdown_p50, 6);
    j["slowdown_p99"] = places(s.slowdown_p99, 6);
    if (const std::vector<double> parts = FairShares(outcome.flows).sorted(); !parts.empty()) {
      j["fair_share_p50"] = places(parts[parts.size() / 2], 6);
      j["fair_share_min"] = places(parts.front(), 6);
    }
  }
  return j;
}

// As of a perftest.
void add_budget(JsonText& j, const workload::PerftestBudget& budget) {
  j.open("verdict", '{');
  j.add("healthy", budget.healthy);
  j.add("line_Gbps", places(budget.line_Gbps, 3));
  j.add("framing_Gbps", places(budget.framing_Gbps, 3));
  j.add("best_framing_Gbps", places(budget.best_framing_Gbps, 3));
  j.open("budget_Gbps", '{');
  for (const workload::BudgetLine& line : budget.lines) j.add(line.name, places(line.Gbps, 3));
  j.close('}');
  j.close('}');
}

void add_flow(JsonText& j, const FlowOutcome& flow, const Graph& graph, std::size_t number) {
  const FlowRow& row = flow.row;
  j.open('{');
  j.add("id", row.id);
  if (const std::string name = graph.name(number); !name.empty()) j.add("name", name);
  j.add("from", flow.from);
  j.add("to", flow.to);
  j.add("qpn", row.qpn);
  j.add("size_B", row.size_B);
  if (const auto after = graph.after(number); !after.empty()) {
    j.open("after", '[');
    for (const workload::FlowDependency& each : after) j.item(graph.name(each.before));
    j.close(']');
    if (const auto ready_ps = graph.ready_ps(number)) j.add("ready_ps", *ready_ps);
  }
  if (row.start_ps == kNever_ps) {
    j.add("start_ps", nullptr);
  } else {
    j.add("start_ps", row.start_ps);
  }
  j.add("state", state_name(row.state));
  if (row.state == FlowState::kDone) {
    j.add("fct_ps", row.fct_ps());
    j.add("goodput_Gbps", places(row.goodput_bps() / 1e9, 6));
    if (flow.slowdown > 0) j.add("slowdown", places(flow.slowdown, 6));
  }
  if (row.state == FlowState::kFailed) j.add("failure", row.failure());
  j.add("retransmitted_packets", flow.retransmitted_packets);
  j.add("cnps_received", flow.cnps_received);
  if (flow.budget) add_budget(j, *flow.budget);
  if (!flow.hops.empty()) {
    j.open("telemetry", '[');
    for (const HopOutcome& hop : flow.hops) {
      j.open_item('{');
      j.add("port", hop.port);
      j.add("max_queue_B", hop.max_queue_B);
      j.add("max_stay_ps", hop.max_stay_ps);
      j.close('}');
    }
    j.close(']');
  }
  j.close('}');
}

// Only where there is a graph, so that the file of a lab without one has no tables that say nothing.
void write_graphs(const RunResult& result, SqliteFile& file) {
  const auto is_graph = [](const WorkloadOutcome& outcome) {
    const auto* options = outcome.config->as<FlowOptions>();
    return options != nullptr && !options->names.empty();
  };
  if (std::none_of(result.workloads.begin(), result.workloads.end(), is_graph)) return;
  file.execute(kGraphSchema);
  SqliteRows names(file, "INSERT INTO flow_name VALUES(?,?,?,?)");
  SqliteRows after(file, "INSERT INTO flow_after VALUES(?,?,?)");
  for (const WorkloadOutcome& outcome : result.workloads) {
    if (!is_graph(outcome)) continue;
    const Graph graph(*outcome.config->as<FlowOptions>(), *outcome.as<FlowsOutcome>());
    for (std::size_t i = 0; i < outcome.as<FlowsOutcome>()->flows.size(); ++i) {
      names.add(outcome.config->name, i, graph.name(i), graph.ready_ps(i));
      for (const workload::FlowDependency& each : graph.after(i)) after.add(outcome.config->name, i, each.before);
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
                JsonStream& out) {
  Json w;
  w["name"] = config.name;
  out.open_with(w.dump());
  out.open("flows", '{');
  const Json summary = flows_object(outcome);
  for (const auto& [key, value] : summary.items()) out.value(key, value.dump());
  out.open("flows", '[');
  JsonText text;
  const Graph graph(options, outcome);
  for (std::size_t i = 0; i < outcome.flows.size(); ++i) write_item(out, text, add_flow, outcome.flows[i], graph, i);
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

const char* table_schema(std::type_identity<FlowOptions>) {
  return kFlowSchema;
}

void write_tables(std::type_identity<FlowOptions>, const RunResult& result, SqliteFile& file) {
  SqliteRows rows(file, "INSERT INTO flow VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)");
  for (const WorkloadOutcome& outcome : result.workloads) {
    const auto* flows = outcome.as<FlowsOutcome>();
    if (flows == nullptr) continue;
    std::uint64_t number = 0;
    for (const FlowOutcome& flow : flows->flows) {
      const FlowRow& row = flow.row;
      bool done = row.state == FlowState::kDone;
      rows.add(outcome.config->name, number++, row.id, flow.from, flow.to, row.size_B,
               row.start_ps == kNever_ps ? std::nullopt : std::optional(row.start_ps),
               done ? std::optional(row.fct_ps()) : std::nullopt, state_name(row.state),
               done ? std::optional(row.goodput_bps()) : std::nullopt,
               flow.slowdown > 0 ? std::optional(flow.slowdown) : std::nullopt, flow.retransmitted_packets,
               flow.cnps_received);
    }
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
  for (std::size_t i = 0; i < outcome.flows.size(); ++i) {
    const FlowOutcome& each = outcome.flows[i];
    FlowEvidence flow;
    flow.workload = config.name;
    flow.number = i;
    if (i < options.names.size()) flow.name = options.names[i];
    flow.from = each.from;
    flow.to = each.to;
    flow.qpn = each.row.qpn;
    flow.size_B = each.row.size_B;
    flow.state = state_name(each.row.state);
    if (each.row.state == FlowState::kDone) {
      flow.goodput_bps = each.row.goodput_bps();
      flow.fct_ps = each.row.fct_ps();
      flow.slowdown = each.slowdown;
    }
    flow.retransmitted_packets = each.retransmitted_packets;
    flow.cnps_received = each.cnps_received;
    evidence.flows.push_back(std::move(flow));
  }
}

}  // namespace weft::lab
