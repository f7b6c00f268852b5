// The clock of a capture file, held against that of another file: a line, or several one after the other where the
// clock was set or its rate has changed. MergedCapture takes it off the times of the file.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::pcap {

// From `from_ns` on, by this file's clock. The first piece counts before it, too.
struct ClockPiece {
  std::int64_t from_ns = 0;
  std::int64_t ahead_ns = 0;  // of the other clock, at from_ns
  double drift = 0;           // nanoseconds gained in each nanosecond

  std::int64_t ahead_at(std::int64_t time_ns) const {
    return ahead_ns + static_cast<std::int64_t>(drift * static_cast<double>(time_ns - from_ns));
  }
};

struct FileClock {
  std::vector<ClockPiece> pieces;  // in order of time; none: this clock is right
  std::size_t reference = 0;       // the file whose clock it is held against, which may have a reference in turn

  std::int64_t by_reference(std::int64_t time_ns) const {
    const auto next = std::upper_bound(pieces.begin() + 1, pieces.end(), time_ns,
                                       [](std::int64_t time, const ClockPiece& each) { return time < each.from_ns; });
    return time_ns - std::prev(next)->ahead_at(time_ns);
  }
};

// `time_ns` of `file`, by the clock at the end of its references.
inline std::int64_t corrected_ns(const std::vector<FileClock>& clocks, std::size_t file, std::int64_t time_ns) {
  for (; !clocks[file].pieces.empty(); file = clocks[file].reference) time_ns = clocks[file].by_reference(time_ns);
  return time_ns;
}

}  // namespace weft::pcap
