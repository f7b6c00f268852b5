// RED on an egress queue: which packets are marked CE, or dropped when they cannot be marked. The decision is the
// configured ramp and nothing else (DCQCN section 3.1): 0 below min, linear to P at max, 1 from there on.
#pragma once

#include <cstdint>

#include "base/check.h"
#include "base/random.h"
#include "spec/switch_config.h"

namespace weft::fabric {

// ECN in Packet::tos (RFC 3168): 0 cannot be marked.
inline constexpr std::uint64_t kEcnMask = 3;
inline constexpr std::uint64_t kEcnCe = 3;

// True with the probability that the ramp has for a queue of `queue_B`.
inline bool ecn_hits(const EcnRamp& ramp, std::int64_t queue_B, RandomStream& random) {
  if (queue_B < ramp.min_B) return false;
  if (queue_B >= ramp.max_B) return true;
  auto scale = static_cast<std::uint64_t>(ramp.max_B - ramp.min_B) * 1'000'000'000ULL;
  auto chance = static_cast<std::uint64_t>(queue_B - ramp.min_B) * ramp.probability_ppb;
  WEFT_DCHECK(scale > 0 && chance <= scale, "a ramp is a probability");
  return random.below(scale) < chance;
}

}  // namespace weft::fabric
