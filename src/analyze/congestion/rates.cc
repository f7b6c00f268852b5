#include "analyze/congestion/rates.h"

namespace weft::analyze {

void BinSeries::follow(int to) {
  for (; doublings < to; ++doublings) {
    for (std::size_t i = 0; i < BinClock::kBins / 2; ++i) values[i] = values[2 * i] + values[2 * i + 1];
    for (std::size_t i = BinClock::kBins / 2; i < BinClock::kBins; ++i) values[i] = 0;
  }
}

void Rates::open(Slot& slot) {
  if (series_.size() == kMostSeries) {
    slot.waiting_B = slot.frames = 0;
    return;
  }
  series_.push_back({{}, clock_.doublings()});
  slot.series = static_cast<std::uint32_t>(series_.size());
}

const BinSeries* Rates::series(StreamId id) {
  if (id >= of_stream_.size() || of_stream_[id].series == 0) return nullptr;
  BinSeries& series = series_[of_stream_[id].series - 1];
  series.follow(clock_.doublings());
  return &series;
}

}  // namespace weft::analyze
