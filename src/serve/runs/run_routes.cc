#include "serve/runs/run_routes.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "serve/http/json_answer.h"
#include "serve/runs/open_run.h"
#include "serve/runs/run_entry.h"

namespace weft::serve {

namespace {

using Json = nlohmann::ordered_json;
constexpr std::size_t kMostLab_B = std::size_t{16} << 20;

Response lab_of(OpenRun& run) {
  auto text = read_file(run.directory() + "/lab.yaml", kMostLab_B);
  if (!text) return problem(404, fmt::format("{} has no lab.yaml: {}", run.id(), text.error()));
  return json_answer(Json{{"text", *text},
                          {"set", set_of(run)},
                          {"seed", std::strtoull(run.text("seed").c_str(), nullptr, 10)},
                          {"seed_text", run.text("seed")}});
}

std::string type_of_file(const std::string& path) {
  if (path.ends_with(".json")) return "application/json";
  if (path.ends_with(".md") || path.ends_with(".yaml")) return "text/plain; charset=utf-8";
  return "application/octet-stream";
}

}  // namespace

void add_run_routes(Router& router, const RunPlace& place, AnswerCache& cache, RunList& runs) {
  router.add("GET", "/api/runs", [&runs](const Request&) { return shared_answer(runs.look()->json); });
  router.add("GET", "/api/runs/*", [&](const Request& request) {
    const auto directory = place.find(request.match[0]);
    std::error_code ignored;
    if (directory && !std::filesystem::is_regular_file(*directory + "/results.sqlite", ignored))
      return Response{
          200, "application/json", run_entry(request.match[0], *directory), {}, {}};  // a study: the runs are below it
    return on_run(place, cache, [](const Request&, OpenRun& run) {
      return Response{200, "application/json", run_details(run), {}, {}};
    })(request);
  });
  router.add("GET", "/api/runs/*/lab", on_run(place, cache, [](const Request&, OpenRun& run) { return lab_of(run); }));
  router.add("GET", "/api/runs/*/files/*", [&](const Request& request) {
    if (auto run = finished_run(place, request.match[0]); !run) return run.error();
    const auto path = place.file(request.match[0], request.match[1]);
    if (!path) return problem(404, fmt::format("the run {} has no file {}", request.match[0], request.match[1]));
    Response response{200, type_of_file(*path), "", {}, {}};
    response.file = *path;
    response.header["Content-Disposition"] = fmt::format("attachment; filename=\"{}\"", request.match[1]);
    return response;
  });
}

}  // namespace weft::serve
