// Packets that one capture point holds twice, unchanged: a mirror session of several ports of a bridge, or of both
// directions, copies a packet as it came and as it left. A packet that is sent again, or duplicated on the way, looks
// the same; what tells the copies is that nearly every packet has one, in the same order and a few microseconds later,
// from the first packet on. A retransmission comes after a NAK or a timeout, and most NICs give it another IP
// identification.
#pragma once

#include <cstdint>
#include <vector>

#include "analyze/frame.h"

namespace weft::analyze {

class EqualCopies {
 public:
  // Is this packet the second sight of one that was seen? Packets of one point, in order.
  bool is_copy(const Frame& frame);
  bool has_given_up() const { return has_given_up_; }
  // Has nearly every packet had a copy, up to the one that had the newest?
  bool copies_are_usual() const { return copies_ > 0 && copies_ * 2 > copied_until_; }
  std::int64_t mean_delay_ns() const { return copies_ == 0 ? 0 : delay_sum_ns_ / static_cast<std::int64_t>(copies_); }

 private:
  // Until this many copies were seen, only those that come soon count, and behind a NAK only as late as usual.
  static constexpr std::uint64_t kFewestCopies = 32, kFewestUsual = 4;
  static constexpr std::int64_t kSoon_ns = 20'000, kWithin_ns = 1'000'000;
  static constexpr std::size_t kSets = 4096, kWays = 4;
  static constexpr std::uint64_t kGiveUpAfter = 4096;  // packets, if fewer than half of them had a copy

  struct Seen {
    std::uint64_t print = 0;  // 0: free
    std::int64_t time_ns = 0;
    std::uint64_t ordinal = 0;  // of the packets that are no copies
    bool is_copied = false;
  };
  Seen& place_of_print(std::uint64_t print);
  std::vector<Seen> seen_;
  std::uint64_t originals_ = 0, copies_ = 0, copied_until_ = 0;
  std::int64_t delay_sum_ns_ = 0, last_nak_ns_ = INT64_MIN;
  bool has_given_up_ = false;
};

}  // namespace weft::analyze
