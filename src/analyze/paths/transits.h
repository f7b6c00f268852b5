// How long packets take from one capture point to the next: a cable takes the same time for each, a queue does not.
// Packets are compared by their own bits and thinned out as the capture grows, so that memory and time stay small. Only
// how much the times differ is used: clocks of several files are apart by the same for all.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "analyze/frames/frame.h"

namespace weft::analyze {

struct Transit {
  std::uint64_t packets = 0;
  std::int64_t least_ns = 0, most_ns = 0;

  std::int64_t spread_ns() const { return most_ns - least_ns; }
};

class Transits {
 public:
  // A packet of a connection.
  void see(const Frame& frame) {
    if ((++frames_ & mask_) == 0 && frames_ == std::uint64_t{kAllOf} << thinned_) thin_out();
    const std::uint64_t print = print_of(frame);
    if ((print & mask_) == 0) add(frame, print);
  }
  // Transit of packets from `src` that one point saw next after the other; nothing where too few did. What comes from
  // elsewhere goes another way.
  std::optional<Transit> between(PointId before, PointId after, AddressId src) const;

 private:
  static constexpr std::size_t kSlots = 1 << 12, kMostPairs = 1 << 12;
  static constexpr std::uint64_t kAllOf = 1 << 14;  // frames that are all looked at; of the next as many each second
  static constexpr std::uint64_t kFewest = 8;

  struct Seen {
    std::uint64_t print = 0;
    std::int64_t time_ns = 0;
    PointId point = kNone;
  };
  static std::uint64_t print_of(const Frame& frame);
  void add(const Frame& frame, std::uint64_t print);
  void thin_out() { mask_ = (std::uint64_t{1} << ++thinned_) - 1; }

  std::uint64_t frames_ = 0, mask_ = 0;
  int thinned_ = 0;
  std::vector<Seen> seen_ = std::vector<Seen>(kSlots);
  std::unordered_map<std::uint64_t, Transit> pairs_;  // by both points and the source
};

}  // namespace weft::analyze
