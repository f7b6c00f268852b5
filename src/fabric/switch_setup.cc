// Set-up and rare events of a switch: construction, timers, links that go down, changes while the world runs, and what
// is read out at the end.
#include <algorithm>

#include "base/check.h"
#include "fabric/switch.h"

namespace weft::fabric {

namespace {

constexpr std::uint32_t kEthernet_B = 14 + 4 + 4;  // header, tag and FCS around the IP packet

}  // namespace

Switch::Switch(SwitchSetup setup, engine::Domain& domain)
    : ports_(setup.ports.size()),
      wires_(std::make_unique<Wires[]>(setup.ports.size())),
      more_inbox_(setup.ports.empty() ? 0 : (setup.ports.size() - 1) / 64),
      setup_(std::move(setup)),
      classifier_(setup_.qos),
      scheduler_(setup_.qos),
      admission_(setup_, ports_, classifier_, plan_, pauses_, records_),
      records_(setup_, ports_, admission_.waiting(), domain),
      pauses_(setup_, ports_, plan_, timers_, records_),
      router_(setup_, ports_, classifier_, timers_, ways_),
      watchdog_(setup_, ports_, admission_, pauses_, timers_, records_),
      cpu_(setup_.model.cpu_packets_per_s, timers_),
      domain_(domain),
      node_(domain.add_node({this, &Switch::run_hook})) {
  passes_B_ = UINT32_MAX;
  for (std::uint32_t p = 0; p < ports_.size(); ++p) {
    ports_[p].number = static_cast<std::uint16_t>(p);
    ports_[p].longest_B = static_cast<std::uint32_t>(setup_.ports[p].mtu_B) + kEthernet_B;
    passes_B_ = std::min(passes_B_, ports_[p].longest_B + kLineGap_B);
  }
  if (setup_.forwarder) software_ = std::make_unique<SoftwarePath>(setup_, ports_, timers_, records_);
  if (!setup_.link_changes.empty()) timers_.add(setup_.link_changes.front().time_ps, TimerKind::kLink, 0);
}

void Switch::attach(std::uint32_t port, LinkDirection& out, LinkDirection& in) {
  WEFT_CHECK(port < ports_.size() && ports_[port].out == nullptr, "a port of this switch has one cable");
  ports_[port].out = &out;
  ports_[port].in = &in;
  ports_[port].outbound = out.outlet().inlet();
  const LinkTiming& timing = out.timing();
  WEFT_CHECK(timing.ps_per_byte > 0, "a byte takes time on a cable");
  ports_[port].delay_ps = timing.flight_ps + timing.pipeline_ps;
  ports_[port].ps_per_byte = static_cast<std::uint32_t>(timing.ps_per_byte);
  ports_[port].cut_ps = timing.cut_through_B == 0 ? kNever_ps : Time_ps{timing.cut_through_B} * timing.ps_per_byte;
  const void* outbound = out.outlet().inlet();
  wires_[port] = {in.inlet(), outbound != nullptr ? outbound : &out};
  pauses_.attach(port, timing);
}

// A faulty cable holds frames back: one timer for the first of them, however many are sent meanwhile.
void Switch::plan_release(std::uint32_t port) {
  const Time_ps next_ps = ports_[port].out->next_release_ps();
  if (next_ps >= ports_[port].release_timer_ps) return;
  ports_[port].release_timer_ps = next_ps;
  timers_.add(next_ps, TimerKind::kRelease, port);
}

void Switch::run_timer(SwitchVisit& visit) {
  const SwitchTimer timer = timers_.take();
  const Time_ps now_ps = timer.time_ps;
  // Planned changes of the fabric do not keep a world awake that has come to rest.
  if (timer.kind != TimerKind::kRoutes && timer.kind != TimerKind::kLink) last_event_ps_ = now_ps;
  ++events_;
  switch (timer.kind) {
    case TimerKind::kRoutes:
      router_.start_next_epoch();
      visit.take_back();  // what was found out in this visit is out of date
      break;
    case TimerKind::kLink:
      run_next_link_change();
      break;
    case TimerKind::kPauseExpiry:
      pauses_.expire(timer.port, now_ps);
      break;
    case TimerKind::kRefresh:
      pauses_.refresh(timer.port, now_ps);
      break;
    case TimerKind::kRelease: {
      SwitchPort& port = ports_[timer.port];
      if (port.release_timer_ps == now_ps) port.release_timer_ps = kNever_ps;
      port.out->release(now_ps);
      plan_release(timer.port);
      break;
    }
    case TimerKind::kCpu: {
      ManagementCpu::Job job = cpu_.take(now_ps);
      forward(job.in, router_.route(job.packet, now_ps), job.packet, now_ps);
      cpu_.go_on();
      break;
    }
    case TimerKind::kWatchdog:
      watchdog_.poll(now_ps);
      break;
    case TimerKind::kInterrupt:
      software_->run_interrupt(timer.port, now_ps);
      break;
    case TimerKind::kSoftirq: {
      engine::Packet packet;
      std::uint32_t in = 0;
      software_->run_softirq(timer.port, packet, in, now_ps);
      dispatch(in, packet, now_ps);
      break;
    }
    case TimerKind::kTxCompletion:
      software_->complete(timer.port, now_ps);
      run_qdisc(timer.port, now_ps);
      software_->plan_completion(timer.port, now_ps);
      break;
  }
}

void Switch::run_next_link_change() {
  const LinkChange& change = setup_.link_changes[next_link_change_];
  change_link(change.port, change.up, change.time_ps);
  if (++next_link_change_ < setup_.link_changes.size())
    timers_.add(setup_.link_changes[next_link_change_].time_ps, TimerKind::kLink, 0);
}

// A port that goes down forgets what waits for it and every pause on its link.
void Switch::change_link(std::uint32_t port, bool up, Time_ps now_ps) {
  WEFT_CHECK(port < ports_.size(), "a link of this switch");
  ports_[port].down = !up;
  ports_[port].set_reject();
  records_.event(up ? SwitchEventKind::kLinkUp : SwitchEventKind::kLinkDown, port, 0, now_ps);
  if (up) return;
  for (std::uint32_t q = 0; q < kClasses; ++q) admission_.flush(port, q, Fate::kPortDown, now_ps);
  pauses_.link_goes_down(port, now_ps);
}

void Switch::set_link(std::uint32_t port, bool up, Time_ps now_ps) {
  if (ports_[port].down == !up) return;
  change_link(port, up, now_ps);
  domain_.wake(node_, now_ps);
}

void Switch::plan_routes(RouteEpoch epoch) {
  const Time_ps from_ps = epoch.from_ps;
  router_.plan(std::move(epoch));
  domain_.wake(node_, from_ps);
}

void Switch::set_ecn(std::uint32_t port, std::uint32_t queue, const EcnRamp& ramp) {
  admission_.marking().set_ramp(port, queue, ramp);
}

void Switch::set_alpha(std::uint32_t port, std::uint32_t number, std::int8_t of_queue, std::int8_t of_group) {
  admission_.buffer().set_alpha(port, number, of_queue, of_group);
}

void Switch::set_pfc(std::uint32_t port, std::uint8_t classes, Time_ps now_ps) {
  pauses_.set_classes(port, classes, now_ps);
  domain_.wake(node_, now_ps);
}

SwitchQos Switch::qos(std::uint32_t port) const {
  SwitchQos qos = setup_.qos;
  for (std::uint32_t c = 0; c < kClasses; ++c) {
    qos.queues[c].ecn = admission_.marking().ramp(port, c);
    qos.queues[c].alpha_exponent = buffer().queue_alpha(port, c);
    qos.groups[c].alpha_exponent = buffer().group_alpha(port, c);
  }
  return qos;
}

SwitchPortCounters Switch::counters(std::uint32_t port) const {
  SwitchPortCounters counters{ports_[port].counters, {}, {}, {}, {}, {}, {}};
  const ReceiveControl& control = pauses_.receive(port);
  for (std::size_t c = 0; c < kClasses; ++c) {
    const SwitchPort::Lane& lane = ports_[port].lanes[c];
    counters.rx[c] = ports_[port].ingress[classifier_.ingress(c)].rx;
    counters.tx[c] = lane.tx;
    counters.max_queue_B[c] = lane.max_queue_B;
    counters.pause_tx[c] = control.frames(c);
    counters.xoff_tx[c] = control.pauses(c);
    counters.pause_tx_ps[c] = control.ended_ps(c);
  }
  return counters;
}

bool Switch::balances() const {
  std::uint64_t came = 0;
  std::uint64_t went = held_packets() + cpu_.waiting();
  for (const SwitchPort& port : ports_) {
    came += port.received() + port.counters.replicas;
    went += port.sent();
    for (const std::uint64_t lost : port.counters.drops) went += lost;
  }
  return came == went;
}

bool Switch::is_consistent() const {
  return admission_.is_consistent() && pauses_.is_consistent() && plan_.is_sorted();
}

void Switch::settle_ledgers() {
  for (SwitchPort& port : ports_) {
    if (port.in == nullptr) continue;
    const std::uint64_t went = port.sent();
    port.out->sent.sent += went - port.ledgered;
    port.ledgered = went;
    Ledger& ledger = port.in->received;
    std::uint64_t lost = 0;
    for (std::size_t f = 0; f < kFateCount; ++f) {
      if (port.counters.drops[f] == 0) continue;
      ledger.fates[f] = port.counters.drops[f];
      lost += port.counters.drops[f];
    }
    ledger.fates[static_cast<std::size_t>(Fate::kPause)] = port.counters.pause_rx_frames;
    ledger.replicas = port.counters.replicas;
    WEFT_CHECK(lost <= port.received() + ledger.replicas, "a port loses no more packets than came in by it");
    ledger.fates[static_cast<std::size_t>(Fate::kForwarded)] = port.received() + ledger.replicas - lost;
  }
}

}  // namespace weft::fabric
