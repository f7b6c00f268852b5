// The receiving half of PFC and 802.3x at one port (802.1Qbb 36.2, 802.3 31B): which classes may not start a frame,
// until when, and what was seen. A pause ends by zero quanta, by expiry, when the link goes down, or by the watchdog.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/time.h"
#include "engine/packet.h"

namespace weft::fabric {

inline constexpr std::size_t kPauseClasses = 8;

// A pause that lasts is repeated at half time, well before the peer's timer runs out.
inline constexpr Time_ps pause_refresh_ps(std::uint16_t quanta, Time_ps ps_per_byte) {
  return quanta * engine::pause_quantum_ps(ps_per_byte) / 2;
}

class PortPause {
 public:
  std::uint8_t paused() const { return mask_; }
  // A pause frame takes effect; only classes of `honoured` listen.
  void apply(engine::PauseRequest request, std::uint8_t honoured, Time_ps now_ps, Time_ps quantum_ps) {
    for (std::size_t c = 0; c < kPauseClasses; ++c) {
      auto bit = static_cast<std::uint8_t>(1u << c);
      if (request.xoff & bit) ++frames_[c];
      if (request.xon & bit) ++frames_[c];
      if ((honoured & bit) == 0) continue;
      if (request.xoff & bit) {
        if ((mask_ & bit) == 0) {
          since_ps_[c] = now_ps;
          ++transitions_[c];
        }
        mask_ |= bit;
        until_ps_[c] = now_ps + request.quanta * quantum_ps;
      }
      if (request.xon & bit) release(c, now_ps);
    }
    plan();
  }
  // Classes whose time is over are free again.
  void expire(Time_ps now_ps) {
    for (std::size_t c = 0; c < kPauseClasses; ++c) {
      if ((mask_ >> c & 1) != 0 && until_ps_[c] <= now_ps) release(c, now_ps);
    }
    plan();
  }
  void release_all(Time_ps now_ps) {
    for (std::size_t c = 0; c < kPauseClasses; ++c) release(c, now_ps);
    plan();
  }
  Time_ps next_expiry_ps() const { return expiry_ps_; }

  std::uint64_t frames(std::size_t c) const { return frames_[c]; }  // received, XOFF and XON
  std::uint64_t transitions(std::size_t c) const { return transitions_[c]; }
  Time_ps total_ps(std::size_t c, Time_ps now_ps) const {
    return total_ps_[c] + ((mask_ >> c & 1) != 0 ? now_ps - since_ps_[c] : 0);
  }

 private:
  void release(std::size_t c, Time_ps now_ps) {
    auto bit = static_cast<std::uint8_t>(1u << c);
    if ((mask_ & bit) == 0) return;
    mask_ = static_cast<std::uint8_t>(mask_ & ~bit);
    total_ps_[c] += now_ps - since_ps_[c];
  }
  void plan() {
    expiry_ps_ = kNever_ps;
    for (std::size_t c = 0; c < kPauseClasses; ++c) {
      if ((mask_ >> c & 1) != 0) expiry_ps_ = std::min(expiry_ps_, until_ps_[c]);
    }
  }

  std::uint8_t mask_ = 0;
  Time_ps expiry_ps_ = kNever_ps;
  std::array<Time_ps, kPauseClasses> until_ps_{};
  std::array<Time_ps, kPauseClasses> since_ps_{};
  std::array<Time_ps, kPauseClasses> total_ps_{};
  std::array<std::uint64_t, kPauseClasses> frames_{};
  std::array<std::uint64_t, kPauseClasses> transitions_{};
};

}  // namespace weft::fabric
