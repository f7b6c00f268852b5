#include "analyze/paths/transits.h"

#include <algorithm>

namespace weft::analyze {
namespace {

std::uint64_t key_of(PointId before, PointId after, AddressId src) {
  return std::uint64_t{before & 0xffff} << 48 | std::uint64_t{after & 0xffff} << 32 | src;
}

}  // namespace

std::uint64_t Transits::print_of(const Frame& frame) {
  std::uint64_t print = (std::uint64_t{frame.src} << 32 | frame.dst) * 0x9e3779b97f4a7c15ULL;
  print = (print ^ (std::uint64_t{frame.dest_qp} << 32 | frame.psn << 8 | static_cast<std::uint8_t>(frame.opcode))) *
          0xbf58476d1ce4e5b9ULL;
  return print ^ print >> 31;
}

void Transits::add(const Frame& frame, std::uint64_t print) {
  Seen& seen = seen_[print >> 40 & (kSlots - 1)];
  if (seen.print == print && seen.point != frame.point && seen.point != kNone) {
    const std::int64_t time_ns = frame.time_ns - seen.time_ns;
    const std::uint64_t key = key_of(seen.point, frame.point, frame.src);
    if (pairs_.size() < kMostPairs || pairs_.contains(key)) {
      Transit& transit = pairs_[key];
      if (transit.packets++ == 0) transit.least_ns = transit.most_ns = time_ns;
      transit.least_ns = std::min(transit.least_ns, time_ns);
      transit.most_ns = std::max(transit.most_ns, time_ns);
    }
  }
  seen = {print, frame.time_ns, frame.point};
}

std::optional<Transit> Transits::between(PointId before, PointId after, AddressId src) const {
  const auto found = pairs_.find(key_of(before, after, src));
  if (found == pairs_.end() || found->second.packets < kFewest) return std::nullopt;
  return found->second;
}

}  // namespace weft::analyze
