#include "serve/status_routes.h"

#include <nlohmann/json.hpp>

namespace weft::serve {

void add_status_routes(Router& router, const ServeStatus& status) {
  nlohmann::ordered_json json{{"version", status.version}, {"directory", status.directory}, {"opens", nullptr}};
  if (status.opens_run) json["opens"] = {{"view", "run"}, {"run", "run"}, {"lab", nullptr}};
  if (!status.opens_lab.empty())
    json["opens"] = {{"view", "lab"}, {"run", nullptr}, {"lab", status.opens_lab}, {"text", status.opens_text}};
  json["allow_programs"] = status.allow_programs;
  json["limits"] = {{"tasks", status.limits.at_once},
                    {"waiting", status.limits.waiting},
                    {"time_s", status.limits.time.count() / 1000},
                    {"memory_B", status.limits.memory_B}};
  const std::string body = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  router.add("GET", "/api/status", [body](const Request&) { return Response{200, "application/json", body, {}, {}}; });
}

}  // namespace weft::serve
