#include "serve/run_routes.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace weft::serve {

namespace {

using Json = nlohmann::ordered_json;

Response list_runs(const RunPlace& place) {
  Json runs = Json::array();
  for (const std::string& id : place.list()) runs.push_back({{"id", id}});
  return {200, "application/json", Json{{"runs", runs}}.dump(), {}, {}};
}

std::string type_of_file(const std::string& path) {
  if (path.ends_with(".json")) return "application/json";
  if (path.ends_with(".md") || path.ends_with(".yaml")) return "text/plain; charset=utf-8";
  return "application/octet-stream";
}

}  // namespace

void add_run_routes(Router& router, const RunPlace& place) {
  router.add("GET", "/api/runs", [&place](const Request&) { return list_runs(place); });
  router.add("GET", "/api/runs/*/files/*", [&place](const Request& request) {
    const auto path = place.file(request.match[0], request.match[1]);
    if (!path) return problem(404, fmt::format("the run {} has no file {}", request.match[0], request.match[1]));
    Response response{200, type_of_file(*path), "", {}, {}};
    response.file = *path;
    response.header["Content-Disposition"] = fmt::format("attachment; filename=\"{}\"", request.match[1]);
    return response;
  });
}

}  // namespace weft::serve
