// The gain g of DCQCN's alpha, fitted to what CNPs did to a rate. A cut leaves 1 - alpha/2 of the rate, so each cut
// that can be measured tells alpha; between two of them alpha decays by (1-g) in each period and rises by g with each
// CNP (SIGCOMM'15, section 3; ConnectX: a period of DCE_TCP_RTT = 1 us, g = 1 - DCE_TCP_G/1024). Every gain of a grid
// predicts the next alpha from the last one that was measured; the best is the one with the least squares.
// Only the decay in time shows, g over its period: with another period the same curve has another g.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace weft::analyze {

// With a period of 1 us. Gains from `least` to `most` fit almost as well (two standard deviations).
struct AlphaGain {
  double g = 0, least = 0, most = 0;
  std::uint64_t measured = 0;  // pairs of cuts
  bool is_bound = false;       // alpha is gone by the next cut: any gain above `least` does that

  double half_life_us() const;
};

class AlphaFit {
 public:
  // A CNP, so long after the one before it.
  void see_cnp(std::int64_t gap_ns);
  // The last CNP has left 1 - alpha/2 of the rate.
  void see_cut(double alpha);
  // What another stream told.
  void add(const AlphaFit& other);
  // Nothing: too few cuts, or cuts that all gains explain.
  std::optional<AlphaGain> best() const;

  static constexpr std::size_t kGains = 41;  // from 2^-14 to 2^-4, four in each power of two
  static constexpr std::uint64_t kFewestPairs = 3;

 private:
  // A rate is measured to 2 or 3 percent and rises between two windows; alpha is twice a difference of rates.
  static constexpr double kAlphaNoise = 0.08;
  // A gain that is known to this factor is worth a number.
  static constexpr double kWidest = 4;

  bool has_alpha_ = false;
  std::array<float, kGains> alpha_{};
  std::array<double, kGains> squares_{};
  std::uint64_t pairs_ = 0;
};

}  // namespace weft::analyze
