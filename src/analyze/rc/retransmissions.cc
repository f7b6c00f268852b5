#include "analyze/rc/retransmissions.h"

#include <algorithm>

#include "wire/uet.h"

namespace weft::analyze {

std::size_t SentAgain::Hash::operator()(const Key& key) const {
  std::uint64_t hash = std::uint64_t{key.place} << 32 | key.dest_qp;
  hash = hash * 0x9e3779b97f4a7c15 ^ (std::uint64_t{key.src} << 32 | key.dst);
  hash = hash * 0x9e3779b97f4a7c15 ^ (key.outbound ? 2u : 0u) ^ (key.response ? 1u : 0u);
  return hash ^ hash >> 29;
}

bool SentAgain::see(std::uint32_t place, const Frame& frame) {
  if (frame.kind == FrameKind::kUet) {
    const auto pds = wire::parse_pds(frame.payload);
    return pds && pds->retransmitted;
  }
  if (!frame.is_reliable()) return false;
  const bool request = wire::is_request(frame.opcode);
  if (!request && !wire::has_payload(frame.opcode)) return false;
  const Key key{place, frame.dest_qp, frame.src, frame.dst, frame.direction == Direction::kOut, !request};
  auto known = streams_.find(key);
  if (known == streams_.end()) {
    if (streams_.size() == kMostStreams) return false;
    known = streams_.emplace(key, Stream{}).first;
    known->second.highest = frame.psn;
    known->second.seen.set(frame.psn % kWindow);
    return false;
  }
  Stream& stream = known->second;
  const std::uint32_t ahead = (frame.psn - stream.highest) & kPsnMask;
  if (ahead != 0 && ahead < kHalf) {
    // Skipped PSNs have not been seen.
    for (std::uint32_t i = 1; i <= std::min(ahead, kWindow); ++i) stream.seen.reset((stream.highest + i) % kWindow);
    stream.highest = frame.psn;
    stream.seen.set(frame.psn % kWindow);
    return false;
  }
  const std::uint32_t behind = (stream.highest - frame.psn) & kPsnMask;
  if (behind > kNewConnection) {
    stream = Stream{};
    stream.highest = frame.psn;
    stream.seen.set(frame.psn % kWindow);
    return false;
  }
  if (behind >= kWindow) return true;
  if (stream.seen.test(frame.psn % kWindow)) return true;
  stream.seen.set(frame.psn % kWindow);
  return false;
}

}  // namespace weft::analyze
