#include "results/results_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/files.h"
#include "results/json_rows.h"
#include "results/json_stream.h"
#include "results/pause_rows.h"
#include "workload/perftest_report.h"

namespace weft::lab {

namespace {

using Json = nlohmann::ordered_json;
using workload::PerftestNumbers;
using workload::PerftestOptions;
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

Json perftest_object(const PerftestOptions& options, const workload::PerftestResult& result) {
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

Json transfer_object(const workload::TransferResult& t) {
  Json j;
  j["posted"] = t.posted;
  j["completed"] = t.completed;
  j["failed"] = t.failed;
  j["verified"] = t.verified;
  j["bytes_ok"] = t.bytes_ok;
  j["received"] = t.received;
  j["out_of_order"] = t.out_of_order;
  j["wc_status"] = t.wc_status;
  j["vendor_error"] = t.vendor_error;
  j["stalled"] = t.stalled;
  j["elapsed_ns"] = (t.finished_ps - t.started_ps) / kNanosecond_ps;
  return j;
}

Json flows_object(const FlowsOutcome& outcome) {
  const workload::FlowSummary& s = outcome.summary;
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
  }
  return j;
}

void programs_object(Json& j, const workload::ProgramOptions& options, const ProgramsOutcome& outcome) {
  j["exit"] = outcome.exit_status();
  j["deterministic"] = outcome.deterministic;
  j["found"] = Json::object();
  for (const FoundValue& each : outcome.found)
    j["found"][each.name] = each.value ? Json(places(*each.value, 6)) : Json();
  j["programs"] = Json::array();
  for (std::size_t i = 0; i < outcome.programs.size(); ++i) {
    const workload::ProgramOutcome& each = outcome.programs[i];
    Json p;
    p["node"] = options.programs[i].node;
    p["command"] = options.programs[i].words;
    p["end"] = end_text(each);
    p["exit"] = each.exit_status();
    p["started_ps"] = each.started_ps;
    p["ended_ps"] = each.ended_ps;
    p["output"] = each.output;
    p["output_left_out_B"] = each.left_out_B;
    j["programs"].push_back(std::move(p));
  }
}

Json expectation_object(const ExpectationOutcome& e) {
  Json x;
  x["what"] = e.expectation->subject + "." + e.expectation->metric;
  if (e.expectation->min) x["min"] = *e.expectation->min;
  if (e.expectation->max) x["max"] = *e.expectation->max;
  x["value"] = e.value ? Json(places(*e.value, 6)) : Json();
  x["met"] = e.met;
  return x;
}

// An element of a list, as `add` writes it into `text`, whose memory is used again.
template <class Add, class... Parts>
void write_item(JsonStream& out, JsonText& text, const Add& add, const Parts&... parts) {
  text.clear();
  add(text, parts...);
  out.item(text.text());
}

void write_workload(JsonStream& out, const Lab& lab, const WorkloadOutcome& outcome) {
  Json w;
  w["name"] = outcome.config->name;
  if (!outcome.flows && !outcome.programs) {
    w["client"] = port_name(lab, outcome.config->client);
    w["server"] = port_name(lab, outcome.config->server);
  }
  if (outcome.programs) programs_object(w, *outcome.config->programs, *outcome.programs);
  if (outcome.perftest) w["perftest"] = perftest_object(*outcome.config->perftest, *outcome.perftest);
  if (outcome.transfer) w["transfer"] = transfer_object(*outcome.transfer);
  if (!outcome.flows) {
    out.item(w.dump());
    return;
  }
  out.open_with(w.dump());
  out.open("flows", '{');
  const Json summary = flows_object(*outcome.flows);
  for (const auto& [key, value] : summary.items()) out.value(key, value.dump());
  out.open("flows", '[');
  JsonText text;
  for (const FlowOutcome& flow : outcome.flows->flows) write_item(out, text, add_flow, flow);
  out.close(']');
  out.close('}');
  out.close('}');
}

void write_switch(JsonStream& out, const SwitchOutcome& each, const fabric::AddressBook& book) {
  Json j;
  j["name"] = each.config->name;
  j["model"] = each.config->model.name;
  j["tier"] = each.config->tier;
  j["has_wjh"] = each.config->model.has_wjh;
  j["pool_B"] = each.pool_B;
  j["max_buffer_B"] = each.max_buffer_B;
  j["held_packets"] = each.held_packets;
  out.open_with(j.dump());
  out.open("ports", '[');
  JsonText text;
  for (const SwitchPortOutcome& port : each.ports) write_item(out, text, add_switch_port, port);
  out.close(']');
  out.open("drops", '{');
  out.value("total", Json(each.drops.total).dump());
  out.open("records", '[');
  for (const fabric::DropRecord& drop : each.drops.records) write_item(out, text, add_drop, drop, each, book);
  out.close(']');
  out.close('}');
  out.close('}');
}

template <class List, class Write>
void write_list(JsonStream& out, std::string_view key, const List& list, const Write& write) {
  out.open(key, '[');
  for (const auto& each : list) write(each);
  out.close(']');
}

}  // namespace

std::string perftest_json(const PerftestOptions& options, const workload::PerftestResult& result) {
  return perftest_object(options, result).dump(2) + "\n";
}

void results_json(const Lab& lab, const RunResult& result, const TextSink& sink) {
  JsonStream out(sink);
  JsonText text;
  out.open("", '{');
  out.value("lab", Json(lab.name).dump());
  out.value("seed", Json(lab.seed).dump());
  out.value("set", Json(lab.overrides).dump());
  out.value("interrupted", Json(result.interrupted).dump());
  out.value("cut_off", Json(result.cut_off).dump());
  out.value("end_ns", Json(result.end_ps / kNanosecond_ps).dump());
  write_list(out, "workloads", result.workloads, [&](const auto& each) { write_workload(out, lab, each); });
  write_list(out, "ports", result.ports, [&](const auto& each) { write_item(out, text, add_port, each); });
  if (!result.switches.empty()) {
    write_list(out, "switches", result.switches, [&](const auto& each) { write_switch(out, each, result.book); });
    out.value("circular_waits", Json(result.circular_waits).dump());
  }
  std::uint64_t left_out = 0;
  const auto pauses = merged_pauses(result, left_out);
  out.open("pauses", '{');
  out.value("left_out", Json(left_out).dump());
  write_list(out, "events", pauses, [&](const auto& each) { write_item(out, text, add_pause, each); });
  out.close('}');
  write_list(out, "ledger", result.links, [&](const auto& each) { write_item(out, text, add_link, each); });
  write_list(out, "faults", result.faults, [&](const FaultOutcome& each) {
    out.item(Json{{"name", each.name}, {"link", each.where}, {"hits", each.hits}}.dump());
  });
  write_list(out, "expect", result.expectations, [&](const auto& each) { out.item(expectation_object(each).dump()); });
  out.value("captured_frames", Json(result.captured_frames).dump());
  if (result.uncaptured_frames > 0) out.value("uncaptured_frames", Json(result.uncaptured_frames).dump());
  out.close('}');
  sink("\n");
}

std::string results_json(const Lab& lab, const RunResult& result) {
  std::string text;
  results_json(lab, result, [&](std::string_view piece) { text += piece; });
  return text;
}

tl::expected<void, std::string> write_results_json(const std::string& path, const Lab& lab, const RunResult& result) {
  OutputFile file(path);
  results_json(lab, result, [&](std::string_view piece) { file.write(piece); });
  return file.close();
}

}  // namespace weft::lab
