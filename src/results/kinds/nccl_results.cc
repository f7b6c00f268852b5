// What nccl-tests leaves in the report, in results.json and in results.sqlite.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "nccl/text/tests_table.h"
#include "results/json_rows.h"
#include "results/kinds/nccl_json.h"
#include "results/kinds/workload_kind.h"
#include "results/report_text.h"
#include "store/rows/workload_rows.h"
#include "store/table.h"

namespace weft::lab {

namespace {

using Json = nlohmann::ordered_json;
using workload::NcclOptions;
using workload::NcclResult;

Json measure_object(const NcclOptions& options, const nccl::TestMeasure& measure) {
  Json j;
  j[options.test.cpu_time ? "cpu_time" : "time"] = places(measure.time_us, 3);
  j["alg_bw"] = places(measure.algbw, 4);
  j["bus_bw"] = places(measure.busbw, 4);
  j["nwrong"] = measure.wrong ? Json(std::to_string(*measure.wrong)) : Json("N/A");
  return j;
}

Json config_object(const nccl::TestOptions& test, const nccl::TestReport& report) {
  Json j;
  j["nthreads"] = test.threads;
  j["ngpus"] = test.gpus;
  j["minimum_bytes"] = test.min_B;
  j["maximum_bytes"] = test.max_B;
  if (test.step_factor > 1) {
    j["step_factor"] = test.step_factor;
  } else {
    j["step_bytes"] = test.step_B;
  }
  j["warmup_iters"] = test.warmup;
  j["iterations"] = test.iterations;
  j["aggregated_iterations"] = test.aggregated;
  j["validation"] = test.check ? 1 : 0;
  j["graph"] = test.graph;
  j["blocking_collectives"] = test.blocking ? "true" : "false";
  j["per_iter_timing"] = "false";
  j["parallel_init"] = test.parallel_init ? "true" : "false";
  j["devices"] = Json::array();
  for (const nccl::TestDevice& device : report.devices) {
    j["devices"].push_back({{"rank", device.rank},
                            {"group", device.group},
                            {"pid", device.pid},
                            {"hostname", device.host},
                            {"device", device.device},
                            {"device_hex", "0x" + device.bus.substr(5, 2)},
                            {"device_info", device.name}});
  }
  return j;
}

Json nccl_object(const NcclOptions& options, const NcclResult& result) {
  const nccl::TestReport& report = result.report;
  Json j;
  j["version"] = 3;
  j["args"] = Json::array({options.test.program()});
  for (const std::string& word : options.test.words) j["args"].push_back(word);
  j["env"] = Json::array();
  for (const auto& [name, value] : options.environment) j["env"].push_back(name + "=" + value);
  j["nccl_version"] = 23007;
  j["config"] = config_object(options.test, report);
  j["results"] = Json::array();
  for (std::size_t i = 0; i < report.rows.size(); ++i) {
    const nccl::TestRow& row = report.rows[i];
    Json r;
    r["size"] = row.size_B;
    r["count"] = row.count;
    r["type"] = row.type;
    r["redop"] = row.operation;
    r["root"] = std::to_string(row.root);
    if (row.places[0]) r["out_of_place"] = measure_object(options, *row.places[0]);
    if (row.places[1]) r["in_place"] = measure_object(options, *row.places[1]);
    r["actual_iterations"] = options.test.iterations;
    // Weft's own: nccl-tests has no such members.
    r["simulated_iterations"] = row.places[0] ? row.places[0]->iterations : 0;
    if (i < result.choices.size()) r["choice"] = result.choices[i];
    j["results"].push_back(r);
  }
  j["out_of_bounds"] = {{"count", report.wrong()}, {"okay", report.wrong() == 0 ? "true" : "false"}};
  j["average_bus_bandwidth"] = {{"bandwidth", places(report.average_busbw(), 5)}, {"okay", "true"}};
  j["errors"] = Json::array();
  if (!report.failure.empty()) j["errors"].push_back(report.failure);
  return j;
}

}  // namespace

std::string nccl_json(const NcclOptions& options, const NcclResult& result) {
  return nccl_object(options, result).dump(2) + "\n";
}

std::string report_section(const NcclOptions& options, const NcclResult& result, const Lab& lab,
                           const WorkloadConfig& config) {
  std::vector<std::string> names;
  for (std::uint32_t host : options.hosts) names.push_back(lab.hosts[host].name);
  if (names.size() > 8) names = {names.front(), "…", names.back()};
  std::string out =
      heading(fmt::format("{}: {} {}, {} ranks on {}", config.name, options.test.program(),
                          fmt::join(options.test.words, " "), result.report.devices.size(), fmt::join(names, ", ")));
  out += "```\n" + result.log + nccl::format_tests(options.test, result.report) + "```\n";
  if (!result.choices.empty()) out += fmt::format("  algorithm and protocol: {}\n", fmt::join(result.choices, ", "));
  if (result.stalled) out += "  a kernel never ended: nothing is in flight and nothing more will happen\n";
  if (!result.report.failure.empty()) out += "  " + result.report.failure + "\n";
  return out;
}

void write_json(const NcclOptions& options, const NcclResult& result, const Lab&, const WorkloadConfig& config,
                store::JsonStream& out) {
  Json w;
  w["name"] = config.name;
  w["nccl"] = nccl_object(options, result);
  out.item(w.dump());
}

// Only where there is such a test.
void write_tables(std::type_identity<NcclOptions>, const RunResult& result, store::SqliteFile& file) {
  const auto is_nccl = [](const WorkloadOutcome& outcome) { return outcome.as<NcclResult>() != nullptr; };
  if (std::none_of(result.workloads.begin(), result.workloads.end(), is_nccl)) return;
  store::Inserter<store::NcclRow> rows(file);
  for (const WorkloadOutcome& outcome : result.workloads) {
    const auto* nccl = outcome.as<NcclResult>();
    if (nccl == nullptr) continue;
    for (std::size_t i = 0; i < nccl->report.rows.size(); ++i) {
      const nccl::TestRow& row = nccl->report.rows[i];
      for (int place : {0, 1}) {
        const auto& measure = row.places[static_cast<std::size_t>(place)];
        if (!measure) continue;
        rows.add({outcome.config->name, row.size_B, row.count, row.type, row.operation, row.root, place == 1,
                  measure->time_us, measure->algbw, measure->busbw, measure->wrong.value_or(0), measure->iterations,
                  i < nccl->choices.size() ? nccl->choices[i] : std::string()});
      }
    }
  }
}

std::string failure_text(const NcclOptions&, const NcclResult& result, const RunResult&, const Judged&) {
  if (!result.report.failure.empty()) return result.report.failure;
  if (result.stalled) return "a collective did not end";
  if (result.report.wrong() > 0) return fmt::format("{} elements are wrong", result.report.wrong());
  return "";
}

void add_evidence(const workload::NcclOptions& options, const workload::NcclResult& result, const Lab& lab,
                  const WorkloadConfig& config, Evidence& evidence) {
  evidence.workloads.back().kind = "nccl";
  std::string sockets;
  for (const auto& [name, value] : options.environment) {
    if ((name == "NCCL_IB_DISABLE" && value != "0") || name == "NCCL_NET") sockets = name + "=" + value;
  }
  add_collective_use(lab, options.hosts, config, result.use, sockets, evidence);
}

}  // namespace weft::lab
