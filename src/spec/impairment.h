// An impairment of a port with the meaning that tc-netem(8) gives it; fabric/impairment.h applies it. Probabilities are
// parts per 1e9.
#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"

namespace weft::fabric {

enum class DelayDistribution : std::uint8_t { kUniform, kNormal, kPareto, kParetoNormal };

// Each value depends on the one before it by `correlation_ppb`.
struct Chance {
  std::uint32_t ppb = 0;
  std::uint32_t correlation_ppb = 0;
  friend bool operator==(const Chance&, const Chance&) = default;
};
// Gilbert and Elliott: a good and a bad state, each with a probability to leave it and one to lose a frame.
struct GilbertElliott {
  std::uint32_t to_bad_ppb = 0, to_good_ppb = 0, bad_loss_ppb = 1'000'000'000, good_loss_ppb = 0;
  friend bool operator==(const GilbertElliott&, const GilbertElliott&) = default;
};

struct Impairment {
  static constexpr std::uint32_t kLimit = 1000;  // tc's own default

  Time_ps delay_ps = 0, jitter_ps = 0;
  std::uint32_t delay_correlation_ppb = 0;
  DelayDistribution distribution = DelayDistribution::kUniform;
  Chance loss;
  std::optional<GilbertElliott> gemodel;
  Chance corrupt, duplicate, reorder;
  std::uint32_t gap = 0;         // every so many frames may overtake the others; 0: none does
  std::int64_t rate_bps = 0;     // 0: that of the port
  std::uint32_t limit = kLimit;  // frames that it holds back at a time; more are lost
  friend bool operator==(const Impairment&, const Impairment&) = default;
};

}  // namespace weft::fabric
