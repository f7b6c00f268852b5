#include "serve/runs/flow_routes.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>

#include "results/evidence_rows.h"
#include "serve/api/api_rows.h"
#include "serve/http/json_answer.h"
#include "serve/runs/flow_names.h"
#include "serve/runs/flow_summary.h"
#include "serve/runs/latency_rows.h"
#include "serve/runs/open_run.h"
#include "serve/runs/run_explanation.h"
#include "store/json_row.h"
#include "store/table.h"

namespace weft::serve {

namespace {

using Json = nlohmann::ordered_json;
constexpr std::size_t kMostPaths = 2000;  // in one answer

using Latencies = std::map<std::string, FlowLatencyRow>;

std::optional<Time_ps> latency_of(const Latencies& latencies, const std::string& id, Time_ps FlowLatencyRow::*value) {
  const auto at = latencies.find(id);
  return at == latencies.end() ? std::nullopt : std::optional(at->second.*value);
}

// Flows of the lab. Their start is stored relative to the start of their workload.
std::set<std::string> add_flows(OpenRun& run, const std::unordered_map<std::string, const lab::FlowAnswer*>& answers,
                                const Latencies& latencies, std::vector<FlowEntry>& out) {
  std::set<std::string> ids;
  std::map<std::pair<std::string, std::uint64_t>, std::string> names;
  for (const store::FlowNameRow& row : store::Reader<store::FlowNameRow>(run.file()))
    names[{row.workload, row.number}] = row.name;
  std::map<std::string, Time_ps> starts;
  for (const lab::WorkloadEvidence& row : store::Reader<lab::WorkloadEvidence>(run.file()))
    starts.try_emplace(row.name, row.from_ps);
  for (const store::FlowRow& row : store::Reader<store::FlowRow>(run.file())) {
    FlowEntry entry;
    entry.id = row.workload + "/" + std::to_string(row.number);
    if (const auto name = names.find({row.workload, row.number}); name != names.end()) entry.name = name->second;
    entry.workload = row.workload;
    entry.source = row.from;
    entry.destination = row.to;
    entry.size_B = row.size_B;
    if (const auto start = starts.find(row.workload); start != starts.end() && row.start_ps)
      entry.start_ps = *row.start_ps + start->second;
    entry.fct_ps = row.fct_ps;
    entry.goodput_bps = row.goodput_bps;
    entry.slowdown = row.slowdown;
    entry.latency_p50_ps = latency_of(latencies, entry.id, &FlowLatencyRow::p50_ps);
    entry.latency_p99_ps = latency_of(latencies, entry.id, &FlowLatencyRow::p99_ps);
    entry.retransmitted = row.retransmitted_packets;
    entry.cnps = row.cnps_received;
    entry.state = row.state;
    if (const auto answer = answers.find(entry.id); answer != answers.end())
      entry.bottleneck = answer->second->bottleneck;
    ids.insert(entry.id);
    out.push_back(std::move(entry));
  }
  return ids;
}

// States of workloads that did not complete: failed, or running when the run ended.
std::map<std::string, std::string> workload_states(OpenRun& run) {
  std::map<std::string, std::string> states;
  const bool ended_early = run.text("interrupted") == "1" || run.text("cut_off") == "1";
  for (const lab::WorkloadEvidence& row : store::Reader<lab::WorkloadEvidence>(run.file())) {
    if (!row.failure.empty()) {
      states[row.name] = "failed";
    } else if (ended_early && row.to_ps >= run.end_ps()) {
      states[row.name] = "running";
    }
  }
  return states;
}

// Traffic of other workloads from one port to another.
void add_pairs(OpenRun& run, const lab::Explanation& explanation, const std::set<std::string>& rows_of_table,
               const Latencies& latencies, std::vector<FlowEntry>& out) {
  const FlowNames names(run);
  std::map<std::string, std::uint64_t> cnps;
  const bool all_recorded = run.number("left_out") == 0;
  for (const lab::EventEvidence& row : store::Reader<lab::EventEvidence>(run.file(), "WHERE kind = 'cnp'"))
    cnps[names.of_receiver(row.peer, row.port, row.qpn)] += row.count;
  const std::map<std::string, std::string> states = workload_states(run);
  for (const lab::FlowAnswer& flow : explanation.flows) {
    if (rows_of_table.contains(flow.id)) continue;
    const auto heard = cnps.find(flow.id);
    const auto own = states.find(flow.workload);
    const std::string state = !flow.state.empty() ? flow.state : own == states.end() ? "done" : own->second;
    FlowEntry entry;
    entry.id = flow.id;
    entry.name = flow.name;
    entry.workload = flow.workload;
    entry.source = flow.from;
    entry.destination = flow.to;
    entry.start_ps = flow.first_ps;
    if (state == "done") entry.fct_ps = flow.last_ps - flow.first_ps;
    entry.latency_p50_ps = latency_of(latencies, flow.id, &FlowLatencyRow::p50_ps);
    entry.latency_p99_ps = latency_of(latencies, flow.id, &FlowLatencyRow::p99_ps);
    entry.retransmitted = flow.again;
    if (all_recorded) entry.cnps = heard == cnps.end() ? 0 : heard->second;
    entry.state = state;
    entry.bottleneck = flow.bottleneck;
    out.push_back(std::move(entry));
  }
}

Response flows_of(OpenRun& run) {
  const auto explanation = explanation_of(run.directory());
  std::unordered_map<std::string, const lab::FlowAnswer*> answers;
  for (const lab::FlowAnswer& flow : explanation->flows) answers.emplace(flow.id, &flow);
  std::vector<FlowEntry> table;
  const Latencies latencies = flow_latencies(run);
  const std::set<std::string> ids = add_flows(run, answers, latencies, table);
  add_pairs(run, *explanation, ids, latencies, table);
  store::JsonText text;
  text.open('{');
  store::add_column_lists(text, table);
  text.close('}');
  return json_answer(text);
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
  using Sender = lab::SenderEvidence;
  for (const Sender& row : store::Reader<Sender, &Sender::id, &Sender::from, &Sender::qpn>(
           run.file(), "WHERE id IN (SELECT sender FROM sender_path) ORDER BY id")) {
    const std::string id = names.of_sender(row.from, row.qpn);
    if (ids.contains(id)) senders.try_emplace(id, row.id.value_or(0));
  }
  std::unordered_map<std::int64_t, Json> hops;
  for (const auto& [id, sender] : senders) hops.emplace(sender, Json::array());
  for (const store::SenderPathRow& row : store::Reader<store::SenderPathRow>(run.file(), "ORDER BY sender, hop")) {
    if (const auto at = hops.find(row.sender); at != hops.end()) at->second.push_back(row.port);
  }
  std::unordered_map<std::int64_t, Json> earlier;
  for (const store::EarlierPathRow& row :
       store::Reader<store::EarlierPathRow>(run.file(), "ORDER BY sender, until_ps, hop")) {
    if (!hops.contains(row.sender)) continue;
    Json& list = earlier.try_emplace(row.sender, Json::array()).first->second;
    if (list.empty() || list.back()["until_ps"] != row.until_ps)
      list.push_back({{"until_ps", row.until_ps}, {"path", Json::array()}});
    if (!row.port.empty()) list.back()["path"].push_back(row.port);
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
