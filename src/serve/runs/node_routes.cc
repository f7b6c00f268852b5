#include "serve/runs/node_routes.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "results/counters/counters_text.h"
#include "results/qos/qos_text.h"
#include "serve/http/bounded_json.h"
#include "serve/http/json_answer.h"
#include "serve/runs/open_run.h"
#include "serve/runs/run_lab.h"

namespace weft::serve {

namespace {

using Json = nlohmann::ordered_json;
constexpr int kMostDrops = 200;

// {group: {name: value}} of one port of results.json: its objects of numbers, and its classes one by one.
Json groups_of_port(const Json& port) {
  Json groups = Json::object();
  for (const auto& [name, value] : port.items()) {
    if (value.is_object()) groups[name] = value;
  }
  const auto classes = port.find("classes");
  if (classes == port.end() || !classes->is_array()) return groups;
  for (const Json& each : *classes) {
    if (!each.is_object() || !each.contains("class") || !each["class"].is_number_integer()) continue;
    Json values = each;
    values.erase("class");
    groups[fmt::format("class {}", each["class"].get<std::int64_t>())] = std::move(values);
  }
  return groups;
}

void add_port(const Json& port, Json& counters) {
  if (!port.is_object()) return;
  const auto name = port.find("name");
  if (name == port.end() || !name->is_string()) return;
  const std::string text = name->get<std::string>();
  const std::size_t colon = text.find(':');
  counters[colon == text.npos ? text : text.substr(colon + 1)] = groups_of_port(port);
}

// A host or a switch in results.json: a port, a list of ports, or an object with `ports`.
Json counters_of_node(const std::string& text) {
  Json counters = Json::object();
  const Json json = bounded_json<Json>(text);
  if (json.is_array()) {
    for (const Json& port : json) add_port(port, counters);
  } else if (json.is_object() && json.contains("ports") && json["ports"].is_array()) {
    for (const Json& port : json["ports"]) add_port(port, counters);
  } else if (json.is_object()) {
    add_port(json, counters);
  }
  return counters;
}

Json queues_of_node(OpenRun& run, const std::string& node) {
  std::vector<std::string> columns;
  lab::SqliteRows names(run.file(), "PRAGMA table_info(port_class)");
  while (names.next()) columns.push_back(names.text(1));
  Json list = Json::array();
  lab::SqliteRows rows(run.file(), "SELECT * FROM port_class WHERE node = ? ORDER BY rowid");
  rows.bind(node);
  while (rows.next()) {
    Json row = Json::object();
    for (std::size_t i = 1; i < columns.size(); ++i) {
      const int at = static_cast<int>(i);
      if (columns[i] == "port") {
        row["port"] = node + ":" + rows.text(at);
      } else if (!rows.is_null(at) && (columns[i] == "class" || rows.integer(at) != 0)) {
        row[columns[i]] = rows.integer(at);
      }
    }
    list.push_back(std::move(row));
  }
  return list;
}

Json drops_of_node(OpenRun& run, const std::string& node) {
  Json list = Json::array();
  lab::SqliteRows rows(run.file(),
                       "SELECT time_ps, coalesce(in_port, ''), coalesce(out_port, ''), queue, reason, occupancy_B, "
                       "source, destination, dest_qp, psn FROM drop_record WHERE node = ? ORDER BY time_ps LIMIT ?");
  rows.bind(node, kMostDrops);
  while (rows.next())
    list.push_back({{"time_ps", rows.integer(0)},
                    {"in_port", rows.text(1)},
                    {"out_port", rows.text(2)},
                    {"queue", rows.integer(3)},
                    {"reason", rows.text(4)},
                    {"occupancy_B", rows.integer(5)},
                    {"source", rows.text(6)},
                    {"destination", rows.text(7)},
                    {"qp", rows.integer(8)},
                    {"psn", rows.integer(9)}});
  return list;
}

Json qos_of_node(const OpenRun& run, const std::string& node, Json& problem) {
  const auto lab = lab_of_run(run);
  if (!lab) {
    problem = lab.error();
    return nullptr;
  }
  const Json all = Json::parse(lab::qos_json(*lab, node), nullptr, false);
  const auto devices = all.find("devices");
  return devices != all.end() && devices->is_array() && !devices->empty() ? devices->front() : all;
}

Response node_of_run(const Request& request, OpenRun& run) {
  const std::string& name = request.match[1];
  lab::SqliteRows rows(run.file(), "SELECT kind, model FROM node WHERE name = ?");
  rows.bind(name);
  if (!rows.next()) return problem(404, fmt::format("{} has no node {}", run.id(), name));
  const auto json = lab::counters_text(run.directory(), name, std::nullopt, true);
  const auto text = lab::counters_text(run.directory(), name, std::nullopt, false);
  Json qos_problem;
  const Json qos = qos_of_node(run, name, qos_problem);
  return json_answer(Json{{"name", name},
                          {"kind", rows.text(0)},
                          {"model", rows.text(1)},
                          {"qos", qos},
                          {"qos_problem", qos_problem},
                          {"counters", json ? counters_of_node(*json) : Json::object()},
                          {"queues", queues_of_node(run, name)},
                          {"drops", drops_of_node(run, name)},
                          {"text", text ? *text : text.error().message}});
}

}  // namespace

void add_node_routes(Router& router, const RunPlace& place, AnswerCache& cache) {
  router.add("GET", "/api/runs/*/nodes/*", on_run(place, cache, node_of_run));
}

}  // namespace weft::serve
