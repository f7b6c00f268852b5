#include "serve/metrics_routes.h"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "export/metric_families.h"
#include "export/prometheus.h"
#include "serve/runs/open_run.h"
#include "serve/worlds/world_view.h"

namespace weft::serve {

namespace {

constexpr const char* kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

Response run_metrics(const RunPlace& place, AnswerCache& cache, const std::string& id) {
  const auto directory = finished_run(place, id);
  if (!directory) return directory.error();
  const std::string key = stamp_of(*directory) + "\n/metrics";
  if (auto kept = cache.find(key)) return {200, kMetricsType, *kept, {}, {}};
  const auto store = exports::RunStore::open(*directory);
  if (!store) return problem(422, store.error().message, store.error().remedy);
  auto metrics = exports::metrics_text(*store);
  if (!metrics) return problem(500, metrics.error(), "run the lab again");
  cache.keep(key, std::make_shared<const std::string>(metrics->text));
  return {200, kMetricsType, std::move(metrics->text), {}, {}};
}

Response world_metrics(const std::string& name) {
  const auto world = world_results(name);
  const auto results = world ? exports::read_port_results(world->json) : std::nullopt;
  if (!results) return problem(404, fmt::format("no world {} is up", name), "start one with weft up LAB");
  return {200, kMetricsType, exports::world_metrics_text(*results, name, world->now_ps), {}, {}};
}

std::string server_metrics(const MetricsSources& sources, const AnswerCounts& counts, std::size_t runs) {
  exports::MetricFamilies out;
  out.add("weft_serve_info", "gauge", "Version of the server.", exports::metric_labels({{"version", sources.version}}),
          "1");
  for (std::size_t digit = 2; digit < counts.by_class.size(); ++digit)
    out.add("weft_serve_requests_total", "counter", "Requests answered, by status.",
            exports::metric_labels({{"status", fmt::format("{}xx", digit)}}),
            std::to_string(counts.by_class[digit].load()));
  out.add("weft_serve_runs", "gauge", "Runs in the served directory.", "", std::to_string(runs));
  out.add("weft_serve_listeners", "gauge", "Clients of the event stream.", "",
          std::to_string(sources.hub->listeners()));
  std::array<std::size_t, 5> states{};
  for (const Task& task : sources.tasks->list()) ++states.at(static_cast<std::size_t>(task.state));
  for (std::size_t i = 0; i < states.size(); ++i)
    out.add("weft_serve_tasks", "gauge", "Runs and sweeps started by the page, by state.",
            exports::metric_labels({{"state", text_of(static_cast<TaskState>(i))}}), std::to_string(states[i]));
  const TaskLimits& limits = sources.tasks->limits();
  out.add("weft_serve_task_limit", "gauge", "Maximum number of tasks that run at the same time.", "",
          std::to_string(limits.at_once));
  return out.text();
}

}  // namespace

void add_metrics_routes(Router& router, const RunPlace& place, AnswerCache& cache, RunList& runs,
                        const MetricsSources& sources) {
  router.add("GET", "/metrics", [&place, &cache, &runs, sources, counts = router.counts()](const Request& request) {
    const std::string run = request.text("run"), world = request.text("world");
    if (!run.empty() && !world.empty()) return problem(422, "give either run or world");
    const auto look = runs.look();
    Response response{200, kMetricsType, "", {}, {}};
    if (!world.empty()) {
      response = world_metrics(world);
    } else if (!run.empty()) {
      response = run_metrics(place, cache, run);
    } else if (!look->newest.empty()) {
      // A newest run that cannot be read does not hide the server's own metrics.
      Response newest = run_metrics(place, cache, look->newest);
      if (newest.status == 200) response = std::move(newest);
    }
    if (response.status == 200) response.body += server_metrics(sources, *counts, look->count);
    return response;
  });
}

}  // namespace weft::serve
