#include "analyze/alpha_fit.h"

#include <algorithm>
#include <cmath>

namespace weft::analyze {
namespace {

double gain_at(std::size_t i) {
  return std::exp2(static_cast<double>(i) / 4 - 14);
}

}  // namespace

double AlphaGain::half_life_us() const {
  return std::log(0.5) / std::log1p(-g);
}

void AlphaFit::see_cnp(std::int64_t gap_ns) {
  constexpr std::int64_t kPeriod_ns = 1000;
  if (!has_alpha_ || gap_ns < kPeriod_ns) return;  // one CNP counts in a period
  const double periods = static_cast<double>(gap_ns) / kPeriod_ns;
  for (std::size_t i = 0; i < kGains; ++i) {
    const double g = gain_at(i);
    alpha_[i] = static_cast<float>(alpha_[i] * std::exp(periods * std::log1p(-g)) + g);
  }
}

void AlphaFit::see_cut(double alpha) {
  const double measured = std::clamp(alpha, 0.0, 1.0);
  if (has_alpha_) {
    ++pairs_;
    for (std::size_t i = 0; i < kGains; ++i) squares_[i] += (alpha_[i] - measured) * (alpha_[i] - measured);
  }
  has_alpha_ = true;
  alpha_.fill(static_cast<float>(measured));
}

void AlphaFit::add(const AlphaFit& other) {
  pairs_ += other.pairs_;
  for (std::size_t i = 0; i < kGains; ++i) squares_[i] += other.squares_[i];
}

std::optional<AlphaGain> AlphaFit::best() const {
  if (pairs_ < kFewestPairs) return std::nullopt;
  const auto least = static_cast<std::size_t>(std::min_element(squares_.begin(), squares_.end()) - squares_.begin());
  const double variance = std::max(kAlphaNoise * kAlphaNoise, squares_[least] / static_cast<double>(pairs_));
  std::size_t from = least, to = least;
  const auto fits = [&](std::size_t i) { return squares_[i] - squares_[least] <= 4 * variance; };
  while (from > 0 && fits(from - 1)) --from;
  while (to + 1 < kGains && fits(to + 1)) ++to;
  if (from == 0) return std::nullopt;
  const bool is_bound = to + 1 == kGains || gain_at(to) > kWidest * gain_at(from);
  return AlphaGain{gain_at(least), gain_at(from), gain_at(to), pairs_, is_bound};
}

}  // namespace weft::analyze
