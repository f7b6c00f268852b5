// A finished run read back from the results.sqlite of its directory: the tables by their schema, and the time series.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "export/port_results.h"
#include "export/series_filter.h"
#include "export/table_source.h"
#include "store/sqlite_file.h"

namespace weft::exports {

struct ExportProblem {
  bool is_input = true;  // wrong input, otherwise something failed
  std::string message, remedy;
};

class RunStore {
 public:
  static tl::expected<RunStore, ExportProblem> open(const std::string& directory);

  const std::string& directory() const { return directory_; }
  // Names of tables in the order in which they were made, without those of the time series.
  const std::vector<std::string>& tables() const { return tables_; }
  bool has_table(const std::string& name) const;
  std::unique_ptr<TableSource> table(const std::string& name) const;
  // A value of the table `run`; `otherwise` when it is not there or no number.
  std::string run_text(const std::string& key) const;
  std::int64_t run_number(const std::string& key, std::int64_t otherwise) const;

  std::vector<SeriesInfo> series() const;
  std::uint64_t samples() const { return samples_; }
  // All samples of a series; the error is a reason.
  tl::expected<std::vector<std::int64_t>, std::string> read(const SeriesInfo& series) const;
  // One row for each sample: time_ps, node, port, class, metric, unit, value.
  std::unique_ptr<TableSource> series_table(const std::vector<std::string>& patterns) const;

  // Counters that have no row are 0.
  const PortResults& port_results() const { return ports_; }
  const std::vector<PortCounter>& counters() const { return ports_.counters; }
  const std::vector<NicPort>& nic_ports() const { return ports_.nic_ports; }
  const std::vector<LostPackets>& lost() const { return ports_.lost; }

  // Empty, or what is wrong with results.sqlite.
  const std::string& error() const { return file_->error(); }

 private:
  RunStore() = default;
  tl::expected<void, ExportProblem> read_schema();
  void read_ports();

  std::string directory_, path_;
  std::unique_ptr<store::SqliteFile> file_;
  std::vector<std::string> tables_;
  std::uint64_t samples_ = 0;
  PortResults ports_;
};

}  // namespace weft::exports
