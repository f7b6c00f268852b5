// The tables of results.sqlite that `weft explain` reads (docs/results.md), beyond those of workloads and events.
#include "results/evidence_store.h"

#include <algorithm>
#include <map>

namespace weft::lab {
namespace {

constexpr const char* kEvidenceSchema = R"(
CREATE TABLE workload(name TEXT, kind TEXT, client TEXT, server TEXT, failure TEXT, from_ps INTEGER, to_ps INTEGER);
CREATE TABLE sender(id INTEGER PRIMARY KEY, port TEXT, peer TEXT, qpn INTEGER, peer_qpn INTEGER, replies INTEGER,
  only_asks INTEGER, first_ps INTEGER, last_ps INTEGER, packets INTEGER, again INTEGER, workload TEXT);
CREATE TABLE sender_held(sender INTEGER, cause TEXT, time_ps INTEGER);
CREATE TABLE sender_path(sender INTEGER, hop INTEGER, port TEXT);
CREATE TABLE sender_path_before(sender INTEGER, until_ps INTEGER, hop INTEGER, port TEXT);
CREATE TABLE flow_sender(workload TEXT, number INTEGER, sender INTEGER);
CREATE TABLE event(first_ps INTEGER, last_ps INTEGER, count INTEGER, kind TEXT, port TEXT, peer TEXT, queue INTEGER,
  queue_B INTEGER, source TEXT, destination TEXT, qpn INTEGER, psn INTEGER, before_bps INTEGER, to_bps INTEGER);
CREATE TABLE link(port TEXT, peer TEXT, rate_bps INTEGER, packets INTEGER, line_B INTEGER, paused_ps INTEGER,
  marked INTEGER, max_queue_B INTEGER);
CREATE TABLE link_lost(port TEXT, reason TEXT, packets INTEGER);
CREATE TABLE receive_wait(port TEXT, cause TEXT, time_ps INTEGER);
CREATE TABLE fault(name TEXT, port TEXT, hits INTEGER);
CREATE TABLE forwarder_cpu(node TEXT, cpu INTEGER, packets INTEGER, busy_ps INTEGER);
CREATE TABLE rx_ring(port TEXT, size INTEGER, most INTEGER, lost INTEGER);
CREATE TABLE lossy_class(node TEXT, queue INTEGER, dscp INTEGER, priority INTEGER, host_priority INTEGER);
CREATE TABLE collective_use(workload TEXT, connections INTEGER, staged INTEGER, sockets INTEGER, blocks_ps INTEGER,
  host_memory_ps INTEGER, working_ps INTEGER, proxy_ps INTEGER, why TEXT);
CREATE TABLE setting_difference(key TEXT, value TEXT, usual TEXT, reference TEXT, effect TEXT, number INTEGER,
  node TEXT);
CREATE TABLE lab_warning(message TEXT);
CREATE TABLE route_group(number INTEGER, port TEXT, lag TEXT);
CREATE TABLE buffer_pool(node TEXT, pool_B INTEGER, alpha INTEGER);
CREATE TABLE circular_wait(number INTEGER, place INTEGER, port TEXT);
)";

void write_senders(SqliteFile& file, const Evidence& evidence) {
  SqliteRows senders(file, "INSERT INTO sender VALUES(?,?,?,?,?,?,?,?,?,?,?,?)");
  SqliteRows held(file, "INSERT INTO sender_held VALUES(?,?,?)");
  SqliteRows path(file, "INSERT INTO sender_path VALUES(?,?,?)");
  SqliteRows earlier(file, "INSERT INTO sender_path_before VALUES(?,?,?,?)");
  std::map<std::pair<std::string, std::uint32_t>, std::int64_t> requests;
  std::int64_t id = 0;
  for (const SenderEvidence& each : evidence.senders) {
    ++id;
    senders.add(id, each.from, each.to, each.qpn, each.peer_qpn, each.replies ? 1 : 0, each.only_asks ? 1 : 0,
                each.first_ps, each.last_ps, each.packets, each.again, each.workload);
    for (const HeldTime& part : each.held) held.add(id, part.cause, part.time_ps);
    for (std::size_t hop = 0; hop < each.path.size(); ++hop) path.add(id, hop, each.path[hop]);
    // A path that depends on the moment has one row without a port.
    for (const EarlierPath& before : each.earlier) {
      for (std::size_t hop = 0; hop < before.path.size(); ++hop)
        earlier.add(id, before.until_ps, hop, before.path[hop]);
      if (before.path.empty()) earlier.add(id, before.until_ps, 0, "");
    }
    if (!each.replies) requests.insert_or_assign({each.from, each.qpn}, id);
  }
  SqliteRows flows(file, "INSERT INTO flow_sender VALUES(?,?,?)");
  for (const FlowEvidence& flow : evidence.flows) {
    const auto found = requests.find({flow.from, flow.qpn});
    if (flow.qpn != 0 && found != requests.end()) flows.add(flow.workload, flow.number, found->second);
  }
}

}  // namespace

void write_evidence(SqliteFile& file, const Evidence& evidence) {
  file.execute(kEvidenceSchema);
  SqliteRows run(file, "INSERT INTO run VALUES(?,?)");
  run.add("recorded", evidence.recorded ? "1" : "0");
  run.add("left_out", std::to_string(evidence.left_out));
  run.add("pauses_left_out", std::to_string(evidence.pauses_left_out));
  SqliteRows workloads(file, "INSERT INTO workload VALUES(?,?,?,?,?,?,?)");
  for (const WorkloadEvidence& each : evidence.workloads)
    workloads.add(each.name, each.kind, each.client, each.server, each.failure, each.from_ps, each.to_ps);
  write_senders(file, evidence);
  SqliteRows events(file, "INSERT INTO event VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
  for (const EventEvidence& each : evidence.events)
    events.add(each.first_ps, each.last_ps, each.count, each.kind, each.port, each.peer, each.queue, each.queue_B,
               each.source, each.destination, each.qpn, each.psn, each.before_bps, each.to_bps);
  SqliteRows links(file, "INSERT INTO link VALUES(?,?,?,?,?,?,?,?)");
  SqliteRows lost(file, "INSERT INTO link_lost VALUES(?,?,?)");
  for (const LinkEvidence& each : evidence.links) {
    links.add(each.from, each.to, each.rate_bps, each.packets, each.line_B, each.paused_ps, each.marked,
              each.max_queue_B);
    for (const auto& [reason, count] : each.lost) lost.add(each.from, reason, count);
  }
  SqliteRows receivers(file, "INSERT INTO receive_wait VALUES(?,?,?)");
  for (const ReceiveEvidence& each : evidence.receivers) receivers.add(each.port, each.cause, each.time_ps);
  SqliteRows faults(file, "INSERT INTO fault VALUES(?,?,?)");
  for (const FaultEvidence& each : evidence.faults) faults.add(each.name, each.port, each.hits);
  SqliteRows cpus(file, "INSERT INTO forwarder_cpu VALUES(?,?,?,?)");
  for (const ForwarderCpuEvidence& each : evidence.forwarder_cpus)
    cpus.add(each.node, each.cpu, each.packets, each.busy_ps);
  SqliteRows rings(file, "INSERT INTO rx_ring VALUES(?,?,?,?)");
  for (const RxRingEvidence& each : evidence.rx_rings) rings.add(each.port, each.size, each.most, each.lost);
  SqliteRows classes(file, "INSERT INTO lossy_class VALUES(?,?,?,?,?)");
  for (const LossyClassEvidence& each : evidence.lossy_classes)
    classes.add(each.node, each.queue, each.dscp, each.priority, each.host_priority);
  SqliteRows collectives(file, "INSERT INTO collective_use VALUES(?,?,?,?,?,?,?,?,?)");
  for (const CollectiveEvidence& each : evidence.collectives)
    collectives.add(each.workload, each.connections, each.staged, each.sockets, each.blocks_ps, each.host_memory_ps,
                    each.working_ps, each.proxy_ps, each.why);
  SqliteRows settings(file, "INSERT INTO setting_difference VALUES(?,?,?,?,?,?,?)");
  for (std::size_t i = 0; i < evidence.settings.size(); ++i) {
    const SettingEvidence& each = evidence.settings[i];
    for (const std::string& node : each.nodes)
      settings.add(each.key, each.value, each.usual, each.reference, each.effect, i, node);
  }
  SqliteRows warnings(file, "INSERT INTO lab_warning VALUES(?)");
  for (const std::string& each : evidence.warnings) warnings.add(each);
  SqliteRows groups(file, "INSERT INTO route_group VALUES(?,?,?)");
  for (std::size_t i = 0; i < evidence.route_groups.size(); ++i) {
    const RouteGroupEvidence& each = evidence.route_groups[i];
    for (const std::string& port : each.ports) groups.add(i, port, each.lag);
  }
  SqliteRows pools(file, "INSERT INTO buffer_pool VALUES(?,?,?)");
  for (const PoolEvidence& each : evidence.pools) pools.add(each.node, each.pool_B, each.alpha);
  SqliteRows circles(file, "INSERT INTO circular_wait VALUES(?,?,?)");
  for (std::size_t i = 0; i < evidence.circular_waits.size(); ++i) {
    for (std::size_t place = 0; place < evidence.circular_waits[i].size(); ++place)
      circles.add(i, place, evidence.circular_waits[i][place]);
  }
}

}  // namespace weft::lab
