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
#include "results/counters/port_counters.h"
#include "results/evidence_store.h"
#include "results/explanation.h"
#include "results/json_rows.h"
#include "results/kinds/workload_kind.h"
#include "results/latency_store.h"
#include "results/pause_rows.h"
#include "results/view_store.h"
#include "store/rows/counter_rows.h"
#include "store/rows/run_rows.h"
#include "store/table.h"

namespace weft::lab {

namespace {

constexpr const char* kBegin =
    "PRAGMA page_size = 4096; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA user_version = 1; BEGIN";

std::pair<std::string, std::string> split(const std::string& port) {
  std::size_t colon = port.find(':');
  return {port.substr(0, colon), port.substr(colon + 1)};
}

void write_run(store::SqliteFile& file, const Lab& lab, const RunResult& result) {
  // A list: a value may have lines.
  const std::string set = nlohmann::json(lab.overrides).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  store::insert_rows<store::RunRow>(file, {{"lab", lab.name},
                                           {"seed", std::to_string(lab.seed)},
                                           {"set", set},
                                           {"end_ps", std::to_string(result.end_ps)},
                                           {"interrupted", result.interrupted ? "1" : "0"},
                                           {"cut_off", result.cut_off ? "1" : "0"},
                                           {"circular_waits", std::to_string(result.circular_waits.size())},
                                           {"sample_interval_ps", std::to_string(result.series.interval_ps)},
                                           {"samples", std::to_string(result.series.samples)}});
}

void write_nodes(store::SqliteFile& file, const Lab& lab, const RunResult& result) {
  store::Inserter<store::NodeRow> nodes(file);
  for (const HostConfig& host : lab.hosts)
    nodes.add({host.name, host.vm ? "vm" : "host", host.model.name, {}, {}, {}, {}});
  for (const SwitchOutcome& each : result.switches)
    nodes.add({each.config->name, each.config->forwarder ? "forwarder" : "switch", each.config->model.name,
               each.config->tier, each.pool_B, each.max_buffer_B, each.held_packets});
  store::Inserter<store::PortRow> ports(file);
  for (const PortOutcome& port : result.ports) {
    const auto [node, name] = split(port.name);
    ports.add({node, name, port.device, port.peer, port.address, port.rate_bps});
  }
  for (const SwitchOutcome& each : result.switches) {
    for (const SwitchPortOutcome& port : each.ports)
      ports.add({each.config->name, port.name, {}, port.peer, {}, port.rate_bps});
  }
}

// Rows in which nothing was counted are left out.
void write_classes(store::SqliteFile& file, const RunResult& result) {
  const store::Table ports{"port_class"};
  std::vector<store::ColumnInfo> columns = {{"node", store::ColumnType::kText, false, false},
                                            {"port", store::ColumnType::kText, false, false},
                                            {"class", store::ColumnType::kInteger, false, false}};
  for (const ClassQuantity& quantity : class_quantities())
    columns.push_back({quantity.name.data(), store::ColumnType::kInteger, false, false});
  file.execute(store::create_text(ports, columns).c_str());
  store::SqliteRows rows(file, store::insert_text(ports, columns).c_str());
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

void write_counters(store::SqliteFile& file, const RunResult& result) {
  store::Inserter<store::CounterRow> counters(file);
  for (const PortOutcome& port : result.ports) {
    const auto [node, name] = split(port.name);
    const auto add = [&, &of_node = node, &of_port = name](const char* group, std::string_view counter,
                                                           std::uint64_t value) {
      if (value > 0) counters.add({of_node, of_port, port.device, group, std::string(counter), value});
    };
    for (const auto& [group, key] : kCounterGroups) {
      for (const nic::NamedCounter& counter : port_counters(port)) {
        if (counter.group == group) add(key, counter.name, counter.value);
      }
    }
    for (const auto& [counter, value] : own_counters(port)) add(kOwnCounters, counter, value);
  }
  store::Inserter<store::PortDropRow> drops(file);
  for (const SwitchOutcome& each : result.switches) {
    for (const SwitchPortOutcome& port : each.ports) {
      for (const DropReason& reason : drop_reasons()) {
        const std::uint64_t lost = port.counters.drops[static_cast<std::size_t>(reason.fate)];
        if (lost > 0) drops.add({each.config->name, port.name, std::string(reason.metric), lost});
      }
    }
  }
}

void write_events(store::SqliteFile& file, const RunResult& result) {
  store::Inserter<store::DropRow> drops(file);
  for (const SwitchOutcome& each : result.switches) {
    for (const fabric::DropRecord& drop : each.drops.records()) drops.add(drop_row(drop, each, result.book));
  }
  store::Inserter<store::PauseEventRow> pauses(file);
  std::uint64_t left_out = 0;
  for (const PauseRow& row : merged_pauses(result, left_out)) pauses.add(pause_event(row));
}

void write_series(store::SqliteFile& file, const store::SeriesSet& set) {
  store::Inserter<store::SeriesRow> series(file);
  store::Inserter<store::BlockRow> blocks(file);
  std::int64_t id = 0;
  for (const store::Series& each : set.series) {
    ++id;
    series.add({id, each.node, each.port, each.class_, each.metric, each.unit, set.interval_ps, each.encoder.most(),
                each.encoder.last()});
    for (const store::SeriesBlock& block : each.encoder.blocks())
      blocks.add({id, block.first_sample, block.count, "delta-zigzag-varint-zero-runs", block.data});
  }
}

}  // namespace

tl::expected<void, std::string> write_results_store(const std::string& path, const Lab& lab, const RunResult& result) {
  ReplacedFile replaced(path);
  std::error_code ignored;
  std::filesystem::remove(replaced.temporary(), ignored);
  std::string error;
  {
    store::SqliteFile file(replaced.temporary(), store::SqliteFile::Mode::kCreate);
    file.execute(kBegin);
    write_run(file, lab, result);
    write_nodes(file, lab, result);
    workload::for_each_kind([&](auto kind) { write_tables(kind, result, file); });
    write_classes(file, result);
    write_forwarders(file, result);
    write_counters(file, result);
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
  store::SqliteFile file(path, store::SqliteFile::Mode::kRead);
  std::uint64_t samples = 0;
  if (const auto row = store::read_first<store::RunRow>(file, "WHERE key='samples'"))
    samples = std::strtoull(row->value.c_str(), nullptr, 10);
  if (samples > store::kMostSamples)
    return tl::make_unexpected(fmt::format("{}: {} samples are too many", path, samples));
  read.samples.resize(samples);
  const auto series = store::read_first<store::SeriesRow>(file, "WHERE node=? AND port=? AND class=? AND metric=?",
                                                          key.node, key.port, key.class_, key.metric);
  if (series) {
    read.unit = series->unit;
    read.interval_ps = series->interval_ps;
    for (const store::BlockRow& block :
         store::Reader<store::BlockRow>(file, "WHERE series_id=? ORDER BY first_sample", series->id)) {
      auto values = store::decode_block(block.data, static_cast<std::uint32_t>(block.count));
      if (!values || block.first_sample > samples || values->size() > samples - block.first_sample)
        return tl::make_unexpected(fmt::format("{}: a damaged block of {}", path, key.metric));
      std::copy(values->begin(), values->end(), read.samples.begin() + static_cast<std::ptrdiff_t>(block.first_sample));
    }
  }
  if (!file.error().empty()) return tl::make_unexpected(fmt::format("cannot read {}: {}", path, file.error()));
  return read;
}

}  // namespace weft::lab
