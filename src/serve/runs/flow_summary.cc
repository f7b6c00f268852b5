#include "serve/runs/flow_summary.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "serve/http/json_answer.h"
#include "workload/flow_stats.h"

namespace weft::serve {

namespace {

using Json = nlohmann::ordered_json;
constexpr std::size_t kMostCdfPoints = 400;

struct Measured {
  std::uint64_t count = 0;
  std::vector<Time_ps> fct_ps;
  std::vector<double> goodput_bps;
};

// Each point is the share of those that are at most x; the last is the largest.
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
  return {{"p50", workload::percentile(sorted, 5'000)},
          {"p90", workload::percentile(sorted, 9'000)},
          {"p99", workload::percentile(sorted, 9'900)},
          {"p999", workload::percentile(sorted, 9'990)},
          {"max", values.back()},
          {"cdf", {{"x", x}, {"share", share}}}};
}

}  // namespace

std::string flow_summary(OpenRun& run) {
  std::vector<std::string> order;
  std::map<std::string, Measured> workloads;
  if (run.has_table("flow")) {
    lab::SqliteRows rows(run.file(), "SELECT workload, fct_ps, goodput_bps FROM flow ORDER BY rowid");
    while (rows.next()) {
      const auto [at, is_new] = workloads.try_emplace(rows.text(0));
      if (is_new) order.push_back(at->first);
      Measured& measured = at->second;
      ++measured.count;
      if (rows.is_null(1)) continue;
      measured.fct_ps.push_back(rows.integer(1));
      measured.goodput_bps.push_back(rows.real(2));
    }
  }
  Json list = Json::array();
  for (const std::string& name : order) {
    Measured& measured = workloads[name];
    list.push_back(
        {{"workload", name},
         {"count", measured.count},
         {"jain", measured.goodput_bps.empty() ? Json() : Json(workload::jain_fairness(measured.goodput_bps))},
         {"fct", distribution(std::move(measured.fct_ps))},
         {"latency", nullptr}});
  }
  return json_text(Json{{"workloads", list}});
}

}  // namespace weft::serve
