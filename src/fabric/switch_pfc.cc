// PFC and 802.3x at a switch (802.1Qbb 36, 802.3 31B): pauses that its groups send, and those that its peers send.
#include <algorithm>

#include "fabric/switch.h"

namespace weft::fabric {

using engine::Packet;
using engine::PauseRequest;

std::uint8_t Switch::classes_of_groups(std::uint8_t groups) const {
  if (setup_.qos.flow_control == FlowControl::kPause) return groups == 0 ? 0 : 0xff;
  std::uint8_t classes = 0;
  for (std::uint32_t g = 0; g < kClasses; ++g) {
    if (groups >> g & 1) classes |= static_cast<std::uint8_t>(1u << setup_.qos.pause_of_group[g]);
  }
  return classes;
}

// A MAC control frame waits for the frame in flight and for nothing else.
void Switch::send_pause(std::uint32_t p, PauseRequest request, Time_ps now_ps) {
  Port& port = ports_[p];
  Packet packet;
  packet.src = setup_.ports[p].port_id & engine::kPortMask;
  packet.opcode = engine::kPauseOpcode;
  packet.dest_qp = setup_.qos.flow_control == FlowControl::kPause ? 1 : 0;
  packet.aux = request.word();
  Time_ps start_ps = std::max(now_ps, port.free_ps);
  port.free_ps = start_ps + port.out->send_pause(packet, start_ps);
  for (std::uint32_t c = 0; c < kClasses; ++c) {
    if ((request.xoff | request.xon) >> c & 1) ++ports_[p].counters.pause_tx[c];
  }
}

void Switch::send_xoff(std::uint32_t p, std::uint32_t slice, std::uint32_t g, Time_ps now_ps) {
  Port& port = ports_[p];
  // On a link that is down nobody would hear it; what comes in once it is up asks again.
  if (setup_.qos.flow_control == FlowControl::kNone || port.down) return;
  auto slice_bit = static_cast<std::uint8_t>(1u << slice);
  if (xoff_slices_[p][g] & slice_bit) return;
  xoff_slices_[p][g] |= slice_bit;
  if (port.xoff >> g & 1) return;
  port.xoff |= static_cast<std::uint8_t>(1u << g);
  xoff_since_ps_[p][g] = now_ps;
  std::uint8_t pause_class = setup_.qos.pause_of_group[g];
  ++ports_[p].counters.xoff_tx[pause_class];
  pause_log_.add({now_ps, p, pause_class, true, PauseEnd::kStart});
  send_pause(p, {classes_of_groups(static_cast<std::uint8_t>(1u << g)), 0, setup_.qos.pause_quanta}, now_ps);
  if (port.refresh_timer_ps == kNever_ps) {
    port.refresh_timer_ps = now_ps + pause_refresh_ps(setup_.qos.pause_quanta, port.out->timing().ps_per_byte);
    add_timer(port.refresh_timer_ps, TimerKind::kRefresh, p);
  }
}

void Switch::refresh(std::uint32_t p, Time_ps now_ps) {
  Port& port = ports_[p];
  port.refresh_timer_ps = kNever_ps;
  if (port.xoff == 0 || port.down) return;
  send_pause(p, {classes_of_groups(port.xoff), 0, setup_.qos.pause_quanta}, now_ps);
  port.refresh_timer_ps = now_ps + pause_refresh_ps(setup_.qos.pause_quanta, port.out->timing().ps_per_byte);
  add_timer(port.refresh_timer_ps, TimerKind::kRefresh, p);
}

void Switch::maybe_send_xon(std::uint32_t p, std::uint32_t slice, std::uint32_t g, Time_ps now_ps) {
  auto slice_bit = static_cast<std::uint8_t>(1u << slice);
  if ((xoff_slices_[p][g] & slice_bit) == 0 || !buffer_.is_below_xon(slice, p, g)) return;
  xoff_slices_[p][g] = static_cast<std::uint8_t>(xoff_slices_[p][g] & ~slice_bit);
  if (xoff_slices_[p][g] != 0) return;
  end_xoff(p, g, PauseEnd::kXon, now_ps);
  // 802.3x releases the whole link only when no group is left.
  if (setup_.qos.flow_control == FlowControl::kPause && ports_[p].xoff != 0) return;
  send_pause(p, {0, classes_of_groups(static_cast<std::uint8_t>(1u << g)), 0}, now_ps);
}

void Switch::end_xoff(std::uint32_t p, std::uint32_t g, PauseEnd end, Time_ps now_ps) {
  Port& port = ports_[p];
  port.xoff = static_cast<std::uint8_t>(port.xoff & ~(1u << g));
  xoff_slices_[p][g] = 0;
  std::uint8_t pause_class = setup_.qos.pause_of_group[g];
  ports_[p].counters.pause_tx_ps[pause_class] += now_ps - xoff_since_ps_[p][g];
  pause_log_.add({now_ps, p, pause_class, true, end});
}

Time_ps Switch::pause_tx_ps(std::uint32_t port, std::uint32_t pause_class, Time_ps now_ps) const {
  Time_ps time_ps = ports_[port].counters.pause_tx_ps[pause_class];
  for (std::uint32_t g = 0; g < kClasses; ++g) {
    if ((ports_[port].xoff >> g & 1) != 0 && setup_.qos.pause_of_group[g] == pause_class)
      time_ps += now_ps - xoff_since_ps_[port][g];
  }
  return time_ps;
}

void Switch::receive_pause(std::uint32_t p, const Packet& packet, Time_ps now_ps) {
  Port& port = ports_[p];
  port.in->tap(packet);
  ++ports_[p].counters.pause_rx_frames;
  std::uint8_t honoured = 0;
  if (setup_.qos.flow_control == FlowControl::kPfc) honoured = setup_.qos.pfc_receive_mask;
  if (setup_.qos.flow_control == FlowControl::kPause) honoured = 0xff;  // the whole link
  std::uint8_t before = pauses_[p].paused();
  PauseRequest request = PauseRequest::of(packet.aux);
  for (std::uint32_t c = 0; c < kClasses && !watch_.empty(); ++c) {
    if (request.xoff >> c & 1) watch_[p][setup_.qos.queue_of_pause[c]].last_pause_ps = now_ps;
  }
  pauses_[p].apply(request, honoured, now_ps, engine::pause_quantum_ps(port.out->timing().ps_per_byte));
  pauses_changed(p, before, PauseEnd::kXon, now_ps);
  if (pauses_[p].next_expiry_ps() < port.expiry_timer_ps) {
    port.expiry_timer_ps = pauses_[p].next_expiry_ps();
    add_timer(port.expiry_timer_ps, TimerKind::kPauseExpiry, p);
  }
  if (setup_.qos.watchdog.enabled && pauses_[p].paused() != 0) arm_watchdog(now_ps);
}

void Switch::expire_pauses(std::uint32_t p, Time_ps now_ps) {
  Port& port = ports_[p];
  port.expiry_timer_ps = kNever_ps;
  if (pauses_[p].next_expiry_ps() <= now_ps) {
    std::uint8_t before = pauses_[p].paused();
    pauses_[p].expire(now_ps);
    pauses_changed(p, before, PauseEnd::kExpired, now_ps);
  }
  if (pauses_[p].next_expiry_ps() != kNever_ps) {
    port.expiry_timer_ps = pauses_[p].next_expiry_ps();
    add_timer(port.expiry_timer_ps, TimerKind::kPauseExpiry, p);
  }
}

// The set of stopped classes has changed: notes it, and starts what may go again.
void Switch::pauses_changed(std::uint32_t p, std::uint8_t before, PauseEnd end, Time_ps now_ps) {
  Port& port = ports_[p];
  std::uint8_t after = pauses_[p].paused();
  std::uint8_t queues = 0;
  for (std::uint32_t c = 0; c < kClasses; ++c) {
    if (after >> c & 1) queues |= static_cast<std::uint8_t>(1u << setup_.qos.queue_of_pause[c]);
    if ((before ^ after) >> c & 1) {
      bool starts = (after >> c & 1) != 0;
      pause_log_.add({now_ps, p, static_cast<std::uint8_t>(c), false, starts ? PauseEnd::kStart : end});
    }
  }
  port.paused = static_cast<std::uint8_t>(queues & ~port.deaf & ~port.dead);
  if (port.service_ps == kNever_ps && (port.waiting & ~port.paused) != 0)
    plan_service(p, std::max(now_ps, port.free_ps));
}

}  // namespace weft::fabric
