#include "serve/runs/flow_summary.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

#include "serve/http/json_answer.h"
#include "serve/runs/latency_rows.h"
#include "workload/flow/stats.h"

namespace weft::serve {

namespace {

using Json = nlohmann::ordered_json;
constexpr std::size_t kMostCdfPoints = 400;

struct Measured {
  std::uint64_t count = 0;
  std::vector<Time_ps> fct_ps;
  std::vector<double> goodput_bps;
};

// Each point is the share of values that are at most x; the last is the largest value.
Json distribution(std::vector<Time_ps> values) {
  if (values.empty()) return nullptr;
  std::sort(values.begin(), values.end());
  const std::span<const Time_ps> sorted(values);
  Json x = Json::array(), share = Json::array();
  const std::size_t points = std::min(values.size(), kMostCdfPoints);
  for (std::size_t i = 1; i <= points; ++i) {
    const std::size_t upto = values.size() * i / points;
    x.push_back(values[upto - 1]);
    share.push_back(static_cast<double>(upto) / static_cast<double>(values.size()));
  }
  const double sum_ps = std::accumulate(values.begin(), values.end(), 0.0);
  return {{"count", values.size()},
          {"min", values.front()},
          {"mean", static_cast<Time_ps>(sum_ps / static_cast<double>(values.size()))},
          {"p50", workload::percentile(sorted, 5'000)},
          {"p90", workload::percentile(sorted, 9'000)},
          {"p99", workload::percentile(sorted, 9'900)},
          {"p999", workload::percentile(sorted, 9'990)},
          {"max", values.back()},
          {"cdf", {{"x", x}, {"share", share}}}};
}

// Buckets are at equal distances on a logarithmic axis, and so are those that are kept. The last is the largest.
Json distribution(const LatencyRow& latency) {
  if (latency.messages <= 0) return nullptr;
  Json x = Json::array(), share = Json::array();
  const std::size_t step = latency.buckets.size() / kMostCdfPoints + 1;
  std::int64_t upto = 0;
  for (std::size_t i = 0; i < latency.buckets.size(); ++i) {
    upto += latency.buckets[i].messages;
    if (i % step != 0 && i + 1 != latency.buckets.size()) continue;
    x.push_back(latency.buckets[i].upto_ps);
    share.push_back(static_cast<double>(upto) / static_cast<double>(latency.messages));
  }
  return {{"count", latency.messages}, {"min", latency.min_ps}, {"mean", latency.mean_ps},
          {"p50", latency.p50_ps},     {"p90", latency.p90_ps}, {"p99", latency.p99_ps},
          {"p999", latency.p999_ps},   {"max", latency.max_ps}, {"cdf", {{"x", x}, {"share", share}}}};
}

}  // namespace

std::string flow_summary(OpenRun& run) {
  std::vector<std::string> order;
  std::map<std::string, Measured> workloads;
  const auto add = [&](const std::string& name) -> Measured& {
    const auto [at, is_new] = workloads.try_emplace(name);
    if (is_new) order.push_back(name);
    return at->second;
  };
  const std::map<std::string, LatencyRow> latencies = workload_latencies(run);
  if (run.has_table("workload_latency")) {  // all workloads, in the lab's order
    lab::SqliteRows rows(run.file(), "SELECT workload FROM workload_latency ORDER BY rowid");
    while (rows.next()) add(rows.text(0));
  }
  if (run.has_table("flow")) {
    lab::SqliteRows rows(run.file(), "SELECT workload, fct_ps, goodput_bps FROM flow ORDER BY rowid");
    while (rows.next()) {
      Measured& measured = add(rows.text(0));
      ++measured.count;
      if (rows.is_null(1)) continue;
      measured.fct_ps.push_back(rows.integer(1));
      measured.goodput_bps.push_back(rows.real(2));
    }
  }
  if (run.has_table("flow_latency")) {
    lab::SqliteRows rows(run.file(),
                         "SELECT workload, count(*) FROM flow_latency WHERE number IS NULL GROUP BY workload");
    while (rows.next()) {
      if (const auto at = workloads.find(rows.text(0)); at != workloads.end())
        at->second.count += static_cast<std::uint64_t>(rows.integer(1));
    }
  }
  Json list = Json::array();
  for (const std::string& name : order) {
    Measured& measured = workloads[name];
    const auto latency = latencies.find(name);
    const bool is_known = latency != latencies.end();
    const bool has_messages = is_known && latency->second.messages > 0;
    list.push_back(
        {{"workload", name},
         {"count", measured.count},
         {"jain", measured.goodput_bps.empty() ? Json() : Json(workload::jain_fairness(measured.goodput_bps))},
         {"fct", distribution(std::move(measured.fct_ps))},
         {"latency", has_messages ? distribution(latency->second) : Json()},
         {"no_latency", has_messages ? Json() : Json(is_known ? latency->second.none : "not recorded")}});
  }
  return json_text(Json{{"workloads", list}});
}

}  // namespace weft::serve
