#include "explain/read_evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "results/evidence_rows.h"
#include "results/explanation.h"
#include "store/rows/fabric_rows.h"
#include "store/rows/run_rows.h"
#include "store/rows/workload_rows.h"
#include "store/table.h"

namespace weft::explain {
namespace {

using lab::Evidence;

void read_run(store::SqliteFile& file, Evidence& evidence) {
  std::map<std::string, std::string> run;
  for (store::RunRow& row : store::Reader<store::RunRow>(file)) run[row.key] = row.value;
  const auto integer = [&](const char* key) {
    return std::clamp<std::int64_t>(std::strtoll(run[key].c_str(), nullptr, 10), 0, kMostNumber);
  };
  evidence.lab = run["lab"];
  evidence.end_ps = integer("end_ps");
  evidence.interrupted = run["interrupted"] == "1";
  evidence.cut_off = run["cut_off"] == "1";
  evidence.recorded = run["recorded"] == "1";
  evidence.sample_interval_ps = integer("sample_interval_ps");
  evidence.samples = static_cast<std::uint64_t>(integer("samples"));
  evidence.left_out = static_cast<std::uint64_t>(integer("left_out"));
  evidence.pauses_left_out = static_cast<std::uint64_t>(integer("pauses_left_out"));
}

template <class Row>
std::vector<Row> all_rows(store::SqliteFile& file) {
  std::vector<Row> rows;
  for (const Row& row : store::Reader<Row>(file)) rows.push_back(row);
  return rows;
}

void read_flows(store::SqliteFile& file, Evidence& evidence) {
  using Key = std::pair<std::string, std::uint64_t>;  // workload and number
  std::map<Key, std::string> names;
  for (const store::FlowNameRow& row : store::Reader<store::FlowNameRow>(file))
    names[{row.workload, row.number}] = row.name;
  std::map<std::int64_t, std::uint32_t> qpns;  // by sender
  for (const lab::SenderEvidence& sender : evidence.senders) qpns[sender.id.value_or(0)] = sender.qpn;
  std::map<Key, std::uint32_t> of_flows;
  for (const store::FlowSenderRow& row : store::Reader<store::FlowSenderRow>(file)) {
    if (const auto qpn = qpns.find(row.sender); qpn != qpns.end()) of_flows[{row.workload, row.number}] = qpn->second;
  }
  for (const store::FlowRow& row : store::Reader<store::FlowRow>(file)) {
    lab::FlowEvidence& flow = evidence.flows.emplace_back(row);
    const Key key{flow.workload, flow.number};
    if (const auto qpn = of_flows.find(key); qpn != of_flows.end()) flow.qpn = qpn->second;
    if (const auto name = names.find(key); name != names.end()) flow.name = name->second;
  }
}

// Ids are 1, 2, 3, …; others are not ours.
void read_senders(store::SqliteFile& file, Evidence& evidence) {
  std::map<std::int64_t, std::size_t> places;
  for (const lab::SenderEvidence& sender : store::Reader<lab::SenderEvidence>(file, "ORDER BY id")) {
    places[sender.id.value_or(0)] = evidence.senders.size();
    evidence.senders.push_back(sender);
  }
  const auto sender_of = [&](std::int64_t id) {
    const auto place = places.find(id);
    return place == places.end() ? nullptr : &evidence.senders[place->second];
  };
  for (const store::SenderHeldRow& row : store::Reader<store::SenderHeldRow>(file)) {
    if (auto* sender = sender_of(row.sender)) sender->held.push_back({row.cause, row.time_ps});
  }
  for (const store::SenderPathRow& row : store::Reader<store::SenderPathRow>(file, "ORDER BY sender, hop")) {
    if (auto* sender = sender_of(row.sender)) sender->path.push_back(row.port);
  }
  for (const store::EarlierPathRow& row :
       store::Reader<store::EarlierPathRow>(file, "ORDER BY sender, until_ps, hop")) {
    auto* sender = sender_of(row.sender);
    if (sender == nullptr) continue;
    std::vector<lab::EarlierPath>& earlier = sender->earlier;
    if (earlier.empty() || earlier.back().until_ps != row.until_ps) earlier.push_back({row.until_ps, {}});
    if (!row.port.empty()) earlier.back().path.push_back(row.port);
  }
}

// What the lab says of its devices.
void read_setup(store::SqliteFile& file, Evidence& evidence) {
  std::uint64_t last = 0;
  for (const store::SettingDifferenceRow& row : store::Reader<store::SettingDifferenceRow>(file)) {
    if (evidence.settings.empty() || row.number != last)
      evidence.settings.push_back({{}, row.key, row.value, row.usual, row.reference, row.effect});
    last = row.number;
    evidence.settings.back().nodes.push_back(row.node);
  }
  for (const store::LabWarningRow& row : store::Reader<store::LabWarningRow>(file))
    evidence.warnings.push_back(row.message);
  for (const store::RouteGroupRow& row : store::Reader<store::RouteGroupRow>(file)) {
    if (evidence.route_groups.empty() || row.number != last) evidence.route_groups.emplace_back();
    last = row.number;
    evidence.route_groups.back().ports.push_back(row.port);
    evidence.route_groups.back().lag = row.lag;
  }
  evidence.pools = all_rows<lab::PoolEvidence>(file);
}

void read_pauses(store::SqliteFile& file, Evidence& evidence) {
  for (const store::PauseEventRow& row : store::Reader<store::PauseEventRow>(file)) {
    lab::PauseEvidence pause;
    pause.time_ps = row.time_ps;
    pause.port = row.port;
    pause.peer = row.peer;
    pause.classes = row.classes;
    pause.sent = row.sent;
    pause.what = row.state;
    pause.nic_cause = row.nic_cause.value_or("");
    pause.queue_port = row.queue_port.value_or("");
    pause.queue = row.queue.value_or(-1);
    pause.queue_B = row.queue_B.value_or(0);
    pause.group_B = row.group_B.value_or(0);
    pause.egress_B = row.egress_B.value_or(0);
    evidence.pauses.push_back(std::move(pause));
  }
}

void read_drops(store::SqliteFile& file, Evidence& evidence) {
  for (const store::DropRow& row : store::Reader<store::DropRow>(file)) {
    lab::DropEvidence drop;
    drop.node = row.node;
    drop.first_ps = row.time_ps;
    drop.last_ps = std::max(row.time_ps, row.last_ps);
    drop.count = row.count;
    if (row.out_port) drop.out_port = row.node + ":" + *row.out_port;
    drop.queue = row.queue;
    drop.reason = row.reason;
    drop.queue_B = row.occupancy_B;
    drop.source = row.source;
    drop.destination = row.destination;
    drop.qpn = row.dest_qp;
    drop.psn = row.psn;
    evidence.drops.push_back(std::move(drop));
  }
}

void read_links(store::SqliteFile& file, Evidence& evidence) {
  std::map<std::string, std::size_t> places;
  for (const lab::LinkEvidence& link : store::Reader<lab::LinkEvidence>(file)) {
    places[link.from] = evidence.links.size();
    evidence.links.push_back(link);
  }
  for (const store::LinkLostRow& row : store::Reader<store::LinkLostRow>(file)) {
    const auto place = places.find(row.port);
    if (place != places.end()) evidence.links[place->second].lost.emplace_back(row.reason, row.packets);
  }
  std::uint64_t last = 0;
  for (const store::CircularWaitRow& row : store::Reader<store::CircularWaitRow>(file, "ORDER BY number, place")) {
    if (evidence.circular_waits.empty() || row.number != last) evidence.circular_waits.emplace_back();
    last = row.number;
    evidence.circular_waits.back().push_back(row.port);
  }
}

ExplainProblem no_results(const std::string& directory) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(directory, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("seed-"))
      return {directory + " has runs of several seeds", "explain one of them: " + directory + "/" + name};
    if (name.ends_with(".part"))
      return {directory + " has a run that did not end: it still runs, or was killed", "run the lab again"};
  }
  return {directory + " has no results.sqlite: it is not the directory of a run",
          "weft run LAB --out DIR writes one, also when it is interrupted"};
}

}  // namespace

tl::expected<Evidence, ExplainProblem> read_evidence(const std::string& directory) {
  std::error_code ignored;
  if (!std::filesystem::exists(directory, ignored))
    return tl::unexpected(ExplainProblem{"no such directory: " + directory, "weft run LAB --out DIR writes one"});
  if (!std::filesystem::is_directory(directory, ignored))
    return tl::unexpected(ExplainProblem{directory + " is not a directory", "give the directory of a run"});
  const std::string path = directory + "/results.sqlite";
  if (!std::filesystem::is_regular_file(path, ignored)) return tl::unexpected(no_results(directory));
  Evidence evidence;
  store::SqliteFile file(path, store::SqliteFile::Mode::kRead);
  file.limit_integers(kMostNumber);
  const bool is_store = store::has_table(file, "run");
  if (file.error().empty() && (!is_store || !store::has_table(file, "sender")))
    return tl::unexpected(
        ExplainProblem{path + (is_store ? " was written by an older weft, which kept no records" : " is not of a run"),
                       "run the lab again: weft run " + directory + "/lab.yaml"});
  if (file.error().empty()) {
    read_run(file, evidence);
    evidence.workloads = all_rows<lab::WorkloadEvidence>(file);
    read_senders(file, evidence);
    read_flows(file, evidence);
    evidence.events = all_rows<lab::EventEvidence>(file);
    read_pauses(file, evidence);
    read_drops(file, evidence);
    read_links(file, evidence);
    evidence.receivers = all_rows<lab::ReceiveEvidence>(file);
    evidence.faults = all_rows<lab::FaultEvidence>(file);
    evidence.forwarder_cpus = all_rows<lab::ForwarderCpuEvidence>(file);
    evidence.rx_rings = all_rows<lab::RxRingEvidence>(file);
    evidence.lossy_classes = all_rows<lab::LossyClassEvidence>(file);
    evidence.collectives = all_rows<lab::CollectiveEvidence>(file);
    read_setup(file, evidence);
    for (const store::JobStragglerRow& row : store::Reader<store::JobStragglerRow>(file))
      evidence.stragglers.push_back({row.workload, row.who, row.reason, row.lost_us});
  }
  if (!file.error().empty())
    return tl::unexpected(ExplainProblem{fmt::format("cannot read {}: {}", path, file.error()), "run the lab again"});
  return evidence;
}

}  // namespace weft::explain
