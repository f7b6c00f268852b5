#include "results/evidence_store.h"

#include <map>

#include "results/evidence_rows.h"
#include "store/rows/run_rows.h"
#include "store/table.h"

namespace weft::lab {
namespace {

void write_senders(store::SqliteFile& file, const Evidence& evidence) {
  store::Inserter<SenderEvidence> senders(file);
  store::Inserter<store::SenderHeldRow> held(file);
  store::Inserter<store::SenderPathRow> path(file);
  store::Inserter<store::EarlierPathRow> earlier(file);
  std::map<std::pair<std::string, std::uint32_t>, std::int64_t> requests;
  std::int64_t id = 0;
  for (const SenderEvidence& each : evidence.senders) {
    ++id;
    senders.add(each);
    for (const HeldTime& part : each.held) held.add({id, part.cause, part.time_ps});
    for (std::size_t hop = 0; hop < each.path.size(); ++hop) path.add({id, hop, each.path[hop]});
    // A path that depends on the moment has one row without a port.
    for (const EarlierPath& before : each.earlier) {
      for (std::size_t hop = 0; hop < before.path.size(); ++hop)
        earlier.add({id, before.until_ps, hop, before.path[hop]});
      if (before.path.empty()) earlier.add({id, before.until_ps, 0, ""});
    }
    if (!each.replies) requests.insert_or_assign({each.from, each.qpn}, id);
  }
  store::Inserter<store::FlowSenderRow> flows(file);
  for (const FlowEvidence& flow : evidence.flows) {
    const auto found = requests.find({flow.from, flow.qpn});
    if (flow.qpn != 0 && found != requests.end()) flows.add({flow.workload, flow.number, found->second});
  }
}

// Lists of lists: a row for each element, with the number of its list.
void write_lists(store::SqliteFile& file, const Evidence& evidence) {
  store::Inserter<store::SettingDifferenceRow> settings(file);
  for (std::size_t i = 0; i < evidence.settings.size(); ++i) {
    const SettingEvidence& each = evidence.settings[i];
    for (const std::string& node : each.nodes)
      settings.add({each.key, each.value, each.usual, each.reference, each.effect, i, node});
  }
  store::Inserter<store::LabWarningRow> warnings(file);
  for (const std::string& each : evidence.warnings) warnings.add({each});
  store::Inserter<store::RouteGroupRow> groups(file);
  for (std::size_t i = 0; i < evidence.route_groups.size(); ++i) {
    const RouteGroupEvidence& each = evidence.route_groups[i];
    for (const std::string& port : each.ports) groups.add({i, port, each.lag});
  }
  store::insert_rows(file, evidence.pools);
  store::Inserter<store::CircularWaitRow> circles(file);
  for (std::size_t i = 0; i < evidence.circular_waits.size(); ++i) {
    for (std::size_t place = 0; place < evidence.circular_waits[i].size(); ++place)
      circles.add({i, place, evidence.circular_waits[i][place]});
  }
}

}  // namespace

void write_evidence(store::SqliteFile& file, const Evidence& evidence) {
  store::Inserter<store::RunRow> run(file);
  run.add({"recorded", evidence.recorded ? "1" : "0"});
  run.add({"left_out", std::to_string(evidence.left_out)});
  run.add({"pauses_left_out", std::to_string(evidence.pauses_left_out)});
  store::insert_rows(file, evidence.workloads);
  write_senders(file, evidence);
  store::insert_rows(file, evidence.events);
  store::insert_rows(file, evidence.links);
  store::Inserter<store::LinkLostRow> lost(file);
  for (const LinkEvidence& each : evidence.links) {
    for (const auto& [reason, count] : each.lost) lost.add({each.from, reason, count});
  }
  store::insert_rows(file, evidence.receivers);
  store::insert_rows(file, evidence.faults);
  store::insert_rows(file, evidence.forwarder_cpus);
  store::insert_rows(file, evidence.rx_rings);
  store::insert_rows(file, evidence.lossy_classes);
  store::insert_rows(file, evidence.collectives);
  write_lists(file, evidence);
}

}  // namespace weft::lab
