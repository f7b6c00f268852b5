#include "serve/runs/workload_summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/figures.h"
#include "base/json_depth.h"
#include "base/plural.h"
#include "results/report_text.h"
#include "serve/http/bounded_json.h"

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
// lines of their own (results/json_stream.h); in strings a new line is escaped.
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
  if (!run.has_table("flow")) return;
  lab::SqliteRows rows(
      run.file(),
      "SELECT workload, count(*), coalesce(sum(state = 'done'), 0), coalesce(max(fct_ps), 0) FROM flow "
      "GROUP BY workload");
  while (rows.next()) {
    std::string& text = out[rows.text(0)];
    text = fmt::format("{} of {} done", rows.integer(2), counted(static_cast<std::uint64_t>(rows.integer(1)), "flow"));
    if (rows.integer(2) > 0) text += ", the slowest in " + time_text(rows.integer(3));
  }
}

void add_nccl(OpenRun& run, Summaries& out) {
  if (!run.has_table("nccl_row")) return;
  // SQLite takes size_B from the row of the maximum.
  lab::SqliteRows rows(run.file(),
                       "SELECT workload, max(busbw_GBps), size_B, count(DISTINCT size_B), sum(wrong) FROM nccl_row "
                       "WHERE in_place = 0 GROUP BY workload");
  while (rows.next()) {
    std::string& text = out[rows.text(0)];
    text = fmt::format("busbw {}/s at {}", size_text(rows.real(1) * 1e9),
                       message_size_text(static_cast<std::uint64_t>(rows.integer(2))));
    if (rows.integer(3) > 1) text += fmt::format(", the most of {} sizes", rows.integer(3));
    if (rows.integer(4) > 0) text += fmt::format("; {} wrong", rows.integer(4));
  }
}

void add_iperf3(OpenRun& run, Summaries& out) {
  if (!run.has_table("iperf3_stream")) return;
  lab::SqliteRows rows(run.file(),
                       "SELECT workload, count(*), sum(received_bps), sum(retransmits) FROM iperf3_stream GROUP BY "
                       "workload");
  while (rows.next()) {
    out[rows.text(0)] = fmt::format("{} received over {}, {}", rate_text(rows.real(2)),
                                    counted(static_cast<std::uint64_t>(rows.integer(1)), "stream"),
                                    counted(static_cast<std::uint64_t>(rows.integer(3)), "retransmit"));
  }
}

void add_programs(OpenRun& run, Summaries& out) {
  if (!run.has_table("program") || !run.has_table("found")) return;
  lab::SqliteRows programs(run.file(),
                           "SELECT workload, count(*), coalesce(sum(exit <> 0), 0) FROM program GROUP BY workload");
  while (programs.next()) {
    const auto count = static_cast<std::uint64_t>(programs.integer(1));
    const std::int64_t bad = programs.integer(2);
    out[programs.text(0)] = counted(count, "program") + (bad > 0 ? fmt::format(", {} failed", bad) : "");
  }
  lab::SqliteRows found(run.file(), "SELECT workload, name, value FROM found ORDER BY rowid");
  while (found.next()) {
    std::string& text = out[found.text(0)];
    text += fmt::format("{}{} {:.5g}", text.empty() ? "" : ", ", found.text(1), found.real(2));
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
