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
#include "spec/impairment.h"

namespace weft::fabric {

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
