// The results of a run as a SQLite database (docs/results.md has its tables): what results.json says, for questions in
// SQL, and the time series. Two runs of one lab and seed write the same bytes.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "results/run_result.h"

namespace weft::lab {

// Replaces what is there. The error names what could not be written.
tl::expected<void, std::string> write_results_store(const std::string& path, const Lab& lab, const RunResult& result);

struct SeriesKey {
  std::string node, port;
  int class_ = -1;
  std::string metric;
};
struct ReadSeries {
  std::string unit;
  Time_ps interval_ps = 0;
  std::vector<std::int64_t> samples;  // as many as the run has; zeros when there is no such series
};
tl::expected<ReadSeries, std::string> read_series(const std::string& path, const SeriesKey& key);

}  // namespace weft::lab
