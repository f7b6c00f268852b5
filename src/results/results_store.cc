#include "results/results_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/files.h"
#include "results/class_quantities.h"
#include "results/counters/drop_reason.h"
#include "results/counters/forwarder_results.h"
#include "results/evidence_store.h"
#include "results/explanation.h"
#include "results/kinds/workload_kind.h"
#include "results/latency_store.h"
#include "results/pause_rows.h"
#include "results/sqlite_file.h"
#include "results/view_store.h"

namespace weft::lab {

namespace {

constexpr const char* kSchema = R"(
PRAGMA page_size = 4096;
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA user_version = 1;
BEGIN;
CREATE TABLE run(key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE node(name TEXT PRIMARY KEY, kind TEXT, model TEXT, tier INTEGER, pool_B INTEGER, max_buffer_B INTEGER,
  held_packets INTEGER);
CREATE TABLE port(node TEXT, name TEXT, device TEXT, peer TEXT, address TEXT, rate_bps INTEGER);
)";
// The tables of workloads lie between.
constexpr const char* kSchemaOfEvents = R"(
CREATE TABLE drop_record(node TEXT, time_ps INTEGER, in_port TEXT, out_port TEXT, queue INTEGER, reason TEXT,
  wjh_id INTEGER, occupancy_B INTEGER, source TEXT, destination TEXT, udp_src_port INTEGER, dest_qp INTEGER,
  psn INTEGER, opcode INTEGER, last_ps INTEGER, count INTEGER);
CREATE TABLE pause_event(time_ps INTEGER, port TEXT, peer TEXT, classes INTEGER, sent INTEGER, what TEXT, state TEXT,
  nic_cause TEXT, queue_port TEXT, queue INTEGER, queue_B INTEGER, group_B INTEGER, egress_B INTEGER);
CREATE TABLE series(id INTEGER PRIMARY KEY, node TEXT, port TEXT, class INTEGER, metric TEXT, unit TEXT,
  interval_ps INTEGER, most INTEGER, last INTEGER);
CREATE TABLE block(series_id INTEGER, first_sample INTEGER, count INTEGER, encoding TEXT, data BLOB);
)";

std::pair<std::string_view, std::string_view> split(std::string_view port) {
  std::size_t colon = port.find(':');
  return {port.substr(0, colon), port.substr(colon + 1)};
}

void write_run(SqliteFile& file, const Lab& lab, const RunResult& result) {
  SqliteRows rows(file, "INSERT INTO run VALUES(?,?)");
  rows.add("lab", lab.name);
  rows.add("seed", std::to_string(lab.seed));
  rows.add("set",
           nlohmann::json(lab.overrides)
               .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));  // a list: a value may have lines
  rows.add("end_ps", std::to_string(result.end_ps));
  rows.add("interrupted", result.interrupted ? "1" : "0");
  rows.add("cut_off", result.cut_off ? "1" : "0");
  rows.add("circular_waits", std::to_string(result.circular_waits.size()));
  rows.add("sample_interval_ps", std::to_string(result.series.interval_ps));
  rows.add("samples", std::to_string(result.series.samples));
}

void write_nodes(SqliteFile& file, const Lab& lab, const RunResult& result) {
  SqliteRows nodes(file, "INSERT INTO node VALUES(?,?,?,?,?,?,?)");
  for (const HostConfig& host : lab.hosts)
    nodes.add(host.name, host.vm ? "vm" : "host", host.model.name, nullptr, nullptr, nullptr, nullptr);
  for (const SwitchOutcome& each : result.switches)
    nodes.add(each.config->name, each.config->forwarder ? "forwarder" : "switch", each.config->model.name,
              each.config->tier, each.pool_B, each.max_buffer_B, each.held_packets);
  SqliteRows ports(file, "INSERT INTO port VALUES(?,?,?,?,?,?)");
  for (const PortOutcome& port : result.ports) {
    auto [node, name] = split(port.name);
    ports.add(node, name, port.device, port.peer, port.address, port.rate_bps);
  }
  for (const SwitchOutcome& each : result.switches) {
    for (const SwitchPortOutcome& port : each.ports)
      ports.add(each.config->name, port.name, nullptr, port.peer, nullptr, port.rate_bps);
  }
}

// Rows in which nothing was counted are left out.
void write_classes(SqliteFile& file, const RunResult& result) {
  std::string columns = "node TEXT, port TEXT, class INTEGER", places = "?,?,?";
  for (const ClassQuantity& quantity : class_quantities()) {
    columns += fmt::format(", {} INTEGER", quantity.name);
    places += ",?";
  }
  file.execute(fmt::format("CREATE TABLE port_class({})", columns).c_str());
  SqliteRows rows(file, fmt::format("INSERT INTO port_class VALUES({})", places).c_str());
  std::vector<std::optional<std::int64_t>> values(class_quantities().size());
  const auto add = [&](std::string_view node, std::string_view port, auto value_of) {
    for (std::size_t c = 0; c < fabric::kClasses; ++c) {
      std::transform(class_quantities().begin(), class_quantities().end(), values.begin(),
                     [&](const ClassQuantity& quantity) { return value_of(quantity, c); });
      if (std::any_of(values.begin(), values.end(), [](const auto& value) { return value.value_or(0) != 0; }))
        rows.add_with(values, node, port, c);
    }
  };
  for (const PortOutcome& port : result.ports) {
    auto [node, name] = split(port.name);
    add(node, name, [&](const ClassQuantity& quantity, std::size_t c) {
      return quantity.of_nic == nullptr ? std::nullopt : std::optional(quantity.of_nic(port, c));
    });
  }
  for (const SwitchOutcome& each : result.switches) {
    for (const SwitchPortOutcome& port : each.ports)
      add(each.config->name, port.name,
          [&](const ClassQuantity& quantity, std::size_t c) { return std::optional(quantity.of_switch(port, c)); });
  }
}

void write_events(SqliteFile& file, const RunResult& result) {
  SqliteRows drops(file, "INSERT INTO drop_record VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
  for (const SwitchOutcome& each : result.switches) {
    for (const fabric::DropRecord& drop : each.drops.records()) {
      const DropReason& reason = drop_reason(drop.reason);
      bool decided = drop.out_port < each.ports.size();
      drops.add(each.config->name, drop.first_ps, each.ports[drop.in_port].name,
                decided ? std::optional(each.ports[drop.out_port].name) : std::nullopt, drop.queue,
                std::string(reason.name), reason.wjh_id > 0 ? std::optional(reason.wjh_id) : std::nullopt,
                drop.occupancy_B, result.book[drop.source].name, result.book[drop.destination].name, drop.udp_src_port,
                drop.endpoint, drop.sequence, drop.opcode, drop.last_ps, drop.count);
    }
  }
  SqliteRows pauses(file, "INSERT INTO pause_event VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)");
  std::uint64_t left_out = 0;
  const auto known = [](const std::string& text) { return text.empty() ? std::nullopt : std::optional(text); };
  for (const PauseRow& row : merged_pauses(result, left_out)) {
    const bool has_queue = !row.queue_port.empty();
    pauses.add(row.time_ps, row.port, row.peer, row.classes, row.sent ? 1 : 0, pause_text(row), pause_state(row.what),
               known(row.nic_cause), known(row.queue_port), has_queue ? std::optional(row.queue) : std::nullopt,
               has_queue ? std::optional(row.queue_B) : std::nullopt,
               has_queue ? std::optional(row.group_B) : std::nullopt,
               has_queue ? std::optional(row.egress_B) : std::nullopt);
  }
}

void write_series(SqliteFile& file, const SeriesSet& set) {
  SqliteRows series(file, "INSERT INTO series VALUES(?,?,?,?,?,?,?,?,?)");
  SqliteRows blocks(file, "INSERT INTO block VALUES(?,?,?,?,?)");
  std::int64_t id = 0;
  for (const Series& each : set.series) {
    ++id;
    series.add(id, each.node, each.port, each.class_, each.metric, each.unit, set.interval_ps, each.encoder.most(),
               each.encoder.last());
    for (const SeriesBlock& block : each.encoder.blocks())
      blocks.add(id, block.first_sample, block.count, "delta-zigzag-varint-zero-runs", block.data);
  }
}

}  // namespace

tl::expected<void, std::string> write_results_store(const std::string& path, const Lab& lab, const RunResult& result) {
  ReplacedFile replaced(path);
  std::error_code ignored;
  std::filesystem::remove(replaced.temporary(), ignored);
  std::string error;
  {
    SqliteFile file(replaced.temporary(), SqliteFile::Mode::kCreate);
    file.execute(kSchema);
    workload::for_each_kind([&](auto kind) { file.execute(table_schema(kind)); });
    file.execute(kSchemaOfEvents);
    write_run(file, lab, result);
    write_nodes(file, lab, result);
    workload::for_each_kind([&](auto kind) { write_tables(kind, result, file); });
    write_classes(file, result);
    write_forwarders(file, result);
    write_events(file, result);
    const Evidence evidence = evidence_of(lab, result);
    write_evidence(file, evidence);
    write_latency(file, result.latency);
    write_view(file, lab, result, explain(evidence));
    write_series(file, result.series);
    file.execute("CREATE UNIQUE INDEX block_of_series ON block(series_id, first_sample); COMMIT;");
    error = file.error();
  }
  if (!error.empty()) return tl::make_unexpected(fmt::format("cannot write {}: {}", path, error));
  return replaced.commit();
}

tl::expected<ReadSeries, std::string> read_series(const std::string& path, const SeriesKey& key) {
  ReadSeries read;
  SqliteFile file(path, SqliteFile::Mode::kRead);
  std::uint64_t samples = 0;
  SqliteRows run(file, "SELECT CAST(value AS INTEGER) FROM run WHERE key='samples'");
  if (run.next()) samples = static_cast<std::uint64_t>(run.integer(0));
  SqliteRows series(file, "SELECT id, unit, interval_ps FROM series WHERE node=? AND port=? AND class=? AND metric=?");
  series.bind(key.node, key.port, key.class_, key.metric);
  if (samples > kMostSamples) return tl::make_unexpected(fmt::format("{}: {} samples are too many", path, samples));
  read.samples.resize(samples);
  if (series.next()) {
    read.unit = series.text(1);
    read.interval_ps = series.integer(2);
    SqliteRows blocks(file, "SELECT first_sample, count, data FROM block WHERE series_id=? ORDER BY first_sample");
    blocks.bind(series.integer(0));
    while (blocks.next()) {
      auto values = decode_block(blocks.blob(2), static_cast<std::uint32_t>(blocks.integer(1)));
      auto first = static_cast<std::uint64_t>(blocks.integer(0));
      if (!values || first > samples || values->size() > samples - first)
        return tl::make_unexpected(fmt::format("{}: a damaged block of {}", path, key.metric));
      std::copy(values->begin(), values->end(), read.samples.begin() + static_cast<std::ptrdiff_t>(first));
    }
  }
  if (!file.error().empty()) return tl::make_unexpected(fmt::format("cannot read {}: {}", path, file.error()));
  return read;
}

}  // namespace weft::lab
