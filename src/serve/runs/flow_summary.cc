#include "serve/runs/flow_summary.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

#include "serve/http/json_answer.h"
#include "serve/runs/latency_rows.h"
#include "store/rows/flow_rows.h"
#include "store/table.h"
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
  if (latency.row.messages == 0) return nullptr;
  Json x = Json::array(), share = Json::array();
  const std::size_t step = latency.buckets.size() / kMostCdfPoints + 1;
  std::uint64_t upto = 0;
  for (std::size_t i = 0; i < latency.buckets.size(); ++i) {
    upto += latency.buckets[i].messages;
    if (i % step != 0 && i + 1 != latency.buckets.size()) continue;
    x.push_back(latency.buckets[i].upto_ps);
    share.push_back(static_cast<double>(upto) / static_cast<double>(latency.row.messages));
  }
  const store::WorkloadLatencyRow& row = latency.row;
  return {{"count", row.messages},           {"min", row.min_ps.value_or(0)}, {"mean", row.mean_ps.value_or(0)},
          {"p50", row.p50_ps.value_or(0)},   {"p90", row.p90_ps.value_or(0)}, {"p99", row.p99_ps.value_or(0)},
          {"p999", row.p999_ps.value_or(0)}, {"max", row.max_ps.value_or(0)}, {"cdf", {{"x", x}, {"share", share}}}};
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
  using Latency = store::WorkloadLatencyRow;
  for (const Latency& row : store::Reader<Latency, &Latency::workload>(run.file())) add(row.workload);  // in order
  using Flow = store::FlowRow;
  for (const Flow& row : store::Reader<Flow, &Flow::workload, &Flow::fct_ps, &Flow::goodput_bps>(run.file())) {
    Measured& measured = add(row.workload);
    ++measured.count;
    if (!row.fct_ps) continue;
    measured.fct_ps.push_back(*row.fct_ps);
    measured.goodput_bps.push_back(row.goodput_bps.value_or(0));
  }
  for (const store::FlowLatencyRow& row :
       store::Reader<store::FlowLatencyRow, &store::FlowLatencyRow::workload>(run.file(), "WHERE number IS NULL")) {
    if (const auto at = workloads.find(row.workload); at != workloads.end()) ++at->second.count;
  }
  Json list = Json::array();
  for (const std::string& name : order) {
    Measured& measured = workloads[name];
    const auto latency = latencies.find(name);
    const bool is_known = latency != latencies.end();
    const bool has_messages = is_known && latency->second.row.messages > 0;
    list.push_back(
        {{"workload", name},
         {"count", measured.count},
         {"jain", measured.goodput_bps.empty() ? Json() : Json(workload::jain_fairness(measured.goodput_bps))},
         {"fct", distribution(std::move(measured.fct_ps))},
         {"latency", has_messages ? distribution(latency->second) : Json()},
         {"no_latency",
          has_messages ? Json() : Json(is_known ? latency->second.row.none.value_or("") : "not recorded")}});
  }
  return json_text(Json{{"workloads", list}});
}

}  // namespace weft::serve
