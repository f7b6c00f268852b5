// PFC and 802.3x at a switch (802.1Qbb 36, 802.3 31B): pauses that its groups send, and those that its peers send.
#include <algorithm>

#include "fabric/switch.h"

namespace weft::fabric {

using engine::Packet;
// A MAC control frame waits for the frame in flight and for nothing else.
void Switch::send_pause(std::uint32_t p, PauseRequest request, Time_ps now_ps) {
  if (request.is_empty()) return;
  Port& port = ports_[p];
  Packet packet = pause_packet(setup_.qos.flow_control, request, setup_.ports[p].port_id);
  Time_ps start_ps = std::max(now_ps, port.free_ps);
  port.free_ps = start_ps + port.out->send_pause(packet, start_ps);
  receive_control_[p].count_sent(request);
}

void Switch::send_xoff(std::uint32_t p, std::uint32_t slice, std::uint32_t g, Time_ps now_ps) {
  Port& port = ports_[p];
  // On a link that is down nobody would hear it; what comes in once it is up asks again.
  if (setup_.qos.flow_control == FlowControl::kNone || port.down) return;
  if ((pfc_[p] >> setup_.qos.pause_of_group[g] & 1) == 0) return;  // switched off
  auto slice_bit = static_cast<std::uint8_t>(1u << slice);
  if (xoff_slices_[p][g] & slice_bit) return;
  xoff_slices_[p][g] |= slice_bit;
  ReceiveControl& control = receive_control_[p];
  if (control.held() >> g & 1) return;
  bool planned = control.refresh_ps() != kNever_ps;
  PauseRequest request = control.hold(static_cast<std::uint8_t>(1u << g), now_ps);
  set_xoff(port, control.held());
  PauseEvent event{now_ps, p, setup_.qos.pause_of_group[g], true, PauseEnd::kStart};
  if (setup_.record) record_cause(event, p, g);
  pause_log_.add(event);
  send_pause(p, request, now_ps);
  if (!planned) add_timer(control.refresh_ps(), TimerKind::kRefresh, p);
}

void Switch::refresh(std::uint32_t p, Time_ps now_ps) {
  ReceiveControl& control = receive_control_[p];
  send_pause(p, control.refresh(now_ps), now_ps);
  if (control.refresh_ps() != kNever_ps) add_timer(control.refresh_ps(), TimerKind::kRefresh, p);
}

void Switch::maybe_send_xon(std::uint32_t p, std::uint32_t slice, std::uint32_t g, Time_ps now_ps) {
  auto slice_bit = static_cast<std::uint8_t>(1u << slice);
  if ((xoff_slices_[p][g] & slice_bit) == 0 || !buffer_.is_below_xon(slice, p, g)) return;
  xoff_slices_[p][g] = static_cast<std::uint8_t>(xoff_slices_[p][g] & ~slice_bit);
  if (xoff_slices_[p][g] != 0) return;
  PauseRequest request = receive_control_[p].release(static_cast<std::uint8_t>(1u << g), now_ps);
  end_xoff(p, g, PauseEnd::kXon, now_ps);
  send_pause(p, request, now_ps);
}

// The group no longer holds the peer.
void Switch::end_xoff(std::uint32_t p, std::uint32_t g, PauseEnd end, Time_ps now_ps) {
  set_xoff(ports_[p], receive_control_[p].held());
  xoff_slices_[p][g] = 0;
  pause_log_.add({now_ps, p, setup_.qos.pause_of_group[g], true, end});
}

void Switch::receive_pause(std::uint32_t p, const Packet& packet, Time_ps now_ps) {
  Port& port = ports_[p];
  port.in->tap(packet);
  ++ports_[p].counters.pause_rx_frames;
  TransmitControl& control = transmit_control_[p];
  std::uint8_t before = control.blocked();
  PauseRequest request = PauseRequest::of(packet);
  for (std::uint32_t c = 0; c < kClasses && !watch_.empty(); ++c) {
    if (request.xoff >> c & 1) watch_[p][setup_.qos.queue_of_pause[c]].last_pause_ps = now_ps;
  }
  control.receive(request, now_ps);
  pauses_changed(p, before, PauseEnd::kXon, now_ps);
  if (control.next_expiry_ps() < port.expiry_timer_ps) {
    port.expiry_timer_ps = control.next_expiry_ps();
    add_timer(port.expiry_timer_ps, TimerKind::kPauseExpiry, p);
  }
  if (setup_.qos.watchdog.enabled && control.blocked() != 0) arm_watchdog(now_ps);
}

void Switch::expire_pauses(std::uint32_t p, Time_ps now_ps) {
  Port& port = ports_[p];
  TransmitControl& control = transmit_control_[p];
  port.expiry_timer_ps = kNever_ps;
  if (control.next_expiry_ps() <= now_ps) {
    std::uint8_t before = control.blocked();
    control.expire(now_ps);
    pauses_changed(p, before, PauseEnd::kExpired, now_ps);
  }
  if (control.next_expiry_ps() != kNever_ps) {
    port.expiry_timer_ps = control.next_expiry_ps();
    add_timer(port.expiry_timer_ps, TimerKind::kPauseExpiry, p);
  }
}

// The set of stopped classes has changed: notes it, and starts what may go again.
void Switch::pauses_changed(std::uint32_t p, std::uint8_t before, PauseEnd end, Time_ps now_ps) {
  Port& port = ports_[p];
  std::uint8_t after = transmit_control_[p].blocked();
  std::uint8_t queues = 0;
  for (std::uint32_t c = 0; c < kClasses; ++c) {
    if (after >> c & 1) queues |= static_cast<std::uint8_t>(1u << setup_.qos.queue_of_pause[c]);
    if ((before ^ after) >> c & 1) {
      bool starts = (after >> c & 1) != 0;
      pause_log_.add({now_ps, p, static_cast<std::uint8_t>(c), false, starts ? PauseEnd::kStart : end});
    }
  }
  port.paused = static_cast<std::uint8_t>(queues & ~port.ignore_pause & ~port.watchdog_drop);
  port.closed = port.paused | port.reject;
  if (port.service_ps == kNever_ps && (port.waiting & ~port.paused) != 0)
    plan_service(port, std::max(now_ps, port.free_ps));
}

}  // namespace weft::fabric
