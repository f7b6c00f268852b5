#include "fabric/impairment.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"

namespace weft::fabric {

namespace {

using Wide = unsigned __int128;
constexpr std::uint64_t kBillion = 1'000'000'000;
constexpr std::int64_t kOne_q16 = 1 << 16;

// The sum of twelve even numbers less its mean is normal, as near as no one can tell, and has the variance 1. Integers
// only: the same on every machine. `bits` is the first of them, so that a correlation counts.
std::int64_t normal_q16(std::uint32_t bits, RandomStream& random) {
  std::int64_t sum = bits >> 16;
  for (int i = 1; i < 12; i += 4) {
    const std::uint64_t more = random.next();
    for (int part = 0; part < 4 && i + part < 12; ++part) sum += static_cast<std::int64_t>(more >> 16 * part & 0xffff);
  }
  return sum - 6 * kOne_q16;
}

// Pareto with the shape 3, moved to the mean 0 and stretched as the table of iproute2 is: (u^(-1/3) - 1.5) * 4/3.
std::int64_t pareto_q16(std::uint32_t bits) {
  const std::uint64_t u = (bits >> 16) + 1;  // 1 to 65536
  // The largest x with x^3 * u <= 2^64: u^(-1/3) as Q16, where u is of 2^16.
  std::uint64_t low = 0, high = std::uint64_t{1} << 22;
  while (high - low > 1) {
    const std::uint64_t middle = (low + high) / 2;
    (Wide{middle} * middle * middle * u <= Wide{1} << 64 ? low : high) = middle;
  }
  return (static_cast<std::int64_t>(low) - 3 * kOne_q16 / 2) * 4 / 3;
}

}  // namespace

std::uint32_t Impairer::draw(Draw what, std::uint32_t correlation_ppb) {
  auto value = static_cast<std::uint32_t>(random_.next() >> 32);
  if (correlation_ppb > 0) {
    value = static_cast<std::uint32_t>(
        (std::uint64_t{value} * (kBillion - correlation_ppb) + std::uint64_t{last_[what]} * correlation_ppb) /
        kBillion);
  }
  last_[what] = value;
  return value;
}

bool Impairer::happens(Draw what, const Chance& chance) {
  if (chance.ppb == 0) return false;
  return std::uint64_t{draw(what, chance.correlation_ppb)} * kBillion >> 32 < chance.ppb;
}

bool Impairer::loses() {
  if (!impairment_.gemodel) return happens(kLoss, impairment_.loss);
  const GilbertElliott& model = *impairment_.gemodel;
  const bool lost = random_.chance_ppb(bad_ ? model.bad_loss_ppb : model.good_loss_ppb);
  if (random_.chance_ppb(bad_ ? model.to_good_ppb : model.to_bad_ppb)) bad_ = !bad_;
  return lost;
}

Time_ps Impairer::delay() {
  if (impairment_.jitter_ps == 0) return impairment_.delay_ps;
  const std::uint32_t bits = draw(kDelay, impairment_.delay_correlation_ppb);
  std::int64_t deviation_q16 = 0;
  switch (impairment_.distribution) {
    case DelayDistribution::kUniform:
      deviation_q16 = static_cast<std::int64_t>(bits >> 15) - kOne_q16;
      break;
    case DelayDistribution::kNormal:
      deviation_q16 = normal_q16(bits, random_);
      break;
    case DelayDistribution::kPareto:
      deviation_q16 = pareto_q16(bits);
      break;
    case DelayDistribution::kParetoNormal:
      deviation_q16 = (normal_q16(bits, random_) + 3 * pareto_q16(bits)) / 4;
      break;
  }
  const auto jitter_ps = static_cast<Time_ps>(static_cast<__int128>(impairment_.jitter_ps) * deviation_q16 / kOne_q16);
  return std::max<Time_ps>(0, impairment_.delay_ps + jitter_ps);
}

void Impairer::judge(std::uint32_t line_B, std::size_t held, Time_ps now_ps, bool commented, FaultVerdict& verdict) {
  ++counters_.frames;
  const bool duplicate = happens(kDuplicate, impairment_.duplicate);
  if (loses()) {
    ++counters_.lost;
    if (!duplicate) {
      verdict.lost = true;
      if (commented) verdict.note("weft: lost by impairment");
      return;
    }
  } else if (duplicate) {
    ++counters_.duplicated;
    verdict.duplicate = true;
    if (commented) verdict.note("weft: duplicated by impairment");
  }
  if (happens(kCorrupt, impairment_.corrupt)) {
    ++counters_.corrupted;
    verdict.corrupt = true;
    if (commented) verdict.note("weft: corrupted by impairment (bad ICRC, good FCS)");
  }
  if (held >= impairment_.limit) {
    ++counters_.over_limit;
    verdict.lost = true;
    verdict.duplicate = false;
    if (commented) verdict.note(fmt::format("weft: lost by impairment, {} frames wait", held));
    return;
  }
  if (impairment_.gap > 0 && since_reordered_ + 1 >= impairment_.gap && happens(kReorder, impairment_.reorder)) {
    since_reordered_ = 0;
    ++counters_.reordered;
    if (commented) verdict.note("weft: sent ahead of others by impairment");
    return;
  }
  ++since_reordered_;
  Time_ps delay_ps = delay();
  if (impairment_.rate_bps > 0) {
    const auto length_ps =
        static_cast<Time_ps>(Wide{line_B} * 8 * kSecond_ps / static_cast<std::uint64_t>(impairment_.rate_bps));
    leaves_ps_ = std::max(now_ps + delay_ps, leaves_ps_) + length_ps;
    delay_ps = leaves_ps_ - now_ps;
    WEFT_CHECK(delay_ps >= length_ps, "a frame takes its time on a slow line");
  }
  if (delay_ps == 0) return;
  ++counters_.delayed;
  verdict.delay_ps += delay_ps;
  if (commented) verdict.note(fmt::format("weft: delayed {} ns by impairment", delay_ps / kNanosecond_ps));
}

}  // namespace weft::fabric
