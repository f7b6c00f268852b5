// What a perftest leaves in the report and in results.json.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <optional>

#include "results/json_rows.h"
#include "results/kinds/perftest_json.h"
#include "results/kinds/workload_kind.h"
#include "results/report_text.h"
#include "tools/perftest/budget.h"
#include "tools/perftest/message_budget.h"
#include "tools/perftest/report.h"

namespace weft::lab {

namespace {

using Json = nlohmann::ordered_json;
using workload::PerftestNumbers;
using workload::PerftestOptions;
using workload::PerftestResult;
using workload::PerftestRow;

Json perftest_row(const PerftestOptions& options, const PerftestRow& row) {
  PerftestNumbers n = workload::perftest_numbers(options, row);
  Json j;
  j["MsgSize"] = row.size_B;
  j["n_iterations"] = row.iterations;
  if (!row.failure.empty()) {
    j["failure"] = row.failure;
    return j;
  }
  if (!options.latency) {
    j["BW_peak"] = places(options.report_gbits ? n.bw_peak_Gbps : n.bw_peak_MiBps, 2);
    j["BW_average"] = places(options.report_gbits ? n.bw_average_Gbps : n.bw_average_MiBps, 2);
    j["MsgRate"] = places(n.msg_rate_Mpps, 6);
  } else if (options.duration_s > 0) {
    j["t_avg"] = places(n.t_avg_us, 2);
    j["tps_average"] = places(n.tps, 2);
  } else {
    j["t_min"] = places(n.t_min_us, 2);
    j["t_max"] = places(n.t_max_us, 2);
    j["t_typical"] = places(n.t_typical_us, 2);
    j["t_avg"] = places(n.t_avg_us, 2);
    j["t_stdev"] = places(n.t_stdev_us, 2);
    j["percentile_99"] = places(n.p99_us, 2);
    j["percentile_99.9"] = places(n.p999_us, 2);
  }
  return j;
}

Json perftest_object(const PerftestOptions& options, const PerftestResult& result) {
  Json info = Json::object();
  for (const auto& [key, value] : workload::test_info(options, result)) {
    bool number =
        !value.empty() && std::all_of(value.begin(), value.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
    if (number) {
      info[key] = std::stoull(value);
    } else {
      info[key] = value;
    }
  }
  Json j;
  j["test_info"] = info;
  if (options.all_sizes) {
    j["results"] = Json::array();
    for (const PerftestRow& row : result.rows) j["results"].push_back(perftest_row(options, row));
  } else if (!result.rows.empty()) {
    j["results"] = perftest_row(options, result.rows.front());
  }
  return j;
}

// Of the largest size. Nothing of atomics.
std::optional<workload::PerftestBudget> budget_of(const PerftestOptions& options, const PerftestResult& result) {
  if (options.latency || options.verb == workload::PerftestVerb::kAtomic || result.rows.empty()) return {};
  const PerftestRow& row = result.rows.back();
  if (!row.failure.empty() || row.account.elapsed_ps == 0) return {};
  return workload::perftest_budget(options, row.account, row.size_B, result.mtu_B);
}

Json budget_object(const workload::PerftestBudget& budget) {
  Json j;
  j["healthy"] = budget.healthy;
  if (!budget.slow_link.empty()) j["slow_link"] = budget.slow_link;
  j["line_Gbps"] = places(budget.line_Gbps, 3);
  j["framing_Gbps"] = places(budget.framing_Gbps, 3);
  j["best_framing_Gbps"] = places(budget.best_framing_Gbps, 3);
  j["budget_Gbps"] = Json::object();
  for (const workload::BudgetLine& line : budget.lines) j["budget_Gbps"][line.name] = places(line.Gbps, 3);
  return j;
}

// Of the largest size, where its messages were followed.
const workload::MessageBudget* message_of(const PerftestResult& result) {
  return result.rows.empty() || result.rows.back().message.lines.empty() ? nullptr : &result.rows.back().message;
}

Json message_object(const workload::MessageBudget& message) {
  const auto ns = [](Time_ps time_ps) { return places(static_cast<double>(time_ps) / 1000, 3); };
  Json j;
  j["total_ns"] = ns(message.total_ps);
  if (message.measured_ps != 0) {
    j[std::string(message.measured) + "_ns"] = ns(message.measured_ps);
    j[std::string(message.measured) + "_is"] = message.measured_of_it == 2 ? "half of it" : "all of it";
  }
  j["avoidable_ns"] = ns(message.avoidable_ps);
  j["unexplained_ns"] = ns(message.unexplained_ps);
  j["stages"] = Json::array();
  for (const workload::MessageLine& line : message.lines) {
    Json stage;
    stage["stage"] = line.name;
    if (!line.where.empty()) stage["where"] = line.where;
    stage["there_ns"] = ns(line.there_ps);
    stage["back_ns"] = ns(line.back_ps);
    stage["avoidable"] = line.avoidable;
    j["stages"].push_back(std::move(stage));
  }
  return j;
}

void add_verdict(const PerftestOptions& options, const PerftestResult& result, Json& out) {
  Json verdict = Json::object();
  if (const auto budget = budget_of(options, result)) verdict = budget_object(*budget);
  if (const workload::MessageBudget* message = message_of(result)) {
    if (options.latency) verdict["healthy"] = message->healthy;
    verdict["message"] = message_object(*message);
  }
  if (!verdict.empty()) out["verdict"] = std::move(verdict);
}

// What was said of one end: by the workload, or by the flags. Nothing: all is where its host says.
std::optional<host::Placement> placement_of(const PerftestOptions& options, const HostConfig& host,
                                            const std::optional<host::Placement>& own) {
  if (!own && !options.gpu && options.relaxed_ordering) return std::nullopt;
  host::Placement placement = own.value_or(host.places.placement);
  if (options.gpu) placement.gpu = options.gpu;
  placement.relaxed_ordering = placement.relaxed_ordering && options.relaxed_ordering;
  return placement;
}

Json placement_json(const host::Placement& placement, const HostConfig& host, const NicConfig& nic) {
  Json j;
  if (placement.cpu) j["cpu"] = *placement.cpu;
  if (placement.cpu_node) j["cpu_node"] = *placement.cpu_node;
  if (placement.memory_node) j["memory_node"] = *placement.memory_node;
  if (placement.gpu) {
    j["gpu"] = *placement.gpu;
    j["gpu_model"] = host.places.gpus[*placement.gpu].model.name;
    if (const std::string path = gpu_path_class(host, nic, *placement.gpu); !path.empty()) j["path"] = path;
  }
  j["relaxed_ordering"] = placement.relaxed_ordering;
  return j;
}

// "; a: CPU on node 1; b: memory of GPU 0, h100-sxm (PIX)", or nothing.
std::string placements_text(const PerftestOptions& options, const Lab& lab, const WorkloadConfig& config) {
  std::string out;
  for (bool client : {true, false}) {
    const PortRef& port = client ? config.client : config.server;
    const HostConfig& host = lab.hosts[port.host];
    const auto placement = placement_of(options, host, client ? config.client_placement : config.server_placement);
    if (!placement) continue;
    std::vector<std::string> parts;
    const std::string number = placement->cpu ? fmt::format(" {}", *placement->cpu) : "";
    if (placement->cpu_node) parts.push_back(fmt::format("CPU{} on node {}", number, *placement->cpu_node));
    if (placement->memory_node) parts.push_back(fmt::format("memory on node {}", *placement->memory_node));
    if (placement->gpu) {
      const std::string path = gpu_path_class(host, host.nics[port.nic], *placement->gpu);
      parts.push_back(fmt::format("payload in GPU {}, {}{}", *placement->gpu,
                                  host.places.gpus[*placement->gpu].model.name,
                                  path.empty() ? "" : fmt::format(" ({})", path)));
    }
    if (!placement->relaxed_ordering) parts.push_back("no relaxed ordering");
    if (parts.empty()) continue;
    out += fmt::format("; {}: {}", host.name, fmt::join(parts, ", "));
  }
  return out;
}

}  // namespace

std::string perftest_verdict(const PerftestOptions& options, const PerftestResult& result, bool why) {
  std::string out;
  if (const auto budget = budget_of(options, result)) {
    out = "verdict: " + workload::verdict_text(*budget) + "\n";
    if (why) out += workload::budget_text(*budget, result.rows.back().size_B);
  }
  if (const workload::MessageBudget* message = message_of(result)) {
    if (options.latency) out += "verdict: " + workload::message_verdict(*message) + "\n";
    if (why) out += workload::message_text(*message, result.rows.back().size_B);
  }
  return out;
}

std::string perftest_json(const PerftestOptions& options, const PerftestResult& result, bool verdict) {
  Json j = perftest_object(options, result);
  if (verdict) add_verdict(options, result, j);
  return j.dump(2) + "\n";
}

std::string report_section(const PerftestOptions& options, const PerftestResult& result, const Lab& lab,
                           const WorkloadConfig& config) {
  std::string command = "ib_" + workload::perftest_name(options);
  for (const std::string& word : options.words) command += " " + word;
  std::string out = heading(fmt::format("{}: {}, {}", config.name, command, ends_text(lab, config)));
  out += fmt::format("{} {} QP{}, path MTU {} B{}\n\n```\n", options.ud ? "UD," : "RC,", options.qps,
                     options.qps == 1 ? "" : "s", result.mtu_B, placements_text(options, lab, config));
  out += workload::format_perftest_header(options);
  for (const PerftestRow& row : result.rows) out += workload::format_perftest_row(options, row);
  out += "```\n";
  const std::string verdict = perftest_verdict(options, result, false);
  return verdict.empty() ? out : out + "\n" + verdict;
}

void write_json(const PerftestOptions& options, const PerftestResult& result, const Lab& lab,
                const WorkloadConfig& config, store::JsonStream& out) {
  Json w;
  w["name"] = config.name;
  w["client"] = port_name(lab, config.client);
  w["server"] = port_name(lab, config.server);
  for (bool client : {true, false}) {
    const PortRef& port = client ? config.client : config.server;
    const HostConfig& host = lab.hosts[port.host];
    const auto placement = placement_of(options, host, client ? config.client_placement : config.server_placement);
    if (placement)
      w[client ? "client_placement" : "server_placement"] = placement_json(*placement, host, host.nics[port.nic]);
  }
  w["perftest"] = perftest_object(options, result);
  add_verdict(options, result, w);
  out.item(w.dump());
}

void write_tables(std::type_identity<PerftestOptions>, const RunResult&, store::SqliteFile&) {}

std::string failure_text(const PerftestOptions&, const PerftestResult& perftest, const RunResult& run, const Judged&) {
  const bool cut_short = run.interrupted || run.cut_off;
  if (perftest.rows.empty()) return cut_short ? "" : "nothing was measured";
  const std::string& failure = perftest.rows.back().failure;
  if (failure == workload::kInterrupted && cut_short) return "";
  return failure.substr(0, failure.find('\n'));
}

void add_evidence(const workload::PerftestOptions& options, const workload::PerftestResult&, const Lab& lab,
                  const WorkloadConfig& config, Evidence& evidence) {
  add_ends(lab, config, options.latency ? kLatencyTest : "perftest", evidence);
}

}  // namespace weft::lab
