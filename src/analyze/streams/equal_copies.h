// Packets that one capture point holds twice, unchanged: a mirror session of several ports of a bridge, or of both
// directions, copies a packet as it came and as it left. A packet that is retransmitted, or duplicated on the way,
// looks the same; what tells the copies is that nearly every packet between two hosts has one, in the same order and a
// few microseconds later, from the first packet on. A retransmission comes after a NAK or a timeout, and most NICs give
// it another IP identification.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analyze/frames/frame.h"

namespace weft::analyze {

class EqualCopies {
 public:
  // Is this packet the second sight of one that was seen? Packets of one point, in order.
  bool is_copy(const Frame& frame);
  bool has_given_up() const { return has_given_up_; }
  // Has nearly every packet between these hosts had a copy, up to the one that had the newest?
  bool copies_are_usual(AddressId one, AddressId other) const {
    const auto rule = rules_.find(key_of(one, other));
    return rule != rules_.end() && rule->second.is_usual();
  }
  // One that was told by other means.
  void add_late_copy(const Frame& frame) { ++rules_[key_of(frame.src, frame.dst)].late_copies; }
  // Copies between hosts that have them as a rule, and the delay of those that were timed.
  struct Sum {
    std::uint64_t copies = 0, timed = 0;
    std::int64_t delay_ns = 0;  // together

    double mean_delay_us() const {
      return timed == 0 ? 0 : static_cast<double>(delay_ns) / static_cast<double>(timed) / 1e3;
    }
  };
  Sum usual_copies() const;

 private:
  // Until this many copies were seen, only those that come soon count, and behind a NAK only as late as usual.
  static constexpr std::uint64_t kFewestCopies = 32, kFewestUsual = 4;
  static constexpr std::int64_t kSoon_ns = 20'000, kWithin_ns = 1'000'000;
  static constexpr std::size_t kSets = 4096, kWays = 4, kMostRules = 4096;
  // The first packets of a capture may be second copies of what came before it: one to each original. Nobody sends
  // again so soon without a NAK; a READ or atomic whose answer is missing is asked for again sooner.
  static constexpr std::uint64_t kBegunBefore = 4;
  static constexpr std::int64_t kSoonest_ns = 8'000, kSoonestAnswered_ns = 1'000;
  static constexpr std::uint64_t kGiveUpAfter = 4096;  // packets, if fewer than half of them had a copy

  struct Seen {
    std::uint64_t print = 0;  // 0: free
    std::int64_t time_ns = 0;
    std::uint64_t ordinal = 0;  // of the packets that are no copies
    bool is_copied = false;
  };
  // Rule for all packets between two hosts.
  struct Rule {
    std::uint64_t originals = 0, copies = 0, copied_until = 0, late_copies = 0;
    std::int64_t delay_sum_ns = 0, last_nak_ns = INT64_MIN;

    bool is_usual() const { return copies > 0 && copies * 2 > copied_until; }
    std::int64_t mean_delay_ns() const { return copies == 0 ? 0 : delay_sum_ns / static_cast<std::int64_t>(copies); }
  };
  static std::uint64_t key_of(AddressId one, AddressId other) {
    return std::uint64_t{std::min(one, other)} << 32 | std::max(one, other);
  }
  Seen& place_of_print(std::uint64_t print);
  void see_original(const Frame& frame, Rule& rule);

  std::vector<Seen> seen_;
  std::unordered_map<std::uint64_t, Rule> rules_;  // by both addresses
  std::uint64_t originals_ = 0;
  bool has_given_up_ = false;
};

}  // namespace weft::analyze
