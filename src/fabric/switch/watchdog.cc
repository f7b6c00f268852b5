#include "fabric/switch/watchdog.h"

#include "base/check.h"

namespace weft::fabric {

Watchdog::Watchdog(const SwitchSetup& setup, std::vector<SwitchPort>& ports, Admission& admission, PauseEngine& pauses,
                   SwitchTimers& timers, SwitchRecords& records)
    : config_(setup.qos.watchdog),
      queue_of_pause_(setup.qos.queue_of_pause),
      ports_(ports),
      admission_(admission),
      pauses_(pauses),
      timers_(timers),
      records_(records),
      states_(config_.enabled ? setup.ports.size() : 0) {
  WEFT_CHECK(!config_.enabled || config_.poll_ps > 0, "a watchdog polls at an interval");
}

void Watchdog::note(std::uint32_t p, PauseRequest request, Time_ps now_ps) {
  if (states_.empty()) return;
  for (std::uint32_t c = 0; c < kClasses; ++c) {
    if (request.xoff >> c & 1) states_[p][queue_of_pause_[c]].last_pause_ps = now_ps;
  }
}

void Watchdog::arm(Time_ps now_ps) {
  if (states_.empty() || armed_) return;
  armed_ = true;
  for (std::uint32_t p = 0; p < ports_.size(); ++p) {
    for (std::uint32_t q = 0; q < kClasses; ++q) {
      states_[p][q].paused_ps = pauses_.queue_paused_ps(p, q, now_ps);
      states_[p][q].sent = ports_[p].lanes[q].tx.packets;
      states_[p][q].storm_ps = 0;
    }
  }
  timers_.add((now_ps / config_.poll_ps + 1) * config_.poll_ps, TimerKind::kWatchdog, 0);
}

void Watchdog::poll(Time_ps now_ps) {
  WEFT_CHECK(armed_, "a watchdog polls while it is armed");
  bool goes_on = false;
  for (std::uint32_t p = 0; p < ports_.size(); ++p) {
    for (std::uint32_t q = 0; q < kClasses; ++q) goes_on |= watch(p, q, now_ps);
  }
  armed_ = goes_on;
  if (goes_on) timers_.add(now_ps + config_.poll_ps, TimerKind::kWatchdog, 0);
}

// One queue at one poll. True when it has to be looked at again.
bool Watchdog::watch(std::uint32_t p, std::uint32_t q, Time_ps now_ps) {
  SwitchPort& port = ports_[p];
  State& state = states_[p][q];
  const auto bit = static_cast<std::uint8_t>(1u << q);
  if ((port.watchdog_drop | port.ignore_pause) & bit) {
    if (now_ps - state.last_pause_ps < config_.restoration_ps) return true;
    restore(p, q, now_ps);
  }
  const Time_ps paused_ps = pauses_.queue_paused_ps(p, q, now_ps);
  const Time_ps more_ps = paused_ps - state.paused_ps;
  const std::uint64_t sent = port.lanes[q].tx.packets;
  WEFT_CHECK(more_ps >= 0 && sent >= state.sent, "pause time and packets sent only grow");
  const bool stuck = (port.waiting & bit) != 0 && sent == state.sent && more_ps * 100 > config_.poll_ps * 99;
  state.paused_ps = paused_ps;
  state.sent = sent;
  state.storm_ps = stuck ? state.storm_ps + more_ps : 0;
  if (state.storm_ps * 100 >= config_.detection_ps * 99 && act(p, q, now_ps)) return true;
  return (port.paused & bit) != 0 && (port.waiting & bit) != 0;
}

void Watchdog::restore(std::uint32_t p, std::uint32_t q, Time_ps now_ps) {
  SwitchPort& port = ports_[p];
  const auto bit = static_cast<std::uint8_t>(1u << q);
  WEFT_CHECK((port.watchdog_drop & port.ignore_pause) == 0, "a queue is dropped or sends in spite of pauses, not both");
  port.watchdog_drop = static_cast<std::uint8_t>(port.watchdog_drop & ~bit);
  port.ignore_pause = static_cast<std::uint8_t>(port.ignore_pause & ~bit);
  port.set_reject();
  ++port.counters.restored[q];
  records_.event(SwitchEventKind::kStormOver, p, q, now_ps);
  pauses_.watchdog_changed(p, now_ps);
}

// A storm is detected. False: the action is an alert and nothing else.
bool Watchdog::act(std::uint32_t p, std::uint32_t q, Time_ps now_ps) {
  SwitchPort& port = ports_[p];
  const auto bit = static_cast<std::uint8_t>(1u << q);
  states_[p][q].storm_ps = 0;
  ++port.counters.storms[q];
  WEFT_CHECK(port.counters.storms[q] >= port.counters.restored[q], "a queue is restored after a storm");
  records_.event(SwitchEventKind::kStorm, p, q, now_ps);
  if (config_.action == WatchdogAction::kAlert) return false;
  (config_.action == WatchdogAction::kDrop ? port.watchdog_drop : port.ignore_pause) |= bit;
  port.set_reject();
  if (port.watchdog_drop & bit) admission_.flush(p, q, Fate::kWatchdogDrop, now_ps);
  pauses_.watchdog_changed(p, now_ps);
  return true;
}

}  // namespace weft::fabric
