#include "analyze/clock_offsets.h"

#include <algorithm>

namespace weft::analyze {
namespace {

// What no hop changes.
std::uint64_t identity_of(const Frame& frame) {
  std::uint64_t print = 0x2545f4914f6cdd1dULL;
  const auto add = [&print](std::uint64_t value) {
    print = (print ^ value) * 0xbf58476d1ce4e5b9ULL;
    print ^= print >> 29;
  };
  add(std::uint64_t{frame.src} << 32 | frame.dst);
  add(std::uint64_t{frame.dest_qp} << 32 | frame.psn);
  add(std::uint64_t{static_cast<std::uint8_t>(frame.opcode)} << 32 | std::uint64_t{frame.syndrome} << 24 | frame.msn);
  add(frame.payload_B);
  if (frame.ip_version == 4 && frame.ip.size() >= 20) add(std::uint64_t{frame.ip[4]} << 8 | frame.ip[5]);
  return print ^ print >> 32;
}

}  // namespace

void ClockOffsets::Way::add(std::int64_t time_ns) {
  least_ns = packets == 0 ? time_ns : std::min(least_ns, time_ns);
  most_ns = packets == 0 ? time_ns : std::max(most_ns, time_ns);
  ++packets;
}

std::uint32_t ClockOffsets::file_of(PointId point, const CaptureSummary& capture) {
  while (file_of_point_.size() <= point) {
    const auto at = static_cast<std::uint32_t>(file_of_point_.size());
    std::uint32_t first = 0;
    while (capture.points[first].file != capture.points[at].file) ++first;
    file_of_point_.push_back(first);
  }
  return file_of_point_[point];
}

void ClockOffsets::see(const Frame& frame, const CaptureSummary& capture) {
  if (frame.is_cnp() || frame.src == kNone || frame.dst == kNone || frame.src == frame.dst) return;
  const std::uint64_t print = identity_of(frame);
  if ((print & mask_) != 0) return;
  const Seen now{frame.time_ns, frame.point, false};
  const auto [known, is_new] = seen_.try_emplace(print, now);
  if (is_new) {
    if (seen_.size() > kMostPackets) thin_out();
    return;
  }
  Seen& before = known->second;
  if (before.is_used) return;
  if (file_of(before.point, capture) != file_of(frame.point, capture)) {
    compare(before, now, frame, capture);
    before.is_used = true;
  } else if (before.point == frame.point) {
    before.is_used = true;  // sent again: no telling which of them the other file has
  }
}

void ClockOffsets::compare(const Seen& one, const Seen& other, const Frame& frame, const CaptureSummary& capture) {
  const bool in_order = file_of(one.point, capture) < file_of(other.point, capture);
  const Seen &first = in_order ? one : other, &second = in_order ? other : one;
  const Key key{file_of(first.point, capture), file_of(second.point, capture), std::min(frame.src, frame.dst),
                std::max(frame.src, frame.dst)};
  if (pairs_.size() == kMostPairs && !pairs_.contains(key)) return;
  Pair& pair = pairs_[key];
  pair.points = {first.point, second.point};
  pair.ways[frame.src < frame.dst ? 0 : 1].add(second.time_ns - first.time_ns);
}

void ClockOffsets::thin_out() {
  mask_ = mask_ << 1 | 1;
  std::erase_if(seen_, [this](const auto& each) { return (each.first & mask_) != 0; });
}

std::vector<ClockOffset> ClockOffsets::offsets() const {
  std::vector<ClockOffset> all;
  for (const auto& [key, pair] : pairs_) {
    if (std::min(pair.ways[0].packets, pair.ways[1].packets) < kFewestPackets) continue;
    // The way to the second file is the one that takes longer by these clocks.
    const bool is_swapped = pair.ways[0].least_ns < pair.ways[1].least_ns;
    const Way &there = pair.ways[is_swapped ? 1 : 0], &back = pair.ways[is_swapped ? 0 : 1];
    ClockOffset offset;
    offset.first = pair.points[0];
    offset.second = pair.points[1];
    offset.offset_ns = back.most_ns + (there.least_ns - back.most_ns) / 2;
    offset.uncertainty_ns = std::max<std::int64_t>(1, (there.least_ns - back.most_ns) / 2);
    offset.packets = there.packets + back.packets;
    if (!all.empty() && file_of_point_[all.back().first] == key.first_file &&
        file_of_point_[all.back().second] == key.second_file) {
      if (offset.uncertainty_ns < all.back().uncertainty_ns) all.back() = offset;
    } else {
      all.push_back(offset);
    }
  }
  return all;
}

}  // namespace weft::analyze
