// A run's results for other tools: CSV and Parquet (a file for each table), Prometheus, and a trace for Perfetto
// (docs/export.md). Reads results.sqlite, nothing else.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "export/run_store.h"

namespace weft::exports {

enum class ExportFormat : unsigned char { kCsv, kParquet, kPrometheus, kChromeTrace };
std::optional<ExportFormat> export_format(std::string_view name);

struct ExportOptions {
  ExportFormat format = ExportFormat::kCsv;
  std::string out;                  // a directory for CSV and Parquet, otherwise a file; empty: in the run's directory
  std::vector<std::string> series;  // patterns (series_filter.h)
};

struct ExportedFile {
  std::string path;
  std::string what;         // the table, "metrics", "series" or "trace"
  std::uint64_t count = 0;  // rows, samples or events
};

tl::expected<std::vector<ExportedFile>, ExportProblem> export_run(const std::string& directory,
                                                                  const ExportOptions& options);

}  // namespace weft::exports
