#include "export/chrome_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "export/trace_writer.h"

namespace weft::exports {

namespace {

constexpr std::size_t kPauseClasses = 8;

// One row, asked by the names of its columns.
class NamedRow {
 public:
  explicit NamedRow(const std::vector<Column>& columns) : columns_(columns) {}
  std::vector<Cell>& cells() { return cells_; }

  std::optional<std::int64_t> integer(std::string_view name) const {
    const Cell* cell = find(name);
    const auto* value = cell == nullptr ? nullptr : std::get_if<std::int64_t>(cell);
    return value == nullptr ? std::nullopt : std::optional(*value);
  }
  std::string text(std::string_view name) const {
    const Cell* cell = find(name);
    const auto* value = cell == nullptr ? nullptr : std::get_if<std::string>(cell);
    return value == nullptr ? "" : *value;
  }
  // All that is not NULL, as a JSON object.
  std::string arguments() const {
    std::string out;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      std::string value;
      if (const auto* integer_cell = std::get_if<std::int64_t>(&cells_[i])) {
        value = std::to_string(*integer_cell);
      } else if (const auto* real = std::get_if<double>(&cells_[i])) {
        value = fmt::format("{}", *real);
        if (value.find_first_not_of("0123456789+-.e") != value.npos) continue;  // no number of JSON
      } else if (const auto* text_cell = std::get_if<std::string>(&cells_[i])) {
        value = trace_text(*text_cell);
      } else {
        continue;
      }
      out += fmt::format("{}{}: {}", out.empty() ? "" : ", ", trace_text(columns_[i].name), value);
    }
    return "{" + out + "}";
  }

 private:
  const Cell* find(std::string_view name) const {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i].name == name) return &cells_[i];
    }
    return nullptr;
  }
  const std::vector<Column>& columns_;
  std::vector<Cell> cells_;
};

std::string node_of(const std::string& port) {
  return port.substr(0, port.find(':'));
}

// In order of their starts, so that lanes fill from the first.
void add_flows(const RunStore& store, std::int64_t end_ps, TraceWriter& out) {
  if (!store.has_table("flow")) return;
  struct Flow {
    std::int64_t start_ps, end_ps;
    std::string node, name, arguments;
  };
  std::vector<Flow> flows;
  const auto table = store.table("flow");
  for (NamedRow row(table->columns()); table->next(row.cells());) {
    const auto start_ps = row.integer("start_ps");
    if (!start_ps) continue;  // it never started
    flows.push_back(
        {*start_ps, *start_ps + row.integer("fct_ps").value_or(std::max<std::int64_t>(end_ps - *start_ps, 0)),
         node_of(row.text("source")),
         fmt::format("{} {} to {}", row.text("workload"), row.integer("number").value_or(0), row.text("destination")),
         row.arguments()});
  }
  std::stable_sort(flows.begin(), flows.end(), [](const Flow& a, const Flow& b) { return a.start_ps < b.start_ps; });
  for (const Flow& flow : flows) out.slice(flow.node, "flows", flow.name, flow.start_ps, flow.end_ps, flow.arguments);
}

void add_programs(const RunStore& store, std::int64_t end_ps, TraceWriter& out) {
  if (!store.has_table("program")) return;
  const auto table = store.table("program");
  for (NamedRow row(table->columns()); table->next(row.cells());) {
    if (const auto start_ps = row.integer("started_ps"))
      out.slice(row.text("node"), "programs", row.text("command"), *start_ps, row.integer("ended_ps").value_or(end_ps),
                "");
  }
}

// From XOFF to whatever ends it, for each port, class and direction; one that never ended lasts as long as the run.
void add_pauses(const RunStore& store, std::int64_t end_ps, TraceWriter& out) {
  if (!store.has_table("pause_event")) return;
  struct Open {
    std::int64_t start_ps = 0;
    std::string peer;
    bool is_open = false;
  };
  std::map<std::pair<std::string, bool>, std::array<Open, kPauseClasses>> ports;
  const auto end = [&](const std::string& port, bool sent, std::size_t c, Open& open, std::int64_t time_ps,
                       const char* note = "") {
    open.is_open = false;
    out.slice(node_of(port), fmt::format("{} class {} {}", port, c, sent ? "pauses its peer" : "paused"),
              fmt::format("{} {}{}", sent ? "XOFF to" : "paused by", open.peer, note), open.start_ps, time_ps, "");
  };
  const auto table = store.table("pause_event");
  for (NamedRow row(table->columns()); table->next(row.cells());) {
    const std::string port = row.text("port"), what = row.text("what");
    const bool sent = row.integer("sent").value_or(0) != 0;
    const bool starts = what.starts_with("XOFF") || what.starts_with("stopped by");
    const std::int64_t time_ps = row.integer("time_ps").value_or(0), classes = row.integer("classes").value_or(0);
    std::array<Open, kPauseClasses>& open = ports[{port, sent}];
    for (std::size_t c = 0; c < kPauseClasses; ++c) {
      if ((classes >> c & 1) == 0) continue;
      if (starts && !open[c].is_open) {
        open[c] = {time_ps, row.text("peer"), true};
      } else if (!starts && open[c].is_open) {
        end(port, sent, c, open[c], time_ps, what.starts_with("the pause log was full") ? " (log full here)" : "");
      }
    }
  }
  for (auto& [key, open] : ports) {
    for (std::size_t c = 0; c < kPauseClasses; ++c) {
      if (open[c].is_open) end(key.first, key.second, c, open[c], end_ps);
    }
  }
}

// Tables with a column time_ps, whatever else they have: losses, and what later versions record.
void add_instants(const RunStore& store, TraceWriter& out) {
  for (const std::string& name : store.tables()) {
    if (name == "pause_event") continue;
    const auto table = store.table(name);
    const auto has_time = std::any_of(table->columns().begin(), table->columns().end(), [](const Column& column) {
      return column.name == "time_ps" && column.type == CellType::kInteger;
    });
    if (!has_time) continue;
    for (NamedRow row(table->columns()); table->next(row.cells());) {
      const auto time_ps = row.integer("time_ps");
      if (!time_ps) continue;
      std::string node = row.text("node"), label;
      for (const char* column : {"reason", "what", "kind", "name"}) {
        if (label.empty()) label = row.text(column);
      }
      if (node.empty()) node = node_of(row.text("port"));
      out.instant(node.empty() ? "run" : node, name, label.empty() ? name : label, *time_ps, row.arguments());
    }
  }
}

// A value stands until the next, so only changes are written, and the last sample.
tl::expected<void, std::string> add_series(const RunStore& store, const std::vector<std::string>& patterns,
                                           TraceWriter& out) {
  for (const SeriesInfo& series : store.series()) {
    if (!is_wanted(series, patterns)) continue;
    const auto values = store.read(series);
    if (!values) return tl::make_unexpected(values.error());
    const std::string full = series_name(series);
    const std::string name = full.substr(std::min(series.node.size() + 1, full.size()));
    for (std::size_t k = 0; k < values->size(); ++k) {
      if (k == 0 || (*values)[k] != (*values)[k - 1] || k + 1 == values->size())
        out.counter(series.node, name, static_cast<std::int64_t>(k) * series.interval_ps, (*values)[k]);
    }
  }
  return {};
}

}  // namespace

tl::expected<std::uint64_t, std::string> write_chrome_trace(const RunStore& store,
                                                            const std::vector<std::string>& patterns,
                                                            const std::string& path) {
  TraceWriter out(path);
  const std::int64_t end_ps = store.run_number("end_ps", 0);
  add_flows(store, end_ps, out);
  add_programs(store, end_ps, out);
  add_pauses(store, end_ps, out);
  add_instants(store, out);
  if (auto added = add_series(store, patterns, out); !added) return tl::make_unexpected(added.error());
  if (!store.error().empty()) return tl::make_unexpected(store.error());
  if (auto closed = out.close(); !closed) return tl::make_unexpected(closed.error());
  return out.events();
}

}  // namespace weft::exports
