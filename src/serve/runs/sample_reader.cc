#include "serve/runs/sample_reader.h"

#include <algorithm>
#include <stdexcept>

#include "store/series.h"
#include "store/table.h"

namespace weft::serve {

SampleRange samples_in(const OpenRun& run, const TimeWindow& window) {
  SampleRange range;
  range.interval_ps = run.number("sample_interval_ps");
  const std::int64_t samples = run.number("samples");
  if (samples <= 0) return range;
  if (range.interval_ps <= 0 || samples - 2 > run.end_ps() / range.interval_ps)
    throw std::runtime_error("the number of samples does not match the duration");
  const std::int64_t first = window.from_ps / range.interval_ps;
  if (first >= samples) return range;
  const std::int64_t last = std::min(samples - 1, (window.to_ps - 1) / range.interval_ps + 1);
  range.first = static_cast<std::uint64_t>(first);
  range.count = static_cast<std::uint64_t>(last - first + 1);
  return range;
}

void put_block(const SampleRange& range, const store::BlockRow& block, std::vector<std::int64_t>& out) {
  if (block.count > store::kBlockSamples || block.first_sample > static_cast<std::uint64_t>(INT64_MAX))
    throw std::runtime_error("a damaged block of samples");
  const auto values = store::decode_block(block.data, static_cast<std::uint32_t>(block.count));
  if (!values) throw std::runtime_error("a damaged block of samples");
  const std::uint64_t first = block.first_sample;
  const std::uint64_t from = std::max(first, range.first);
  const std::uint64_t to = std::min(first + values->size(), range.first + range.count);
  if (from < to)
    std::copy_n(values->begin() + static_cast<std::ptrdiff_t>(from - first), to - from,
                out.begin() + static_cast<std::ptrdiff_t>(from - range.first));
}

std::vector<std::int64_t> read_samples(OpenRun& run, std::int64_t series_id, const SampleRange& range) {
  std::vector<std::int64_t> out(range.count);
  // The index is (series_id, first_sample).
  const auto first = static_cast<std::int64_t>(range.first), count = static_cast<std::int64_t>(range.count);
  for (const store::BlockRow& block : store::Reader<store::BlockRow>(
           run.file(), "WHERE series_id = ? AND first_sample > ? AND first_sample < ? ORDER BY first_sample", series_id,
           first - static_cast<std::int64_t>(store::kBlockSamples), first + count))
    put_block(range, block, out);
  return out;
}

}  // namespace weft::serve
