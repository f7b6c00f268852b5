// What happens to frames that leave an impaired port: delay, loss, corruption, copies, order and rate, with the meaning
// that tc-netem(8) gives them. It acts between the port and its cable, in that direction only, and not on pause frames,
// which a MAC sends by itself. Probabilities are parts per 1e9. Called by fabric/link_wrapper.cc for each frame.
// Not modelled: slot, the loss models `state` and `ecn`.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/random.h"
#include "base/time.h"
#include "fabric/fault_verdict.h"

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

class Impairer {
 public:
  struct Counters {
    std::uint64_t frames = 0, lost = 0, over_limit = 0, corrupted = 0, duplicated = 0, reordered = 0, delayed = 0;
  };

  Impairer(const Impairment& impairment, std::uint64_t seed, std::uint64_t owner)
      : impairment_(impairment), random_(seed, owner, RandomPurpose::kImpairment) {}

  // Of a frame of so many bytes on the line that starts now, while `held` frames are held back.
  // `commented`: somebody reads what was done to it.
  void judge(std::uint32_t line_B, std::size_t held, Time_ps now_ps, bool commented, FaultVerdict& verdict);
  const Impairment& impairment() const { return impairment_; }
  const Counters& counters() const { return counters_; }

 private:
  enum Draw : std::uint8_t { kDelay, kLoss, kCorrupt, kDuplicate, kReorder, kDraws };
  std::uint32_t draw(Draw what, std::uint32_t correlation_ppb);
  bool happens(Draw what, const Chance& chance);
  bool loses();
  Time_ps delay();

  Impairment impairment_;
  RandomStream random_;
  std::array<std::uint32_t, kDraws> last_{};  // values of 32 bits, for the correlation
  bool bad_ = false;                          // the state of Gilbert and Elliott
  std::uint32_t since_reordered_ = 0;
  Time_ps leaves_ps_ = 0;  // the last frame, with a rate
  Counters counters_;
};

}  // namespace weft::fabric
