#include "export/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "export/chrome_trace.h"
#include "export/csv.h"
#include "export/parquet.h"
#include "export/prometheus.h"

namespace weft::exports {

namespace {

namespace fs = std::filesystem;
using Files = tl::expected<std::vector<ExportedFile>, ExportProblem>;

ExportProblem failure(std::string message) {
  return {false, std::move(message), ""};
}

// A table's name becomes a file's: letters, digits, '_' and '-' as they are.
std::string file_name(const std::string& table) {
  std::string name = table;
  for (char& c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) == 0 && c != '_' && c != '-') c = '_';
  }
  return name;
}

Files write_tables(const RunStore& store, const ExportOptions& options, const std::string& out) {
  std::error_code error;
  fs::create_directories(out, error);
  if (error)
    return tl::unexpected(ExportProblem{true, fmt::format("cannot make {}: {}", out, error.message()),
                                        "choose another place with --out DIR"});
  std::vector<ExportedFile> files;
  const bool is_csv = options.format == ExportFormat::kCsv;
  const auto write = [&](TableSource& table) -> tl::expected<void, ExportProblem> {
    const std::string path = (fs::path(out) / (file_name(table.name()) + (is_csv ? ".csv" : ".parquet"))).string();
    const auto rows = is_csv ? write_csv(table, path) : write_parquet(table, path);
    if (!rows) return tl::unexpected(failure(rows.error()));
    files.push_back({path, table.name(), *rows});
    return {};
  };
  for (const std::string& name : store.tables()) {
    const auto table = store.table(name);
    if (table->columns().empty()) continue;
    if (auto written = write(*table); !written) return tl::unexpected(written.error());
  }
  const auto series = store.series_table(options.series);
  if (auto written = write(*series); !written) return tl::unexpected(written.error());
  return files;
}

// "metrics.prom" -> "metrics.openmetrics".
std::string series_path(const std::string& path) {
  return fs::path(path).replace_extension(".openmetrics").string();
}

Files write_prometheus(const RunStore& store, const ExportOptions& options, const std::string& out) {
  std::vector<ExportedFile> files;
  auto metrics = write_metrics(store, out);
  if (!metrics) return tl::unexpected(failure(metrics.error()));
  files.push_back({out, "metrics", *metrics});
  const std::vector<SeriesInfo> all = store.series();
  const bool has_series =
      std::any_of(all.begin(), all.end(), [&](const SeriesInfo& series) { return is_wanted(series, options.series); });
  if (!has_series) return files;
  auto samples = write_openmetrics(store, options.series, series_path(out));
  if (!samples) return tl::unexpected(failure(samples.error()));
  files.push_back({series_path(out), "series", *samples});
  return files;
}

std::string default_out(const std::string& directory, ExportFormat format) {
  const fs::path base(directory);
  switch (format) {
    case ExportFormat::kCsv:
      return (base / "csv").string();
    case ExportFormat::kParquet:
      return (base / "parquet").string();
    case ExportFormat::kPrometheus:
      return (base / "metrics.prom").string();
    case ExportFormat::kChromeTrace:
      break;
  }
  return (base / "trace.json").string();
}

// Every pattern has to select something, so that a typing error is found.
tl::expected<void, ExportProblem> check_patterns(const RunStore& store, const std::vector<std::string>& patterns) {
  const std::vector<SeriesInfo> all = store.series();
  for (const std::string& pattern : patterns) {
    if (pattern == "none") continue;
    if (std::any_of(all.begin(), all.end(), [&](const SeriesInfo& series) { return is_wanted(series, {pattern}); }))
      continue;
    return tl::unexpected(ExportProblem{
        true, fmt::format("no time series is called {}", pattern),
        all.empty() ? "the run has none: give the lab a line such as `sample: 10 us`"
                    : fmt::format("names are such as {}; * and ? stand for others", series_name(all.front()))});
  }
  return {};
}

}  // namespace

std::optional<ExportFormat> export_format(std::string_view name) {
  if (name == "csv") return ExportFormat::kCsv;
  if (name == "parquet") return ExportFormat::kParquet;
  if (name == "prometheus") return ExportFormat::kPrometheus;
  if (name == "chrome-trace") return ExportFormat::kChromeTrace;
  return std::nullopt;
}

Files export_run(const std::string& directory, const ExportOptions& options) {
  auto store = RunStore::open(directory);
  if (!store) return tl::unexpected(store.error());
  if (auto checked = check_patterns(*store, options.series); !checked) return tl::unexpected(checked.error());
  const std::string out = options.out.empty() ? default_out(directory, options.format) : options.out;
  std::error_code ignored;
  const bool wants_file = options.format == ExportFormat::kPrometheus || options.format == ExportFormat::kChromeTrace;
  if (wants_file && fs::is_directory(out, ignored))
    return tl::unexpected(
        ExportProblem{true, fmt::format("{} is a directory", out), "--out names the file of this format"});
  if (options.format == ExportFormat::kPrometheus) return write_prometheus(*store, options, out);
  if (options.format != ExportFormat::kChromeTrace) return write_tables(*store, options, out);
  auto events = write_chrome_trace(*store, options.series, out);
  if (!events) return tl::unexpected(failure(events.error()));
  return std::vector<ExportedFile>{{out, "trace", *events}};
}

}  // namespace weft::exports
