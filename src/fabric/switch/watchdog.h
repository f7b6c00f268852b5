// The PFC watchdog (after SONiC's Mellanox detector, [sonic-swss]): a queue that holds packets, sends none and was
// paused for 99 % of a poll, over the detection time, is in a storm; it is restored when its class was not paused for
// the restoration time. Polls happen on a fixed grid while something is paused.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "fabric/switch/admission.h"
#include "fabric/switch/pause_engine.h"
#include "fabric/switch/records.h"
#include "fabric/switch/timers.h"
#include "fabric/switch_setup.h"

namespace weft::fabric {

class Watchdog {
 public:
  Watchdog(const SwitchSetup& setup, std::vector<SwitchPort>& ports, Admission& admission, PauseEngine& pauses,
           SwitchTimers& timers, SwitchRecords& records);
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // A pause frame of the peer came in.
  void note(std::uint32_t p, PauseRequest request, Time_ps now_ps);
  // Something is paused: polls begin if they have not.
  void arm(Time_ps now_ps);
  void poll(Time_ps now_ps);

 private:
  struct State {
    Time_ps storm_ps = 0;       // how long it has looked like a storm
    Time_ps paused_ps = 0;      // pause time at the last poll
    std::uint64_t sent = 0;     // packets sent at the last poll
    Time_ps last_pause_ps = 0;  // a pause frame for it was received
  };
  bool watch(std::uint32_t p, std::uint32_t q, Time_ps now_ps);
  void restore(std::uint32_t p, std::uint32_t q, Time_ps now_ps);
  bool act(std::uint32_t p, std::uint32_t q, Time_ps now_ps);

  const WatchdogConfig& config_;
  const std::array<std::uint8_t, kClasses>& queue_of_pause_;
  std::vector<SwitchPort>& ports_;
  Admission& admission_;
  PauseEngine& pauses_;
  SwitchTimers& timers_;
  SwitchRecords& records_;
  std::vector<std::array<State, kClasses>> states_;  // empty: there is no watchdog
  bool armed_ = false;
};

}  // namespace weft::fabric
