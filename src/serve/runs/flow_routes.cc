#include "serve/runs/flow_routes.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>

#include "serve/http/json_answer.h"
#include "serve/runs/flow_names.h"
#include "serve/runs/flow_summary.h"
#include "serve/runs/latency_rows.h"
#include "serve/runs/open_run.h"
#include "serve/runs/run_explanation.h"

namespace weft::serve {

namespace {

using Json = nlohmann::ordered_json;
constexpr std::size_t kMostPaths = 2000;  // in one answer

constexpr const char* kFlowColumns[] = {
    "id",          "name",     "workload",       "source",         "destination",   "size_B", "start_ps", "fct_ps",
    "goodput_bps", "slowdown", "latency_p50_ps", "latency_p99_ps", "retransmitted", "cnps",   "state",    "bottleneck"};
using Latencies = std::map<std::string, FlowLatencyRow>;

class FlowTable {
 public:
  FlowTable() {
    for (const char* name : kFlowColumns) columns_[name] = Json::array();
  }
  void add(std::initializer_list<Json> cells) {
    std::size_t i = 0;
    for (const Json& cell : cells) columns_[kFlowColumns[i++]].push_back(cell);
  }
  const Json& columns() const { return columns_; }

 private:
  Json columns_;
};

Json integer_or_null(const lab::SqliteRows& rows, int column) {
  return rows.is_null(column) ? Json() : Json(rows.integer(column));
}
Json real_or_null(const lab::SqliteRows& rows, int column) {
  return rows.is_null(column) ? Json() : Json(rows.real(column));
}

Json latency_or_null(const Latencies& latencies, const std::string& id, Time_ps FlowLatencyRow::*value) {
  const auto at = latencies.find(id);
  return at == latencies.end() ? Json() : Json(at->second.*value);
}

// Flows of the lab. Their start is stored relative to the start of their workload.
std::set<std::string> add_flows(OpenRun& run, const std::unordered_map<std::string, const lab::FlowAnswer*>& answers,
                                const Latencies& latencies, FlowTable& out) {
  std::set<std::string> ids;
  if (!run.has_table("flow")) return ids;
  std::map<std::pair<std::string, std::int64_t>, std::string> names;
  if (run.has_table("flow_name")) {
    lab::SqliteRows rows(run.file(), "SELECT workload, number, name FROM flow_name");
    while (rows.next()) names[{rows.text(0), rows.integer(1)}] = rows.text(2);
  }
  lab::SqliteRows rows(run.file(),
                       "SELECT f.workload, f.number, f.source, f.destination, f.size_B, f.start_ps + w.from_ps, "
                       "f.fct_ps, f.goodput_bps, f.slowdown, f.retransmitted_packets, f.cnps_received, f.state FROM "
                       "flow f LEFT JOIN workload w ON w.name = f.workload ORDER BY f.rowid");
  while (rows.next()) {
    const std::string workload = rows.text(0), id = workload + "/" + std::to_string(rows.integer(1));
    const auto name = names.find({workload, rows.integer(1)});
    const auto answer = answers.find(id);
    out.add({id, name == names.end() ? "" : name->second, workload, rows.text(2), rows.text(3), rows.integer(4),
             integer_or_null(rows, 5), integer_or_null(rows, 6), real_or_null(rows, 7), real_or_null(rows, 8),
             latency_or_null(latencies, id, &FlowLatencyRow::p50_ps),
             latency_or_null(latencies, id, &FlowLatencyRow::p99_ps), rows.integer(9), rows.integer(10), rows.text(11),
             answer == answers.end() ? "" : answer->second->bottleneck});
    ids.insert(id);
  }
  return ids;
}

// States of workloads that did not complete: failed, or running when the run ended.
std::map<std::string, std::string> workload_states(OpenRun& run) {
  std::map<std::string, std::string> states;
  const bool ended_early = run.text("interrupted") == "1" || run.text("cut_off") == "1";
  lab::SqliteRows rows(run.file(), "SELECT name, failure, to_ps FROM workload");
  while (rows.next()) {
    if (!rows.text(1).empty()) {
      states[rows.text(0)] = "failed";
    } else if (ended_early && rows.integer(2) >= run.end_ps()) {
      states[rows.text(0)] = "running";
    }
  }
  return states;
}

// Traffic of other workloads from one port to another.
void add_pairs(OpenRun& run, const lab::Explanation& explanation, const std::set<std::string>& rows_of_table,
               const Latencies& latencies, FlowTable& out) {
  const FlowNames names(run);
  std::map<std::string, std::int64_t> cnps;
  const bool all_recorded = run.number("left_out") == 0;
  lab::SqliteRows rows(run.file(),
                       "SELECT peer, port, qpn, sum(count) FROM event WHERE kind = 'cnp' GROUP BY peer, port, qpn");
  while (rows.next()) cnps[names.of_receiver(rows.text(0), rows.text(1), rows.integer(2))] += rows.integer(3);
  const std::map<std::string, std::string> states = workload_states(run);
  for (const lab::FlowAnswer& flow : explanation.flows) {
    if (rows_of_table.contains(flow.id)) continue;
    const auto heard = cnps.find(flow.id);
    const auto own = states.find(flow.workload);
    const std::string state = !flow.state.empty() ? flow.state : own == states.end() ? "done" : own->second;
    out.add({flow.id, flow.name, flow.workload, flow.from, flow.to, nullptr, flow.first_ps,
             state == "done" ? Json(flow.last_ps - flow.first_ps) : Json(), nullptr, nullptr,
             latency_or_null(latencies, flow.id, &FlowLatencyRow::p50_ps),
             latency_or_null(latencies, flow.id, &FlowLatencyRow::p99_ps), flow.again,
             all_recorded ? Json(heard == cnps.end() ? 0 : heard->second) : Json(), state, flow.bottleneck});
  }
}

Response flows_of(OpenRun& run) {
  const auto explanation = explanation_of(run.directory());
  std::unordered_map<std::string, const lab::FlowAnswer*> answers;
  for (const lab::FlowAnswer& flow : explanation->flows) answers.emplace(flow.id, &flow);
  FlowTable table;
  const Latencies latencies = flow_latencies(run);
  const std::set<std::string> ids = add_flows(run, answers, latencies, table);
  add_pairs(run, *explanation, ids, latencies, table);
  return json_answer(table.columns());
}

std::set<std::string> ids_of(const std::string& text) {
  std::set<std::string> ids;
  for (std::size_t at = 0; at <= text.size() && ids.size() <= kMostPaths;) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    if (end > at) ids.insert(text.substr(at, end - at));
    at = end + 1;
  }
  return ids;
}

// The path of the first queue pair of each flow that has one.
Response paths_of(const Request& request, OpenRun& run) {
  const std::set<std::string> ids = ids_of(request.text("flows"));
  if (ids.empty() || ids.size() > kMostPaths)
    return problem(422, "flows takes up to 2000 names", "flows=incast/3,incast/4");
  const FlowNames names(run);
  std::map<std::string, std::int64_t> senders;
  lab::SqliteRows rows(run.file(),
                       "SELECT id, port, qpn FROM sender WHERE id IN (SELECT sender FROM sender_path) ORDER BY id");
  while (rows.next()) {
    const std::string id = names.of_sender(rows.text(1), rows.integer(2));
    if (ids.contains(id)) senders.try_emplace(id, rows.integer(0));
  }
  std::unordered_map<std::int64_t, Json> hops;
  for (const auto& [id, sender] : senders) hops.emplace(sender, Json::array());
  lab::SqliteRows path(run.file(), "SELECT sender, port FROM sender_path ORDER BY sender, hop");
  while (path.next()) {
    if (const auto at = hops.find(path.integer(0)); at != hops.end()) at->second.push_back(path.text(1));
  }
  std::unordered_map<std::int64_t, Json> earlier;
  lab::SqliteRows before(run.file(),
                         "SELECT sender, until_ps, port FROM sender_path_before ORDER BY sender, until_ps, hop");
  while (before.next()) {
    if (!hops.contains(before.integer(0))) continue;
    Json& list = earlier.try_emplace(before.integer(0), Json::array()).first->second;
    if (list.empty() || list.back()["until_ps"] != before.integer(1))
      list.push_back({{"until_ps", before.integer(1)}, {"path", Json::array()}});
    if (!before.text(2).empty()) list.back()["path"].push_back(before.text(2));
  }
  Json paths = Json::object(), changed = Json::object();
  for (const auto& [id, sender] : senders) {
    paths[id] = hops[sender];
    if (const auto at = earlier.find(sender); at != earlier.end()) changed[id] = at->second;
  }
  return json_answer(Json{{"paths", paths}, {"before", changed}});
}

}  // namespace

void add_flow_routes(Router& router, const RunPlace& place, AnswerCache& cache) {
  router.add("GET", "/api/runs/*/flows",
             on_run(place, cache, [](const Request&, OpenRun& run) { return flows_of(run); }));
  router.add("GET", "/api/runs/*/flows/summary", on_run(place, cache, [](const Request&, OpenRun& run) {
               return Response{200, "application/json", flow_summary(run), {}, {}};
             }));
  router.add("GET", "/api/runs/*/paths", on_run(place, cache, paths_of));
}

}  // namespace weft::serve
