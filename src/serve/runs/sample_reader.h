// Samples of the time series of a run, a window of time at once: blocks outside it are not read.
#pragma once

#include <cstdint>
#include <vector>

#include "serve/runs/open_run.h"
#include "store/rows/run_rows.h"

namespace weft::serve {

// The samples in a window of time, with the one before and the one after it if they exist.
struct SampleRange {
  Time_ps interval_ps = 0;
  std::uint64_t first = 0, count = 0;
  Time_ps time_ps(std::uint64_t sample) const { return static_cast<Time_ps>(first + sample) * interval_ps; }
};
// Empty when the run has no samples there. Throws when its figures are inconsistent.
SampleRange samples_in(const OpenRun& run, const TimeWindow& window);

// Puts the samples of one block that lie in `range` into `out`, which has range.count of them. Throws on bytes that are
// no block.
void put_block(const SampleRange& range, const store::BlockRow& block, std::vector<std::int64_t>& out);

// All of one series; samples that are in no block are 0.
std::vector<std::int64_t> read_samples(OpenRun& run, std::int64_t series_id, const SampleRange& range);

}  // namespace weft::serve
