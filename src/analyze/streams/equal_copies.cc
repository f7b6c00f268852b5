#include "analyze/streams/equal_copies.h"

#include <algorithm>

namespace weft::analyze {
namespace {

// Fields that a bridge does not change. It may mark a packet: ECN and the checksum of IPv4 are left out.
std::uint64_t print_of(const Frame& frame) {
  std::uint64_t print = 0x9e3779b97f4a7c15ULL;
  const auto add = [&print](std::uint64_t value) {
    print = (print ^ value) * 0xbf58476d1ce4e5b9ULL;
    print ^= print >> 29;
  };
  add(std::uint64_t{frame.src} << 32 | frame.dst);
  add(std::uint64_t{frame.dest_qp} << 32 | frame.psn);
  add(std::uint64_t{static_cast<std::uint8_t>(frame.opcode)} << 56 | std::uint64_t{frame.syndrome} << 48 |
      std::uint64_t{frame.ttl} << 40 | std::uint64_t{frame.src_port} << 16 | (frame.ack_req ? 1 : 0));
  add(std::uint64_t{frame.msn} << 32 | frame.wire_B);
  add(static_cast<std::uint64_t>(frame.direction));
  if (frame.ip_version == 4 && frame.ip.size() >= 20) add(std::uint64_t{frame.ip[4]} << 8 | frame.ip[5]);
  return print == 0 ? 1 : print;
}

// READs, atomics and their answers.
bool is_answered(const Frame& frame) {
  const auto operation = static_cast<std::uint8_t>(frame.operation());
  return operation >= static_cast<std::uint8_t>(wire::Opcode::kReadRequest) &&
         operation <= static_cast<std::uint8_t>(wire::Opcode::kFetchAdd) && frame.operation() != wire::Opcode::kAck;
}

}  // namespace

// Where this print is, or else the oldest of its set.
EqualCopies::Seen& EqualCopies::place_of_print(std::uint64_t print) {
  const auto set = seen_.begin() + static_cast<std::ptrdiff_t>(print % kSets * kWays);
  const auto known = std::find_if(set, set + kWays, [print](const Seen& each) { return each.print == print; });
  if (known != set + kWays) return *known;
  return *std::min_element(set, set + kWays,
                           [](const Seen& one, const Seen& other) { return one.time_ns < other.time_ns; });
}

bool EqualCopies::is_copy(const Frame& frame) {
  if (has_given_up_) return false;
  if (seen_.empty()) seen_.resize(kSets * kWays);
  const std::uint64_t key = key_of(frame.src, frame.dst);
  if (rules_.size() == kMostRules && !rules_.contains(key)) return false;
  Rule& rule = rules_[key];
  const std::uint64_t print = print_of(frame);
  Seen& seen = place_of_print(print);
  const std::int64_t delay_ns = frame.time_ns - seen.time_ns;
  const bool is_sure = rule.copies >= kFewestCopies;
  // The stamp of an original may be late, and its copy seem to come before it.
  const std::int64_t earliest_ns = rule.copies >= kFewestUsual ? -kSoon_ns : 0;
  const bool is_in_time = delay_ns >= earliest_ns && delay_ns <= (is_sure ? kWithin_ns : kSoon_ns);
  // A packet seen before its original has its copies already.
  const bool is_soon = delay_ns < (is_answered(frame) ? kSoonestAnswered_ns : kSoonest_ns);
  const std::uint64_t begun_before = is_soon && !frame.is_cnp() ? kBegunBefore : 0;
  const bool is_rule = rule.copies * 2 + begun_before >= seen.ordinal;
  // Behind a NAK it may have been retransmitted, unless it is as late as other copies are.
  const bool is_usual = rule.copies >= kFewestUsual && delay_ns <= 2 * rule.mean_delay_ns();
  const bool may_be_copy = is_sure || is_usual || rule.last_nak_ns <= seen.time_ns;
  if (seen.print == print && !seen.is_copied && is_in_time && is_rule && may_be_copy) {
    seen.is_copied = true;
    rule.copied_until = seen.ordinal;
    rule.delay_sum_ns += delay_ns >= 0 ? delay_ns : rule.mean_delay_ns();
    ++rule.copies;
    return true;
  }
  seen = {print, frame.time_ns, rule.originals, false};
  see_original(frame, rule);
  return false;
}

void EqualCopies::see_original(const Frame& frame, Rule& rule) {
  ++rule.originals;
  if (frame.has_aeth && frame.syndrome >> 5 != 0) rule.last_nak_ns = frame.time_ns;
  if (++originals_ % kGiveUpAfter != 0) return;
  if (std::ranges::any_of(rules_, [](const auto& each) { return each.second.copies * 2 >= each.second.originals; }))
    return;
  has_given_up_ = true;
  seen_ = {};
}

EqualCopies::Sum EqualCopies::usual_copies() const {
  Sum sum;
  for (const auto& [key, rule] : rules_) {
    if (!rule.is_usual()) continue;
    sum.copies += rule.copies + rule.late_copies;
    sum.timed += rule.copies;
    sum.delay_ns += rule.delay_sum_ns;
  }
  return sum;
}

}  // namespace weft::analyze
