// Pauses at a NIC port: contexts of a stopped class are parked until it is released; a receive buffer that fills stops
// the peer (802.1Qbb 36, 802.3 31B).
#include "nic/device.h"
#include "nic/pcie_path.h"
#include "nic/transport.h"

namespace weft::nic {

using engine::Packet;
using fabric::FlowControl;
using fabric::kAllClasses;
using fabric::PauseRequest;

namespace {

// What the receive buffer holds, as the time that the link alone would take for it.
Time_ps receive_backlog_ps(const std::vector<PcieFunction>& functions, Time_ps now_ps) {
  if (functions.front().path() != nullptr) return pending_ps(functions, now_ps);
  Time_ps backlog_ps = 0;
  for (const PcieFunction& function : functions) backlog_ps = std::max(backlog_ps, function.write_backlog_ps(now_ps));
  return backlog_ps;
}

}  // namespace

bool Device::is_paused(std::uint32_t context) const {
  if (context == kCnpContext) return (blocked_ >> config_.qos.cnp_priority & 1) != 0;
  const QueuePair& qp = qps_[context / 2];
  std::uint32_t priority = qp.packet.priority;
  if (!qp.transport->connected && (context & 1) == 0 && qp.req.tx != qp.req.tail) {
    const SendRequest& request = qp.req.wqes[qp.req.tx & qp.req.mask].request;
    if (request.has_class) priority = class_to_send(request.tos, request.priority);
  }
  return (blocked_ >> priority & 1) != 0;
}

void Device::log_pauses(std::uint8_t classes, bool sent, fabric::PauseEnd what, Time_ps now_ps) {
  const bool slow = now_ps >= config_.slow_from_ps && now_ps < config_.slow_until_ps;
  auto cause = slow ? fabric::NicPauseCause::kSlowMemory : fabric::NicPauseCause::kReceiveBuffer;
  if (storm_ != 0 && (classes & ~receive_control_.held()) != 0) cause = fabric::NicPauseCause::kStorm;
  for (std::uint8_t c = 0; c < fabric::kPauseClasses; ++c) {
    if (classes >> c & 1) pause_log_.add({now_ps, 0, c, sent, what, cause});
  }
}

void Device::pauses_changed(std::uint8_t before, fabric::PauseEnd end, Time_ps now_ps) {
  std::uint8_t after = transmit_control_.blocked();
  blocked_ = after;
  log_pauses(static_cast<std::uint8_t>(before & ~after), false, end, now_ps);
  log_pauses(static_cast<std::uint8_t>(after & ~before), false, fabric::PauseEnd::kStart, now_ps);
  unpark(now_ps);
}

void Device::receive_pause(const Packet& packet, Time_ps now_ps) {
  while (next_link_down_ps() <= now_ps) ++next_link_down_;
  std::uint8_t before = transmit_control_.blocked();
  transmit_control_.receive(PauseRequest::of(packet), now_ps);
  in_.received.count(fabric::Fate::kPause);
  pauses_changed(before, fabric::PauseEnd::kXon, now_ps);
  plan_pauses();
}

// What is no longer stopped takes its place again, in the order in which it was parked.
void Device::unpark(Time_ps now_ps) {
  if (parked_.empty()) return;
  std::size_t left = 0;
  for (const Parked& parked : parked_) {
    if (is_paused(parked.context)) {
      parked_[left++] = parked;
    } else {
      (parked.control ? control_ : ready_).push(parked.context);
      if (parked.context != kCnpContext) qps_[parked.context / 2].wait = Wait::kPause;
      if (records_ && !parked.control) recorder_->resumed(parked.context, now_ps);
      service_by(now_ps);
    }
  }
  parked_.resize(left);
}

void Device::send_pause(PauseRequest request, Time_ps now_ps) {
  if (request.is_empty()) return;
  Packet packet = fabric::pause_packet(config_.qos.flow_control, request, config_.port_id);
  Time_ps start_ps = std::max(now_ps, free_ps_);
  free_ps_ = start_ps + wire_.send_pause(packet, start_ps);
  if (service_ps_ != kNever_ps) service_ps_ = std::max(service_ps_, free_ps_);
  receive_control_.count_sent(request);
  for (std::size_t c = 0; c < fabric::kPauseClasses; ++c) counters.tx_pause[c] = receive_control_.frames(c);
}

// A fault: for a time the host's memory takes less than PCIe could bring.
void Device::slow_down(Time_ps now_ps) {
  bool slow = now_ps >= config_.slow_from_ps && now_ps < config_.slow_until_ps;
  for (PcieFunction& function : card_.functions) {
    std::int64_t permille = PcieFunction::kUnslowed;
    constexpr std::uint32_t kSample_B = 4096;
    if (slow)
      permille = std::max(
          permille, PcieFunction::kUnslowed * kSample_B * config_.slow_ps_per_byte / function.transfer_ps(kSample_B));
    if (function.slow_permille() != permille) function.slow_writes(permille, now_ps);
  }
}

// XON is due when the receive buffer is down to its threshold; a fault that ends meanwhile brings that forward. By
// paths it may take longer than planned here, but not less than the link alone takes, nor than the next write.
void Device::plan_xon(Time_ps now_ps) {
  xoff_check_ps_ = now_ps;
  if (functions_->path() == nullptr) {
    for (const PcieFunction& function : card_.functions)
      xoff_check_ps_ = std::max(xoff_check_ps_, function.drained_to_ps(rx_xon_ps_));
  } else {
    const Time_ps link_ps = now_ps + pending_ps(card_.functions, now_ps) - rx_xon_ps_;
    Time_ps next_ps = kNever_ps;
    for (const PcieFunction& function : card_.functions)
      next_ps = std::min(next_ps, function.path()->pending().next_end_ps());
    xoff_check_ps_ = std::max({now_ps, link_ps, next_ps == kNever_ps ? now_ps : next_ps});
  }
  if (config_.slow_until_ps > now_ps) xoff_check_ps_ = std::min(xoff_check_ps_, config_.slow_until_ps);
}

// More payload waits for PCIe than the threshold allows: the class that brought it is stopped.
void Device::hold_peer(const Packet& packet, Time_ps now_ps) {
  if (config_.qos.flow_control == FlowControl::kNone) return;
  while (next_link_down_ps() <= now_ps) ++next_link_down_;
  std::uint8_t classes = config_.qos.flow_control == FlowControl::kPause
                             ? kAllClasses
                             : static_cast<std::uint8_t>(config_.qos.pfc_mask & 1u << class_received(packet));
  plan_xon(now_ps);
  auto fresh = static_cast<std::uint8_t>(classes & ~receive_control_.held());
  log_pauses(static_cast<std::uint8_t>(fresh & ~storm_), true, fabric::PauseEnd::kStart, now_ps);
  send_pause(receive_control_.hold(fresh, now_ps), now_ps);
  plan_pauses();
}

void Device::plan_pauses() {
  pause_due_ps_ = transmit_control_.next_expiry_ps();
  std::uint8_t held = receive_control_.held();
  if (held != 0) pause_due_ps_ = std::min(pause_due_ps_, std::min(xoff_check_ps_, receive_control_.refresh_ps()));
  pause_due_ps_ = std::min(pause_due_ps_, std::min(config_.storm_from_ps, storm_over_ps_));
  if (transmit_control_.blocked() != 0 || held != 0) pause_due_ps_ = std::min(pause_due_ps_, next_link_down_ps());
}

Time_ps Device::pause_tx_ps(std::size_t pause_class, Time_ps now_ps) const {
  return receive_control_.total_ps(pause_class, now_ps);
}

Time_ps Device::next_link_down_ps() const {
  return next_link_down_ < config_.link_down_ps.size() ? config_.link_down_ps[next_link_down_] : kNever_ps;
}

// The signal is lost: both directions forget that they were stopped.
void Device::lose_link(Time_ps now_ps) {
  std::uint8_t before = transmit_control_.blocked();
  transmit_control_.release_all(now_ps);
  pauses_changed(before, fabric::PauseEnd::kLinkDown, now_ps);
  std::uint8_t held = receive_control_.held();
  receive_control_.forget(held, now_ps);
  hold_ended(held, fabric::PauseEnd::kLinkDown, now_ps);
}

void Device::hold_ended(std::uint8_t classes, fabric::PauseEnd end, Time_ps now_ps) {
  for (std::size_t c = 0; c < fabric::kPauseClasses; ++c) counters.tx_pause_ps[c] = receive_control_.ended_ps(c);
  log_pauses(static_cast<std::uint8_t>(classes & ~storm_), true, end, now_ps);
}

void Device::on_pause_due(Time_ps now_ps) {
  while (next_link_down_ps() <= now_ps) {
    ++next_link_down_;
    lose_link(now_ps);
  }
  if (transmit_control_.next_expiry_ps() <= now_ps) {
    std::uint8_t before = transmit_control_.blocked();
    transmit_control_.expire(now_ps);
    pauses_changed(before, fabric::PauseEnd::kExpired, now_ps);
  }
  std::uint8_t held = receive_control_.held();
  if (held != 0 && xoff_check_ps_ <= now_ps) {
    if (config_.slow_ps_per_byte > 0) slow_down(now_ps);
    if (receive_backlog_ps(card_.functions, now_ps) <= rx_xon_ps_) {
      PauseRequest request = receive_control_.release(held, now_ps);
      hold_ended(held, fabric::PauseEnd::kXon, now_ps);
      send_pause(request, now_ps);
    } else {
      plan_xon(now_ps);
    }
  }
  if (receive_control_.refresh_ps() <= now_ps) send_pause(receive_control_.refresh(now_ps), now_ps);
  Time_ps half_ps = receive_control_.refresh_interval_ps();
  if (config_.storm_from_ps <= now_ps) {
    std::uint8_t classes = config_.qos.flow_control == FlowControl::kPause ? kAllClasses : config_.storm_classes;
    const auto fresh = static_cast<std::uint8_t>(classes & ~storm_ & ~receive_control_.held());
    storm_ = classes;
    log_pauses(fresh, true, fabric::PauseEnd::kStart, now_ps);
    send_pause({classes, 0, config_.qos.pause_quanta}, now_ps);
    bool goes_on = now_ps + half_ps < config_.storm_until_ps;
    config_.storm_from_ps = goes_on ? now_ps + half_ps : kNever_ps;
    if (!goes_on) storm_over_ps_ = now_ps + 2 * half_ps;  // nobody sends XON: the last one runs out
  }
  if (storm_over_ps_ <= now_ps) {
    log_pauses(static_cast<std::uint8_t>(storm_ & ~receive_control_.held()), true, fabric::PauseEnd::kExpired, now_ps);
    storm_ = 0;
    storm_over_ps_ = kNever_ps;
  }
  plan_pauses();
}

}  // namespace weft::nic
