#include "explain/read_evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "results/explanation.h"
#include "results/sqlite_file.h"

namespace weft::explain {
namespace {

using lab::Evidence;
using lab::SqliteFile;
using lab::SqliteRows;

std::uint64_t number(const SqliteRows& rows, int column) {
  return static_cast<std::uint64_t>(rows.integer(column));
}
std::uint32_t number32(const SqliteRows& rows, int column) {
  return static_cast<std::uint32_t>(rows.integer(column));
}

bool has_table(SqliteFile& file, const char* name) {
  SqliteRows rows(file, "SELECT 1 FROM sqlite_master WHERE type='table' AND name=?");
  rows.bind(name);
  return rows.next();
}

void read_run(SqliteFile& file, Evidence& evidence) {
  std::map<std::string, std::string> run;
  SqliteRows rows(file, "SELECT key, value FROM run");
  while (rows.next()) run[rows.text(0)] = rows.text(1);
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

void read_workloads(SqliteFile& file, Evidence& evidence) {
  SqliteRows rows(file, "SELECT name, kind, client, server, failure, from_ps, to_ps FROM workload ORDER BY rowid");
  while (rows.next())
    evidence.workloads.push_back(
        {rows.text(0), rows.text(1), rows.text(2), rows.text(3), rows.text(4), rows.integer(5), rows.integer(6)});
  std::map<std::pair<std::string, std::uint64_t>, std::string> names;
  if (has_table(file, "flow_name")) {
    SqliteRows graph(file, "SELECT workload, number, name FROM flow_name");
    while (graph.next()) names[{graph.text(0), number(graph, 1)}] = graph.text(2);
  }
  SqliteRows flows(file,
                   "SELECT f.workload, f.number, f.source, f.destination, f.size_B, f.state, "
                   "coalesce(f.goodput_bps, 0.0), f.retransmitted_packets, f.cnps_received, "
                   "coalesce(s.qpn, 0), coalesce(f.fct_ps, 0), coalesce(f.slowdown, 0.0) FROM flow f LEFT JOIN "
                   "flow_sender l ON l.workload = f.workload AND "
                   "l.number = f.number LEFT JOIN sender s ON s.id = l.sender ORDER BY f.rowid");
  while (flows.next()) {
    lab::FlowEvidence flow;
    flow.workload = flows.text(0);
    flow.number = number(flows, 1);
    flow.from = flows.text(2);
    flow.to = flows.text(3);
    flow.size_B = number(flows, 4);
    flow.state = flows.text(5);
    flow.goodput_bps = flows.real(6);
    flow.retransmitted_packets = number(flows, 7);
    flow.cnps_received = number(flows, 8);
    flow.qpn = number32(flows, 9);
    flow.fct_ps = flows.integer(10);
    flow.slowdown = flows.real(11);
    if (const auto name = names.find({flow.workload, flow.number}); name != names.end()) flow.name = name->second;
    evidence.flows.push_back(std::move(flow));
  }
}

// Ids are 1, 2, 3, …; others are not ours.
void read_senders(SqliteFile& file, Evidence& evidence) {
  // Files of older versions lack some of the columns.
  const std::string again = has_column(file, "sender", "again") ? "again" : "0";
  const std::string workload = has_column(file, "sender", "workload") ? "workload" : "''";
  SqliteRows rows(file, ("SELECT id, port, peer, qpn, peer_qpn, replies, only_asks, first_ps, last_ps, packets, " +
                         again + ", " + workload + " FROM sender ORDER BY id")
                            .c_str());
  std::map<std::int64_t, std::size_t> places;
  while (rows.next()) {
    lab::SenderEvidence sender;
    places[rows.integer(0)] = evidence.senders.size();
    sender.from = rows.text(1);
    sender.to = rows.text(2);
    sender.qpn = number32(rows, 3);
    sender.peer_qpn = number32(rows, 4);
    sender.replies = rows.integer(5) != 0;
    sender.only_asks = rows.integer(6) != 0;
    sender.first_ps = rows.integer(7);
    sender.last_ps = rows.integer(8);
    sender.packets = number(rows, 9);
    sender.again = number(rows, 10);
    sender.workload = rows.text(11);
    evidence.senders.push_back(std::move(sender));
  }
  SqliteRows held(file, "SELECT sender, cause, time_ps FROM sender_held ORDER BY rowid");
  while (held.next()) {
    const auto place = places.find(held.integer(0));
    if (place != places.end()) evidence.senders[place->second].held.push_back({held.text(1), held.integer(2)});
  }
  SqliteRows path(file, "SELECT sender, port FROM sender_path ORDER BY sender, hop");
  while (path.next()) {
    const auto place = places.find(path.integer(0));
    if (place != places.end()) evidence.senders[place->second].path.push_back(path.text(1));
  }
  if (!has_table(file, "sender_path_before")) return;
  SqliteRows before(file, "SELECT sender, until_ps, port FROM sender_path_before ORDER BY sender, until_ps, hop");
  while (before.next()) {
    const auto place = places.find(before.integer(0));
    if (place == places.end()) continue;
    std::vector<lab::EarlierPath>& earlier = evidence.senders[place->second].earlier;
    if (earlier.empty() || earlier.back().until_ps != before.integer(1)) earlier.push_back({before.integer(1), {}});
    if (!before.text(2).empty()) earlier.back().path.push_back(before.text(2));
  }
}

// What hosts, forwarders and switches say about causes; files of older versions have none of it.
void read_circumstances(SqliteFile& file, Evidence& evidence) {
  if (!has_table(file, "collective_use")) return;
  SqliteRows cpus(file, "SELECT node, cpu, packets, busy_ps FROM forwarder_cpu ORDER BY rowid");
  while (cpus.next())
    evidence.forwarder_cpus.push_back({cpus.text(0), number32(cpus, 1), number(cpus, 2), cpus.integer(3)});
  SqliteRows rings(file, "SELECT port, size, most, lost FROM rx_ring ORDER BY rowid");
  while (rings.next())
    evidence.rx_rings.push_back({rings.text(0), number32(rings, 1), number32(rings, 2), number(rings, 3)});
  SqliteRows classes(file, "SELECT node, queue, dscp, priority, host_priority FROM lossy_class ORDER BY rowid");
  while (classes.next())
    evidence.lossy_classes.push_back({classes.text(0), static_cast<int>(classes.integer(1)), number32(classes, 2),
                                      number32(classes, 3), number32(classes, 4)});
  SqliteRows use(file,
                 "SELECT workload, connections, staged, sockets, blocks_ps, host_memory_ps, working_ps, proxy_ps, why "
                 "FROM collective_use ORDER BY rowid");
  while (use.next())
    evidence.collectives.push_back({use.text(0), number(use, 1), number(use, 2), number(use, 3), use.integer(4),
                                    use.integer(5), use.integer(6), use.integer(7), use.text(8)});
}

// What the lab says of its devices; files of older versions have none of it.
void read_setup(SqliteFile& file, Evidence& evidence) {
  if (!has_table(file, "setting_difference")) return;
  SqliteRows settings(
      file, "SELECT key, value, usual, reference, effect, number, node FROM setting_difference ORDER BY rowid");
  std::int64_t last = -1;
  while (settings.next()) {
    if (evidence.settings.empty() || settings.integer(5) != last)
      evidence.settings.push_back(
          {{}, settings.text(0), settings.text(1), settings.text(2), settings.text(3), settings.text(4)});
    last = settings.integer(5);
    evidence.settings.back().nodes.push_back(settings.text(6));
  }
  SqliteRows warnings(file, "SELECT message FROM lab_warning ORDER BY rowid");
  while (warnings.next()) evidence.warnings.push_back(warnings.text(0));
  const std::string lag_column = has_column(file, "route_group", "lag") ? "lag" : "''";
  SqliteRows groups(file, ("SELECT number, port, " + lag_column + " FROM route_group ORDER BY rowid").c_str());
  while (groups.next()) {
    if (evidence.route_groups.empty() || groups.integer(0) != last) evidence.route_groups.emplace_back();
    last = groups.integer(0);
    evidence.route_groups.back().ports.push_back(groups.text(1));
    evidence.route_groups.back().lag = groups.text(2);
  }
  SqliteRows pools(file, "SELECT node, pool_B, alpha FROM buffer_pool ORDER BY rowid");
  while (pools.next()) evidence.pools.push_back({pools.text(0), number(pools, 1), static_cast<int>(pools.integer(2))});
}

void read_stragglers(SqliteFile& file, Evidence& evidence) {
  if (!has_table(file, "job_straggler")) return;
  SqliteRows rows(file, "SELECT workload, who, reason, lost_us FROM job_straggler ORDER BY rowid");
  while (rows.next()) evidence.stragglers.push_back({rows.text(0), rows.text(1), rows.text(2), rows.real(3)});
}

void read_events(SqliteFile& file, Evidence& evidence) {
  SqliteRows rows(file,
                  "SELECT first_ps, last_ps, count, kind, port, peer, queue, queue_B, source, destination, qpn, psn, "
                  "before_bps, to_bps FROM event ORDER BY rowid");
  while (rows.next())
    evidence.events.push_back({rows.integer(0), rows.integer(1), number(rows, 2), rows.text(3), rows.text(4),
                               rows.text(5), static_cast<int>(rows.integer(6)), number(rows, 7), rows.text(8),
                               rows.text(9), number32(rows, 10), number32(rows, 11), rows.integer(12),
                               rows.integer(13)});
  const std::string egress_B = has_column(file, "pause_event", "egress_B") ? "coalesce(egress_B, 0)" : "0";
  SqliteRows pauses(
      file, ("SELECT time_ps, port, peer, classes, sent, state, coalesce(nic_cause, ''), coalesce(queue_port, ''), "
             "coalesce(queue, -1), coalesce(queue_B, 0), coalesce(group_B, 0), " +
             egress_B + " FROM pause_event ORDER BY rowid")
                .c_str());
  while (pauses.next())
    evidence.pauses.push_back({pauses.integer(0), pauses.text(1), pauses.text(2),
                               static_cast<unsigned>(pauses.integer(3)), pauses.integer(4) != 0, pauses.text(5),
                               pauses.text(6), pauses.text(7), static_cast<int>(pauses.integer(8)), number(pauses, 9),
                               number(pauses, 10), number(pauses, 11)});
  const std::string times = has_column(file, "drop_record", "count") ? "last_ps, count" : "time_ps, 1";
  SqliteRows drops(file, ("SELECT node, time_ps, out_port, queue, reason, occupancy_B, source, destination, dest_qp, "
                          "psn, " +
                          times + " FROM drop_record ORDER BY rowid")
                             .c_str());
  while (drops.next()) {
    lab::DropEvidence drop;
    drop.node = drops.text(0);
    drop.first_ps = drops.integer(1);
    drop.last_ps = drops.integer(10);
    drop.count = number(drops, 11);
    if (!drops.text(2).empty()) drop.out_port = drop.node + ":" + drops.text(2);
    drop.queue = static_cast<int>(drops.integer(3));
    drop.reason = drops.text(4);
    drop.queue_B = number(drops, 5);
    drop.source = drops.text(6);
    drop.destination = drops.text(7);
    drop.qpn = number32(drops, 8);
    drop.psn = number32(drops, 9);
    evidence.drops.push_back(std::move(drop));
  }
}

void read_links(SqliteFile& file, Evidence& evidence) {
  std::map<std::string, std::size_t> places;
  SqliteRows rows(
      file, "SELECT port, peer, rate_bps, packets, line_B, paused_ps, marked, max_queue_B FROM link ORDER BY rowid");
  while (rows.next()) {
    places[rows.text(0)] = evidence.links.size();
    evidence.links.push_back({rows.text(0),
                              rows.text(1),
                              rows.integer(2),
                              number(rows, 3),
                              number(rows, 4),
                              rows.integer(5),
                              number(rows, 6),
                              number(rows, 7),
                              {}});
  }
  SqliteRows lost(file, "SELECT port, reason, packets FROM link_lost ORDER BY rowid");
  while (lost.next()) {
    const auto place = places.find(lost.text(0));
    if (place != places.end()) evidence.links[place->second].lost.emplace_back(lost.text(1), number(lost, 2));
  }
  SqliteRows receivers(file, "SELECT port, cause, time_ps FROM receive_wait ORDER BY rowid");
  while (receivers.next()) evidence.receivers.push_back({receivers.text(0), receivers.text(1), receivers.integer(2)});
  SqliteRows faults(file, "SELECT name, port, hits FROM fault ORDER BY rowid");
  while (faults.next()) evidence.faults.push_back({faults.text(0), faults.text(1), number(faults, 2)});
  SqliteRows circles(file, "SELECT number, port FROM circular_wait ORDER BY number, place");
  std::int64_t last = 0;
  while (circles.next()) {
    if (evidence.circular_waits.empty() || circles.integer(0) != last) evidence.circular_waits.emplace_back();
    last = circles.integer(0);
    evidence.circular_waits.back().push_back(circles.text(1));
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
  SqliteFile file(path, SqliteFile::Mode::kRead);
  file.limit_integers(kMostNumber);
  const bool is_store = has_table(file, "run");
  if (file.error().empty() && (!is_store || !has_table(file, "sender")))
    return tl::unexpected(
        ExplainProblem{path + (is_store ? " was written by an older weft, which kept no records" : " is not of a run"),
                       "run the lab again: weft run " + directory + "/lab.yaml"});
  if (file.error().empty()) {
    read_run(file, evidence);
    read_workloads(file, evidence);
    read_senders(file, evidence);
    read_events(file, evidence);
    read_links(file, evidence);
    read_circumstances(file, evidence);
    read_setup(file, evidence);
    read_stragglers(file, evidence);
  }
  if (!file.error().empty())
    return tl::unexpected(ExplainProblem{fmt::format("cannot read {}: {}", path, file.error()), "run the lab again"});
  return evidence;
}

}  // namespace weft::explain
