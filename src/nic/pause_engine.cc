#include "nic/pause_engine.h"

#include <algorithm>

#include "base/check.h"

namespace weft::nic {

using fabric::FlowControl;
using fabric::kAllClasses;
using fabric::PauseEnd;
using fabric::PauseRequest;

PauseEngine::PauseEngine(const DeviceConfig& config, fabric::LinkDirection& wire, PortSchedule& schedule,
                         ReceiveBuffer& buffer, Counters& counters)
    : qos_(config.qos),
      port_id_(config.port_id),
      wire_(wire),
      schedule_(schedule),
      buffer_(buffer),
      counters_(counters),
      transmit_control_(config.qos.flow_control, config.qos.pfc_mask, wire.timing().ps_per_byte),
      receive_control_(config.qos.flow_control, {0, 1, 2, 3, 4, 5, 6, 7}, config.qos.pause_quanta,
                       wire.timing().ps_per_byte, fabric::RefreshClock::kStartsOver),
      storm_classes_(config.storm_classes),
      storm_from_ps_(config.storm_from_ps),
      storm_until_ps_(config.storm_until_ps),
      link_down_ps_(config.link_down_ps) {
  WEFT_CHECK(std::is_sorted(link_down_ps_.begin(), link_down_ps_.end()), "the losses of a link are not in order");
  plan();
}

void PauseEngine::add_to_log(std::uint8_t classes, bool sent, PauseEnd what, Time_ps now_ps) {
  auto cause = buffer_.is_faulty(now_ps) ? fabric::NicPauseCause::kSlowMemory : fabric::NicPauseCause::kReceiveBuffer;
  if (storm_ != 0 && (classes & ~receive_control_.held()) != 0) cause = fabric::NicPauseCause::kStorm;
  for (std::uint8_t c = 0; c < fabric::kPauseClasses; ++c) {
    if (classes >> c & 1) log_.add({now_ps, 0, c, sent, what, cause});
  }
}

void PauseEngine::changed(std::uint8_t before, PauseEnd end, Time_ps now_ps) {
  const std::uint8_t after = transmit_control_.blocked();
  schedule_.set_blocked(after);
  add_to_log(static_cast<std::uint8_t>(before & ~after), false, end, now_ps);
  add_to_log(static_cast<std::uint8_t>(after & ~before), false, PauseEnd::kStart, now_ps);
}

void PauseEngine::receive(PauseRequest request, Time_ps now_ps) {
  pass_link_downs(now_ps);
  const std::uint8_t before = transmit_control_.blocked();
  transmit_control_.receive(request, now_ps);
  changed(before, PauseEnd::kXon, now_ps);
  plan();
}

void PauseEngine::send(PauseRequest request, Time_ps now_ps) {
  if (request.is_empty()) return;
  WEFT_CHECK((request.xoff & request.xon) == 0, "a pause frame stops and releases one class");
  engine::Packet packet = fabric::pause_packet(qos_.flow_control, request, port_id_);
  const Time_ps start_ps = std::max(now_ps, schedule_.free_ps());
  schedule_.delay_turns(start_ps + wire_.send_pause(packet, start_ps));
  receive_control_.count_sent(request);
  for (std::size_t c = 0; c < fabric::kPauseClasses; ++c) counters_.tx_pause[c] = receive_control_.frames(c);
}

void PauseEngine::hold(std::uint32_t received_class, Time_ps now_ps) {
  if (qos_.flow_control == FlowControl::kNone) return;
  WEFT_CHECK(received_class < fabric::kPauseClasses, "a packet of a class that no pause frame has");
  pass_link_downs(now_ps);
  const std::uint8_t classes = qos_.flow_control == FlowControl::kPause
                                   ? kAllClasses
                                   : static_cast<std::uint8_t>(qos_.pfc_mask & 1u << received_class);
  xon_check_ps_ = buffer_.drained_by_ps(now_ps);
  WEFT_CHECK(xon_check_ps_ >= now_ps, "the receive buffer was down to XON before it was above XOFF");
  const auto fresh = static_cast<std::uint8_t>(classes & ~receive_control_.held());
  add_to_log(static_cast<std::uint8_t>(fresh & ~storm_), true, PauseEnd::kStart, now_ps);
  send(receive_control_.hold(fresh, now_ps), now_ps);
  plan();
}

void PauseEngine::plan() {
  Time_ps due_ps = transmit_control_.next_expiry_ps();
  const std::uint8_t held = receive_control_.held();
  if (held != 0) due_ps = std::min(due_ps, std::min(xon_check_ps_, receive_control_.refresh_ps()));
  due_ps = std::min(due_ps, std::min(storm_from_ps_, storm_over_ps_));
  if (transmit_control_.blocked() != 0 || held != 0) due_ps = std::min(due_ps, next_link_down_ps());
  schedule_.set_pause_due(due_ps);
}

void PauseEngine::lose_link(Time_ps now_ps) {
  const std::uint8_t before = transmit_control_.blocked();
  transmit_control_.release_all(now_ps);
  WEFT_CHECK(transmit_control_.blocked() == 0, "a class is stopped by a peer that is not there");
  changed(before, PauseEnd::kLinkDown, now_ps);
  const std::uint8_t held = receive_control_.held();
  receive_control_.forget(held, now_ps);
  WEFT_CHECK(receive_control_.held() == 0, "a peer that is not there is stopped");
  hold_ended(held, PauseEnd::kLinkDown, now_ps);
}

void PauseEngine::hold_ended(std::uint8_t classes, PauseEnd end, Time_ps now_ps) {
  for (std::size_t c = 0; c < fabric::kPauseClasses; ++c) {
    WEFT_CHECK(receive_control_.ended_ps(c) >= counters_.tx_pause_ps[c], "the time in XOFF runs back");
    counters_.tx_pause_ps[c] = receive_control_.ended_ps(c);
  }
  add_to_log(static_cast<std::uint8_t>(classes & ~storm_), true, end, now_ps);
}

bool PauseEngine::on_due(Time_ps now_ps) {
  bool is_changed = false;
  while (next_link_down_ps() <= now_ps) {
    ++next_link_down_;
    lose_link(now_ps);
    is_changed = true;
  }
  if (transmit_control_.next_expiry_ps() <= now_ps) {
    const std::uint8_t before = transmit_control_.blocked();
    transmit_control_.expire(now_ps);
    WEFT_CHECK((transmit_control_.blocked() & ~before) == 0, "the end of a pause stops a class");
    changed(before, PauseEnd::kExpired, now_ps);
    is_changed = true;
  }
  check_buffer(now_ps);
  if (receive_control_.refresh_ps() <= now_ps) send(receive_control_.refresh(now_ps), now_ps);
  run_storm(now_ps);
  plan();
  WEFT_DCHECK(schedule_.pause_due_ps() > now_ps, "a pause engine that is due has done nothing");
  return is_changed;
}

// XON is due when the receive buffer is down to its threshold.
void PauseEngine::check_buffer(Time_ps now_ps) {
  const std::uint8_t held = receive_control_.held();
  if (held == 0 || xon_check_ps_ > now_ps) return;
  buffer_.apply_fault(now_ps);
  if (buffer_.is_drained(now_ps)) {
    release_peer(held, now_ps);
  } else {
    xon_check_ps_ = buffer_.drained_by_ps(now_ps);
  }
}

void PauseEngine::run_storm(Time_ps now_ps) {
  const Time_ps half_ps = receive_control_.refresh_interval_ps();
  if (storm_from_ps_ <= now_ps) {
    const std::uint8_t classes = qos_.flow_control == FlowControl::kPause ? kAllClasses : storm_classes_;
    const auto fresh = static_cast<std::uint8_t>(classes & ~storm_ & ~receive_control_.held());
    storm_ = classes;
    add_to_log(fresh, true, PauseEnd::kStart, now_ps);
    send({classes, 0, qos_.pause_quanta}, now_ps);
    const bool goes_on = now_ps + half_ps < storm_until_ps_;
    storm_from_ps_ = goes_on ? now_ps + half_ps : kNever_ps;
    if (!goes_on) storm_over_ps_ = now_ps + 2 * half_ps;  // nobody sends XON: the last one runs out
  }
  if (storm_over_ps_ <= now_ps) {
    add_to_log(static_cast<std::uint8_t>(storm_ & ~receive_control_.held()), true, PauseEnd::kExpired, now_ps);
    storm_ = 0;
    storm_over_ps_ = kNever_ps;
  }
}

void PauseEngine::listen_to(std::uint8_t classes, Time_ps now_ps) {
  const std::uint8_t before = transmit_control_.blocked();
  transmit_control_.listen_to(classes, now_ps);
  WEFT_CHECK((transmit_control_.blocked() & ~classes) == 0, "a class is stopped that listens to no pause");
  changed(before, PauseEnd::kXon, now_ps);
  plan();
}

void PauseEngine::release_peer(std::uint8_t classes, Time_ps now_ps) {
  const auto held = static_cast<std::uint8_t>(receive_control_.held() & classes);
  if (held == 0) return;
  const PauseRequest request = receive_control_.release(held, now_ps);
  WEFT_CHECK((receive_control_.held() & held) == 0, "a class is released and still held");
  hold_ended(held, PauseEnd::kXon, now_ps);
  send(request, now_ps);
}

void PauseEngine::set_storm(std::uint8_t classes, Time_ps from_ps, Time_ps until_ps) {
  // One that goes on sends no more; its last pause runs out.
  if (classes == 0 && storm_ != 0) storm_over_ps_ = from_ps + 2 * receive_control_.refresh_interval_ps();
  if (classes != 0) storm_classes_ = classes;
  storm_from_ps_ = classes == 0 ? kNever_ps : from_ps;
  storm_until_ps_ = until_ps;
  plan();
}

}  // namespace weft::nic
