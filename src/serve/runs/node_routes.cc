#include "serve/runs/node_routes.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "results/counters/counters_text.h"
#include "results/qos/qos_text.h"
#include "serve/api/api_rows.h"
#include "serve/http/bounded_json.h"
#include "serve/http/json_answer.h"
#include "serve/runs/open_run.h"
#include "serve/runs/run_lab.h"
#include "store/json_row.h"
#include "store/rows/fabric_rows.h"
#include "store/rows/run_rows.h"
#include "store/table.h"

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
  store::SqliteRows names(run.file(), "PRAGMA table_info(port_class)");
  while (names.next()) columns.push_back(names.text(1));
  Json list = Json::array();
  store::SqliteRows rows(run.file(), "SELECT * FROM port_class WHERE node = ? ORDER BY rowid");
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

std::vector<NodeDrop> drops_of_node(OpenRun& run, const std::string& node) {
  std::vector<NodeDrop> list;
  for (const store::DropRow& row :
       store::Reader<store::DropRow>(run.file(), "WHERE node = ? ORDER BY time_ps LIMIT ?", node, kMostDrops))
    list.push_back({row.time_ps, row.in_port, row.out_port.value_or(""), row.queue, row.reason, row.occupancy_B,
                    row.source, row.destination, row.dest_qp, row.psn});
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
  const auto node = store::read_first<store::NodeRow>(run.file(), "WHERE name = ?", name);
  if (!node) return problem(404, fmt::format("{} has no node {}", run.id(), name));
  const auto json = lab::counters_text(run.directory(), name, std::nullopt, true);
  const auto text = lab::counters_text(run.directory(), name, std::nullopt, false);
  Json qos_problem;
  const Json qos = qos_of_node(run, name, qos_problem);
  store::JsonText answer;
  answer.open('{');
  answer.add("name", name);
  answer.add("kind", node->kind);
  answer.add("model", node->model);
  answer.add_json("qos", json_text(qos));
  answer.add_json("qos_problem", json_text(qos_problem));
  answer.add_json("counters", json_text(json ? counters_of_node(*json) : Json::object()));
  answer.add_json("queues", json_text(queues_of_node(run, name)));
  store::add_list(answer, "drops", drops_of_node(run, name));
  answer.add("text", text ? *text : text.error().message);
  answer.close('}');
  return json_answer(answer);
}

}  // namespace

void add_node_routes(Router& router, const RunPlace& place, AnswerCache& cache) {
  router.add("GET", "/api/runs/*/nodes/*", on_run(place, cache, node_of_run));
}

}  // namespace weft::serve
