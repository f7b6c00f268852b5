// Rates over time: bytes of each stream and of each direction of a point in a fixed number of bins. The bins grow with
// the capture: when time runs beyond the last, two become one.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "analyze/streams/stream_marks.h"

namespace weft::analyze {

// The clock that all series of a capture share.
class BinClock {
 public:
  static constexpr std::size_t kBins = 128;

  // Starts with the first frame.
  void start(std::int64_t time_ns) { start_ns_ = time_ns; }
  std::int64_t start_ns() const { return start_ns_; }
  std::int64_t width_ns() const { return std::int64_t{1'000} << doublings_; }
  int doublings() const { return doublings_; }
  // The bin of a time, which may be beyond the last one: then double_width() until it is not.
  std::size_t bin(std::int64_t time_ns) const {
    return time_ns <= start_ns_ ? 0 : static_cast<std::size_t>((time_ns - start_ns_) / width_ns());
  }
  void double_width() { ++doublings_; }

 private:
  std::int64_t start_ns_ = 0;
  int doublings_ = 0;
};

struct BinSeries {
  std::array<std::uint64_t, BinClock::kBins> values{};
  int doublings = 0;  // of the clock when it was last brought up to date

  void follow(int to);
};

class Rates {
 public:
  static constexpr std::size_t kMostSeries = 4096;
  static constexpr std::uint32_t kFewestFrames = 16;  // before a stream gets a series

  void see(const Frame& frame, StreamId id) {
    if (frame.payload_B == 0) return;
    if (!started_) {
      clock_.start(frame.time_ns);
      started_ = true;
    }
    while (clock_.bin(frame.time_ns) >= BinClock::kBins) clock_.double_width();
    if (id >= of_stream_.size()) of_stream_.resize(id + 1);
    Slot& slot = of_stream_[id];
    if (slot.series == 0) {
      slot.waiting_B += frame.payload_B;
      if (++slot.frames >= kFewestFrames) open(slot);
      if (slot.series == 0) return;
      add(slot, frame.time_ns, slot.waiting_B);
    } else {
      add(slot, frame.time_ns, frame.payload_B);
    }
  }

  const BinClock& clock() const { return clock_; }
  // The series of a stream, up to date; null: it has none.
  const BinSeries* series(StreamId id);

 private:
  struct Slot {
    std::uint32_t series = 0;  // + 1
    std::uint32_t waiting_B = 0, frames = 0;
  };
  void open(Slot& slot);
  void add(const Slot& slot, std::int64_t time_ns, std::uint64_t bytes) {
    BinSeries& series = series_[slot.series - 1];
    if (series.doublings != clock_.doublings()) series.follow(clock_.doublings());
    series.values[clock_.bin(time_ns)] += bytes;
  }

  BinClock clock_;
  bool started_ = false;
  std::vector<Slot> of_stream_;
  std::vector<BinSeries> series_;
};

}  // namespace weft::analyze
