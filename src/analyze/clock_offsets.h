// Clocks of several files: how far apart are they? A packet that two files hold was seen by both clocks. What goes from
// the first to the second is late by the offset and the way; what comes back by the offset less the way. The least of
// the one and the most of the other leave the offset, and the way as its uncertainty. Which packets are compared is
// chosen by their own bits, so that both files choose the same, and thinned out as the capture grows.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "analyze/analysis.h"
#include "analyze/frame.h"

namespace weft::analyze {

// `second` is ahead of `first` by so much.
struct ClockOffset {
  std::uint32_t first = 0, second = 0;  // points, each of its file
  std::int64_t offset_ns = 0, uncertainty_ns = 0;
  std::uint64_t packets = 0;
};

class ClockOffsets {
 public:
  // A packet of a connection. Only of captures with several files.
  void see(const Frame& frame, const CaptureSummary& capture);
  // One of each two files that share packets of both directions; the most certain one.
  std::vector<ClockOffset> offsets() const;

 private:
  static constexpr std::size_t kMostPackets = 16'384, kMostPairs = 4096;
  static constexpr std::uint64_t kFewestPackets = 4;  // in each direction

  struct Seen {
    std::int64_t time_ns = 0;
    PointId point = 0;
    bool is_used = false;  // seen by a second file, or twice by one: not unique
  };
  struct Way {
    std::uint64_t packets = 0;
    std::int64_t least_ns = 0, most_ns = 0;
    void add(std::int64_t time_ns);
  };
  struct Pair {
    std::array<PointId, 2> points{};
    std::array<Way, 2> ways{};  // by which of the two addresses sends
  };
  struct Key {
    std::uint32_t first_file = 0, second_file = 0;
    AddressId low = 0, high = 0;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  std::uint32_t file_of(PointId point, const CaptureSummary& capture);
  void compare(const Seen& one, const Seen& other, const Frame& frame, const CaptureSummary& capture);
  void thin_out();

  std::unordered_map<std::uint64_t, Seen> seen_;
  std::uint64_t mask_ = 0;  // packets whose print has one of these bits are left out
  std::vector<std::uint32_t> file_of_point_;
  std::map<Key, Pair> pairs_;
};

}  // namespace weft::analyze
