#include "fabric/switch/pause_engine.h"

#include <algorithm>

#include "base/check.h"

namespace weft::fabric {

using engine::Packet;

PauseEngine::PauseEngine(const SwitchSetup& setup, std::vector<SwitchPort>& ports, ServicePlan& plan,
                         SwitchTimers& timers, SwitchRecords& records)
    : setup_(setup),
      ports_(ports),
      plan_(plan),
      timers_(timers),
      records_(records),
      classes_(setup.ports.size(), kAllClasses),
      transmit_(setup.ports.size()),
      receive_(setup.ports.size()),
      xoff_slices_(setup.ports.size()) {}

void PauseEngine::attach(std::uint32_t port, const LinkTiming& timing) {
  const SwitchQos& qos = setup_.qos;
  transmit_[port] = {qos.flow_control, qos.pfc_receive_mask, timing.ps_per_byte};
  receive_[port] = {qos.flow_control, qos.pause_of_group, qos.pause_quanta, timing.ps_per_byte, RefreshClock::kRunsOn};
}

// A MAC control frame waits for the frame in flight and for nothing else.
void PauseEngine::send(std::uint32_t p, PauseRequest request, Time_ps now_ps) {
  if (request.is_empty()) return;
  SwitchPort& port = ports_[p];
  Packet packet = pause_packet(setup_.qos.flow_control, request, setup_.ports[p].port_id);
  const Time_ps start_ps = std::max(now_ps, port.free_ps);
  port.free_ps = start_ps + port.out->send_pause(packet, start_ps);
  receive_[p].count_sent(request);
}

void PauseEngine::send_xoff(std::uint32_t p, std::uint32_t slice, std::uint32_t g, Time_ps now_ps) {
  SwitchPort& port = ports_[p];
  // On a link that is down no one would receive it; what comes in once it is up asks again.
  if (setup_.qos.flow_control == FlowControl::kNone || port.down) return;
  if ((classes_[p] >> setup_.qos.pause_of_group[g] & 1) == 0) return;  // switched off
  WEFT_CHECK(slice < 8, "a buffer has at most eight slices");
  const auto slice_bit = static_cast<std::uint8_t>(1u << slice);
  if (xoff_slices_[p][g] & slice_bit) return;
  xoff_slices_[p][g] |= slice_bit;
  ReceiveControl& control = receive_[p];
  if (control.held() >> g & 1) return;
  const bool planned = control.refresh_ps() != kNever_ps;
  const PauseRequest request = control.hold(static_cast<std::uint8_t>(1u << g), now_ps);
  set_xoff(port, control.held());
  records_.group_pause_begins(p, g, now_ps);
  send(p, request, now_ps);
  if (!planned) timers_.add(control.refresh_ps(), TimerKind::kRefresh, p);
}

void PauseEngine::refresh(std::uint32_t p, Time_ps now_ps) {
  ReceiveControl& control = receive_[p];
  send(p, control.refresh(now_ps), now_ps);
  if (control.refresh_ps() != kNever_ps) timers_.add(control.refresh_ps(), TimerKind::kRefresh, p);
}

void PauseEngine::send_xon(std::uint32_t p, std::uint32_t slice, std::uint32_t g, Time_ps now_ps) {
  const auto slice_bit = static_cast<std::uint8_t>(1u << slice);
  if ((xoff_slices_[p][g] & slice_bit) == 0) return;
  xoff_slices_[p][g] = static_cast<std::uint8_t>(xoff_slices_[p][g] & ~slice_bit);
  if (xoff_slices_[p][g] != 0) return;
  const PauseRequest request = receive_[p].release(static_cast<std::uint8_t>(1u << g), now_ps);
  end_xoff(p, g, PauseEnd::kXon, now_ps);
  send(p, request, now_ps);
}

// The group no longer holds the peer.
void PauseEngine::end_xoff(std::uint32_t p, std::uint32_t g, PauseEnd end, Time_ps now_ps) {
  set_xoff(ports_[p], receive_[p].held());
  xoff_slices_[p][g] = 0;
  records_.pause_ends(p, setup_.qos.pause_of_group[g], true, end, now_ps);
}

void PauseEngine::handle(std::uint32_t p, PauseRequest request, Time_ps now_ps) {
  TransmitControl& control = transmit_[p];
  const std::uint8_t before = control.blocked();
  control.receive(request, now_ps);
  changed(p, before, PauseEnd::kXon, now_ps);
  if (control.next_expiry_ps() < ports_[p].expiry_timer_ps) plan_expiry(p);
}

void PauseEngine::plan_expiry(std::uint32_t p) {
  ports_[p].expiry_timer_ps = transmit_[p].next_expiry_ps();
  timers_.add(ports_[p].expiry_timer_ps, TimerKind::kPauseExpiry, p);
}

void PauseEngine::expire(std::uint32_t p, Time_ps now_ps) {
  TransmitControl& control = transmit_[p];
  ports_[p].expiry_timer_ps = kNever_ps;
  if (control.next_expiry_ps() <= now_ps) {
    const std::uint8_t before = control.blocked();
    control.expire(now_ps);
    changed(p, before, PauseEnd::kExpired, now_ps);
  }
  WEFT_CHECK(control.next_expiry_ps() > now_ps, "a pause that is over has ended");
  if (control.next_expiry_ps() != kNever_ps) plan_expiry(p);
}

// The set of stopped classes has changed: notes it, and starts what may go again.
void PauseEngine::changed(std::uint32_t p, std::uint8_t before, PauseEnd end, Time_ps now_ps) {
  SwitchPort& port = ports_[p];
  const std::uint8_t after = transmit_[p].blocked();
  std::uint8_t queues = 0;
  for (std::uint32_t c = 0; c < kClasses; ++c) {
    const bool is_stopped = (after >> c & 1) != 0;
    if (is_stopped) queues |= static_cast<std::uint8_t>(1u << setup_.qos.queue_of_pause[c]);
    if (((before ^ after) >> c & 1) == 0) continue;
    if (is_stopped) {
      records_.pause_begins(p, static_cast<std::uint8_t>(c), false, now_ps);
    } else {
      records_.pause_ends(p, static_cast<std::uint8_t>(c), false, end, now_ps);
    }
  }
  port.set_paused(queues);
  if (port.service_ps == kNever_ps && port.has_eligible()) plan_.add(port, std::max(now_ps, port.free_ps));
}

// A port that goes down forgets every pause on its link.
void PauseEngine::link_goes_down(std::uint32_t p, Time_ps now_ps) {
  const std::uint8_t before = transmit_[p].blocked();
  transmit_[p].release_all(now_ps);
  changed(p, before, PauseEnd::kLinkDown, now_ps);
  const std::uint8_t held = receive_[p].held();
  receive_[p].forget(held, now_ps);
  for (std::uint32_t g = 0; g < kClasses; ++g) {
    if (held >> g & 1) end_xoff(p, g, PauseEnd::kLinkDown, now_ps);
  }
}

// Stopped classes are released: by a last XON where this port stops its peer, without a frame where the peer stops it.
void PauseEngine::set_classes(std::uint32_t port, std::uint8_t classes, Time_ps now_ps) {
  classes_[port] = classes;
  for (std::uint32_t g = 0; g < kClasses; ++g) {
    const auto bit = static_cast<std::uint8_t>(1u << g);
    if ((receive_[port].held() & bit) == 0 || (classes >> setup_.qos.pause_of_group[g] & 1) != 0) continue;
    const PauseRequest request = receive_[port].release(bit, now_ps);
    end_xoff(port, g, PauseEnd::kXon, now_ps);
    send(port, request, now_ps);
  }
  const std::uint8_t before = transmit_[port].blocked();
  transmit_[port].listen_to(setup_.qos.pfc_receive_mask & classes, now_ps);
  changed(port, before, PauseEnd::kXon, now_ps);
}

Time_ps PauseEngine::queue_paused_ps(std::uint32_t p, std::uint32_t q, Time_ps now_ps) const {
  Time_ps longest_ps = 0;
  for (std::uint32_t c = 0; c < kClasses; ++c) {
    if (setup_.qos.queue_of_pause[c] == q) longest_ps = std::max(longest_ps, transmit_[p].total_ps(c, now_ps));
  }
  return longest_ps;
}

bool PauseEngine::is_consistent() const {
  std::uint32_t stopping = 0;
  for (const SwitchPort& port : ports_) {
    stopping += port.xoff != 0;
    if (port.xoff != receive_[port.number].held()) return false;
    for (std::uint32_t g = 0; g < kClasses; ++g) {
      if ((port.xoff >> g & 1) != (xoff_slices_[port.number][g] != 0)) return false;
    }
  }
  return stopping == xoff_ports_;
}

}  // namespace weft::fabric
