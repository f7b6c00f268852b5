// The PFC watchdog (after SONiC's Mellanox detector, [sonic-swss]): a queue that holds packets, sends none and
// was paused for 99 % of a poll, over the detection time, is in a storm; it is restored when its class was not paused
// for the restoration time. Polls happen on a fixed grid while something is paused.
#include <algorithm>

#include "fabric/switch.h"

namespace weft::fabric {

void Switch::arm_watchdog(Time_ps now_ps) {
  if (watchdog_armed_) return;
  watchdog_armed_ = true;
  const Time_ps poll_ps = setup_.qos.watchdog.poll_ps;
  for (std::uint32_t p = 0; p < ports_.size(); ++p) {
    for (std::uint32_t q = 0; q < kClasses; ++q) {
      watch_[p][q].paused_ps = queue_paused_ps(p, q, now_ps);
      watch_[p][q].sent = ports_[p].lanes[q].tx.packets;
      watch_[p][q].storm_ps = 0;
    }
  }
  add_timer((now_ps / poll_ps + 1) * poll_ps, TimerKind::kWatchdog, 0);
}

Time_ps Switch::queue_paused_ps(std::uint32_t p, std::uint32_t q, Time_ps now_ps) const {
  Time_ps longest_ps = 0;
  for (std::uint32_t c = 0; c < kClasses; ++c) {
    if (setup_.qos.queue_of_pause[c] == q) longest_ps = std::max(longest_ps, transmit_control_[p].total_ps(c, now_ps));
  }
  return longest_ps;
}

void Switch::poll_watchdog(Time_ps now_ps) {
  bool goes_on = false;
  for (std::uint32_t p = 0; p < ports_.size(); ++p) {
    for (std::uint32_t q = 0; q < kClasses; ++q) goes_on |= watch(p, q, now_ps);
  }
  watchdog_armed_ = goes_on;
  if (goes_on) add_timer(now_ps + setup_.qos.watchdog.poll_ps, TimerKind::kWatchdog, 0);
}

// One queue at one poll. True when it has to be looked at again.
bool Switch::watch(std::uint32_t p, std::uint32_t q, Time_ps now_ps) {
  const WatchdogConfig& watchdog = setup_.qos.watchdog;
  Port& port = ports_[p];
  WatchState& state = watch_[p][q];
  auto bit = static_cast<std::uint8_t>(1u << q);
  if ((port.watchdog_drop | port.ignore_pause) & bit) {
    if (now_ps - state.last_pause_ps < watchdog.restoration_ps) return true;
    port.watchdog_drop = static_cast<std::uint8_t>(port.watchdog_drop & ~bit);
    port.ignore_pause = static_cast<std::uint8_t>(port.ignore_pause & ~bit);
    port.set_reject();
    ++ports_[p].counters.restored[q];
    if (setup_.record) record_event(SwitchEventKind::kStormOver, p, q, now_ps);
    pauses_changed(p, transmit_control_[p].blocked(), PauseEnd::kWatchdog, now_ps);
  }
  Time_ps paused_ps = queue_paused_ps(p, q, now_ps);
  Time_ps more_ps = paused_ps - state.paused_ps;
  bool stuck =
      (port.waiting & bit) != 0 && ports_[p].lanes[q].tx.packets == state.sent && more_ps * 100 > watchdog.poll_ps * 99;
  state.paused_ps = paused_ps;
  state.sent = ports_[p].lanes[q].tx.packets;
  state.storm_ps = stuck ? state.storm_ps + more_ps : 0;
  if (state.storm_ps * 100 >= watchdog.detection_ps * 99) {
    state.storm_ps = 0;
    ++ports_[p].counters.storms[q];
    if (setup_.record) record_event(SwitchEventKind::kStorm, p, q, now_ps);
    if (watchdog.action != WatchdogAction::kAlert) {
      (watchdog.action == WatchdogAction::kDrop ? port.watchdog_drop : port.ignore_pause) |= bit;
      port.set_reject();
      if (port.watchdog_drop & bit) flush_queue(p, q, Fate::kWatchdogDrop, now_ps);
      pauses_changed(p, transmit_control_[p].blocked(), PauseEnd::kWatchdog, now_ps);
      return true;
    }
  }
  return (port.paused & bit) != 0 && (port.waiting & bit) != 0;
}

}  // namespace weft::fabric
