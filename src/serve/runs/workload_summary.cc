#include "serve/runs/workload_summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "base/figures.h"
#include "base/json_depth.h"
#include "base/plural.h"
#include "results/report_text.h"
#include "serve/http/bounded_json.h"
#include "store/rows/flow_rows.h"
#include "store/rows/workload_rows.h"
#include "store/table.h"

namespace weft::serve {

namespace {

using SummaryJson = nlohmann::json;
constexpr std::size_t kMostResults_B = std::size_t{256} << 20;

double number_in(const SummaryJson& from, const char* name) {
  const auto it = from.is_object() ? from.find(name) : from.end();
  return it != from.end() && it->is_number() ? it->get<double>() : NAN;
}

std::uint64_t count_in(const SummaryJson& from, const char* name) {
  const double value = number_in(from, name);
  return value >= 0 && value < 1e18 ? static_cast<std::uint64_t>(value) : 0;
}

void add_figure(std::vector<std::string>& parts, const SummaryJson& from, const char* name, const char* text,
                const char* unit) {
  const double value = number_in(from, name);
  // Four significant digits, and all digits before the decimal point.
  if (std::isfinite(value) && value > 0)
    parts.push_back(value >= 1000 ? fmt::format("{} {:.0f} {}", text, value, unit)
                                  : fmt::format("{} {:.4g} {}", text, value, unit));
}

// perftest prints MiB/s, with --report_gbits Gb/s; its JSON does not have the unit. It follows from message rate and
// size.
const char* unit_of_bandwidth(const SummaryJson& row) {
  const double bytes_ps = number_in(row, "MsgRate") * 1e6 * number_in(row, "MsgSize");
  const double average = number_in(row, "BW_average"), gbps = bytes_ps * 8 / 1e9, mibps = bytes_ps / 1048576;
  return std::abs(average - gbps) <= std::abs(average - mibps) ? "Gb/s" : "MiB/s";
}

std::string row_of_perftest(const SummaryJson& row) {
  std::vector<std::string> parts;
  const char* const unit = unit_of_bandwidth(row);
  add_figure(parts, row, "BW_average", "BW average", unit);
  add_figure(parts, row, "BW_peak", "BW peak", unit);
  add_figure(parts, row, "MsgRate", "MsgRate", "Mpps");
  add_figure(parts, row, "t_typical", "t_typical", "us");
  add_figure(parts, row, "t_avg", "t_avg", "us");
  add_figure(parts, row, "percentile_99", "99%", "us");
  add_figure(parts, row, "percentile_99.9", "99.9%", "us");
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string summary_of_perftest(const SummaryJson& perftest) {
  const auto rows = perftest.find("results");
  if (rows == perftest.end()) return "";
  if (!rows->is_array()) return row_of_perftest(*rows);
  if (rows->empty()) return "";
  const std::string last = row_of_perftest(rows->back());
  if (rows->size() == 1 || last.empty()) return last;
  return fmt::format("{} sizes, at {}: {}", rows->size(), message_size_text(count_in(rows->back(), "MsgSize")), last);
}

std::string summary_of_transfer(const SummaryJson& transfer) {
  const std::uint64_t posted = count_in(transfer, "posted");
  if (posted == 0) return "";
  const std::uint64_t elapsed_ns = std::min<std::uint64_t>(count_in(transfer, "elapsed_ns"), INT64_MAX / 1000);
  return fmt::format("{} of {} completed, {} verified, {} in {}", count_in(transfer, "completed"),
                     counted(posted, "operation"), count_in(transfer, "verified"),
                     message_size_text(count_in(transfer, "bytes_ok")),
                     time_text(static_cast<Time_ps>(elapsed_ns) * 1000));
}

std::string summary_of_job(const SummaryJson& job) {
  const auto steps = job.find("step_ps");
  if (steps == job.end() || !steps->is_array() || steps->empty()) return "";
  double sum_ps = 0;
  for (const SummaryJson& step : *steps) sum_ps += step.is_number() ? step.get<double>() : 0;
  const double mean_ps = sum_ps / static_cast<double>(steps->size());
  if (!(mean_ps >= 0 && mean_ps < 9e18)) return "";
  std::string out = fmt::format("{} of {}", counted(steps->size(), "step"), time_text(static_cast<Time_ps>(mean_ps)));
  if (steps->size() > 1) out += " on average";
  const double exposed = number_in(job, "exposed_percent"), compute = number_in(job, "compute_percent");
  if (std::isfinite(compute) && std::isfinite(exposed))
    out += fmt::format(": {} compute, {} exposed communication", share_text(compute / 100), share_text(exposed / 100));
  return out;
}

// Part of results.json before its ports: the workloads. The rest may be hundreds of megabytes. Its keys stand on
// lines of their own (store/json_stream.h); in strings a new line is escaped.
std::string text_before_ports(const std::string& path) {
  constexpr std::string_view kPorts = ",\n  \"ports\": [";
  constexpr std::size_t kPiece_B = std::size_t{1} << 20;
  std::ifstream file(path, std::ios::binary);
  std::string text;
  while (file && text.size() <= kMostResults_B) {
    const std::size_t before = text.size();
    text.resize(before + kPiece_B);
    file.read(text.data() + before, static_cast<std::streamsize>(kPiece_B));
    text.resize(before + static_cast<std::size_t>(file.gcount()));
    const std::size_t end = text.find(kPorts, before - std::min(before, kPorts.size()));
    if (end != std::string::npos) return text.substr(0, end) + "}";
  }
  return text.size() <= kMostResults_B ? text : "";
}

SummaryJson read_workloads(const std::string& directory) {
  const std::string text = text_before_ports(directory + "/results.json");
  if (text.empty() || json_depth(text) > kDeepestJson) return SummaryJson();
  const auto wanted = [](int depth, SummaryJson::parse_event_t event, SummaryJson& parsed) {
    return depth != 1 || event != SummaryJson::parse_event_t::key || parsed == "workloads";
  };
  SummaryJson json = SummaryJson::parse(text, wanted, false);
  return json.is_object() && json.contains("workloads") ? json["workloads"] : SummaryJson();
}

using Summaries = std::map<std::string, std::string>;

void add_flows(OpenRun& run, Summaries& out) {
  struct Done {
    std::uint64_t flows = 0, done = 0;
    Time_ps slowest_ps = 0;
  };
  std::map<std::string, Done> all;
  using Flow = store::FlowRow;
  for (const Flow& row : store::Reader<Flow, &Flow::workload, &Flow::state, &Flow::fct_ps>(run.file())) {
    Done& each = all[row.workload];
    ++each.flows;
    each.done += row.state == "done" ? 1 : 0;
    each.slowest_ps = std::max(each.slowest_ps, row.fct_ps.value_or(0));
  }
  for (const auto& [workload, each] : all) {
    std::string& text = out[workload];
    text = fmt::format("{} of {} done", each.done, counted(each.flows, "flow"));
    if (each.done > 0) text += ", the slowest in " + time_text(each.slowest_ps);
  }
}

void add_nccl(OpenRun& run, Summaries& out) {
  struct Best {
    store::NcclRow row;
    std::set<std::uint64_t> sizes;
    std::uint64_t wrong = 0;
  };
  std::map<std::string, Best> all;
  for (const store::NcclRow& row : store::Reader<store::NcclRow>(run.file(), "WHERE in_place = 0")) {
    Best& each = all[row.workload];
    if (each.sizes.empty() || row.busbw_GBps > each.row.busbw_GBps) each.row = row;
    each.sizes.insert(row.size_B);
    each.wrong += row.wrong;
  }
  for (const auto& [workload, each] : all) {
    std::string& text = out[workload];
    text = fmt::format("busbw {}/s at {}", size_text(each.row.busbw_GBps * 1e9), message_size_text(each.row.size_B));
    if (each.sizes.size() > 1) text += fmt::format(", the most of {} sizes", each.sizes.size());
    if (each.wrong > 0) text += fmt::format("; {} wrong", each.wrong);
  }
}

void add_iperf3(OpenRun& run, Summaries& out) {
  struct Sum {
    std::uint64_t streams = 0, retransmits = 0;
    double received_bps = 0;
  };
  std::map<std::string, Sum> all;
  for (const store::Iperf3StreamRow& row : store::Reader<store::Iperf3StreamRow>(run.file())) {
    Sum& each = all[row.workload];
    ++each.streams;
    each.retransmits += row.retransmits;
    each.received_bps += row.received_bps;
  }
  for (const auto& [workload, each] : all)
    out[workload] = fmt::format("{} received over {}, {}", rate_text(each.received_bps),
                                counted(each.streams, "stream"), counted(each.retransmits, "retransmit"));
}

void add_programs(OpenRun& run, Summaries& out) {
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> all;  // programs, and those that failed
  using Program = store::ProgramRow;
  for (const Program& row : store::Reader<Program, &Program::workload, &Program::exit>(run.file())) {
    ++all[row.workload].first;
    all[row.workload].second += row.exit != 0 ? 1 : 0;
  }
  for (const auto& [workload, count] : all)
    out[workload] =
        counted(count.first, "program") + (count.second > 0 ? fmt::format(", {} failed", count.second) : "");
  for (const store::FoundRow& row : store::Reader<store::FoundRow>(run.file())) {
    std::string& text = out[row.workload];
    text += fmt::format("{}{} {:.5g}", text.empty() ? "" : ", ", row.name, row.value.value_or(0));
  }
}

std::string summary_of(const SummaryJson& workload) {
  if (!workload.is_object()) return "";
  if (const auto it = workload.find("perftest"); it != workload.end() && it->is_object())
    return summary_of_perftest(*it);
  if (const auto it = workload.find("transfer"); it != workload.end() && it->is_object())
    return summary_of_transfer(*it);
  if (const auto it = workload.find("job"); it != workload.end() && it->is_object()) return summary_of_job(*it);
  return "";
}

}  // namespace

std::string summary_of_workload(const std::string& json) {
  return summary_of(bounded_json<SummaryJson>(json));
}

std::map<std::string, std::string> workload_summaries(OpenRun& run) {
  Summaries out;
  for (const SummaryJson& workload : read_workloads(run.directory())) {
    if (std::string text = summary_of(workload);
        !text.empty() && workload.contains("name") && workload["name"].is_string())
      out[workload["name"].get<std::string>()] = std::move(text);
  }
  add_flows(run, out);
  add_nccl(run, out);
  add_iperf3(run, out);
  add_programs(run, out);
  return out;
}

}  // namespace weft::serve
