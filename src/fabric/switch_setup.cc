// Set-up and rare events of a switch: construction, timers, links that go down, and what is read out at the end.
#include <algorithm>

#include "base/check.h"
#include "fabric/switch.h"

namespace weft::fabric {

using engine::Packet;

namespace {

constexpr std::uint32_t kMaxFrame_B = 9216 + 18;
constexpr std::size_t kFlowlets = 4096;
constexpr std::uint32_t kEthernet_B = 14 + 4 + 4;  // header, tag and FCS around the IP packet

}  // namespace

Switch::Switch(SwitchSetup setup, engine::Domain& domain)
    : ports_(setup.ports.size()),
      wires_(setup.ports.size()),
      more_inbox_(setup.ports.empty() ? 0 : (setup.ports.size() - 1) / 64),
      setup_(std::move(setup)),
      buffer_(setup_.model, setup_.qos, setup_.ports),
      resume_cells_(buffer_.cells(static_cast<std::uint32_t>(setup_.model.drop_resume_B))),
      domain_(domain),
      node_(domain.add_node({this, &Switch::run_hook})),
      pfc_(setup_.ports.size(), kAllClasses),
      transmit_control_(setup_.ports.size()),
      receive_control_(setup_.ports.size()),
      average_q8_(setup_.ports.size()),
      xoff_slices_(setup_.ports.size()),
      watch_(setup_.qos.watchdog.enabled ? setup_.ports.size() : 0),
      balancing_(setup_.seed, setup_.number, RandomPurpose::kRouting) {
  WEFT_CHECK(setup_.ports.size() <= Held::kMostPorts, "more ports than a switch can have");
  WEFT_CHECK(!setup_.routes.empty(), "a switch needs a route table");
  use_routes(setup_.routes.front().table);
  next_service_ = end_service_ = services_.data() + 1;
  services_.front().time_ps = -1;
  passes_B_ = UINT32_MAX;
  std::uint32_t lightest = 0xffffffff;
  for (std::size_t q = 0; q < kClasses; ++q) {
    const QueueConfig& queue = setup_.qos.queues[q];
    if (queue.scheduling == Scheduling::kStrict) strict_ |= static_cast<std::uint8_t>(1u << q);
    lightest = std::min(lightest, std::max(1u, queue.weight));
  }
  // The lightest queue may send one frame of the largest size in its turn.
  for (std::size_t q = 0; q < kClasses; ++q) {
    quantum_B_[q] = static_cast<std::uint32_t>(std::uint64_t{kMaxFrame_B} * setup_.qos.queues[q].weight / lightest);
  }
  for (std::uint32_t p = 0; p < ports_.size(); ++p) {
    ports_[p].number = static_cast<std::uint16_t>(p);
    ports_[p].longest_B = static_cast<std::uint32_t>(setup_.ports[p].mtu_B) + kEthernet_B;
    passes_B_ = std::min(passes_B_, ports_[p].longest_B + kLineGap_B);
    random_.emplace_back(setup_.seed, setup_.ports[p].port_id, RandomPurpose::kEcn);
  }
  for (std::uint32_t q = 0; q < kClasses; ++q) use_ecn(q);
  make_forwarder();
  trust_dscp_ = setup_.qos.trust == Trust::kDscp;
  // Lossless groups come first, then those with most code points.
  std::array<std::uint32_t, kClasses> weights{};
  for (std::uint8_t priority : setup_.qos.priority_of_dscp) ++weights[setup_.qos.group_of_priority[priority]];
  for (std::size_t g = 0; g < kClasses; ++g) {
    if (setup_.qos.groups[g].lossless) weights[g] += 64;
  }
  std::array<std::uint32_t, kClasses> order{0, 1, 2, 3, 4, 5, 6, 7};
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return weights[a] > weights[b]; });
  for (std::uint32_t i = 0; i < kClasses; ++i) ingress_of_group_[order[i]] = i;
  if (buffer_.has_one_slice() && !ports_.empty()) {
    std::array<SharedBuffer::Group*, kClasses> first{};
    for (std::uint32_t g = 0; g < kClasses; ++g) first[g] = &ports_[0].ingress[ingress_of_group_[g]].held;
    buffer_.keep_groups_at(first, sizeof(Port));
  }
  for (std::size_t priority = 0; priority < kClasses; ++priority) {
    const std::uint32_t group = setup_.qos.group_of_priority[priority];
    class_of_pcp_[priority] = {setup_.qos.queue_of_priority[priority], group, ingress_of_group_[group]};
  }
  for (std::size_t dscp = 0; dscp < class_of_dscp_.size(); ++dscp)
    class_of_dscp_[dscp] = class_of_pcp_[setup_.qos.priority_of_dscp[dscp]];
  if (setup_.routing.balancing == Balancing::kFlowlet) flowlets_.resize(kFlowlets);
  if (setup_.routes.size() > 1) add_timer(setup_.routes[1].from_ps, TimerKind::kRoutes, 0);
  if (!setup_.link_changes.empty()) add_timer(setup_.link_changes.front().time_ps, TimerKind::kLink, 0);
}

void Switch::use_ecn(std::uint32_t queue) {
  // What the packet path looks at first: the least of all ports. The port's own ramp decides.
  const auto bit = static_cast<std::uint8_t>(1u << queue);
  red_from_B_[queue] = mark_from_B_[queue] = 0xffffffff;
  mark_at_enqueue_ = static_cast<std::uint8_t>(mark_at_enqueue_ & ~bit);
  for (std::uint32_t port = 0; port < std::max<std::size_t>(own_ecn_.size(), 1); ++port) {
    const EcnRamp& ramp = ecn(port, queue);
    if (!ramp.enabled) continue;
    const std::uint32_t from_B = ramp.weight_exponent > 0 ? 0 : static_cast<std::uint32_t>(ramp.min_B);
    if (ramp.at_enqueue || ramp.drops_not_ect) red_from_B_[queue] = std::min(red_from_B_[queue], from_B);
    if (!ramp.at_enqueue) mark_from_B_[queue] = std::min(mark_from_B_[queue], from_B);
    if (ramp.at_enqueue) mark_at_enqueue_ |= bit;
  }
}

void Switch::attach(std::uint32_t port, LinkDirection& out, LinkDirection& in) {
  ports_[port].out = &out;
  ports_[port].in = &in;
  ports_[port].outbound = out.outlet().inlet();
  const LinkTiming& timing = out.timing();
  ports_[port].delay_ps = timing.flight_ps + timing.pipeline_ps;
  ports_[port].ps_per_byte = static_cast<std::uint32_t>(timing.ps_per_byte);
  ports_[port].cut_ps = timing.cut_through_B == 0 ? kNever_ps : Time_ps{timing.cut_through_B} * timing.ps_per_byte;
  const void* outbound = out.outlet().inlet();
  wires_[port] = {in.inlet(), outbound != nullptr ? outbound : &out};
  const SwitchQos& qos = setup_.qos;
  transmit_control_[port] = {qos.flow_control, qos.pfc_receive_mask, timing.ps_per_byte};
  receive_control_[port] = {qos.flow_control, qos.pause_of_group, qos.pause_quanta, timing.ps_per_byte,
                            RefreshClock::kRunsOn};
}

void Switch::grow_slots() {
  auto first = static_cast<std::uint32_t>(held_.size());
  std::uint32_t more = std::max(64u, first);
  held_.resize(first + more);
  for (std::uint32_t i = first + more; i-- > first;) {
    held_[i].next = free_slot_;
    free_slot_ = i;
  }
}

void Switch::grow_services() {
  const auto next = next_service_ - services_.data();
  const auto end = end_service_ - services_.data();
  services_.resize(2 * services_.size());
  next_service_ = services_.data() + next;
  end_service_ = services_.data() + end;
}

void Switch::use_routes(const RouteTable& table) {
  table_ = &table;
  way_of_edge_.assign(table.group_of_edge.size(), kNoGroup);
  fans_.clear();
  std::vector<std::uint16_t> fan_of_group(table.groups.size(), kNoGroup);
  for (std::size_t edge = 0; edge < way_of_edge_.size(); ++edge) {
    const std::uint16_t g = table.group_of_edge[edge];
    if (g == kNoGroup) continue;
    if (table.groups[g].count == 1) {
      way_of_edge_[edge] = table.members[table.groups[g].first];
      continue;
    }
    if (fan_of_group[g] == kNoGroup) {
      fan_of_group[g] = static_cast<std::uint16_t>(kFan | fans_.size());
      fans_.push_back(table.groups[g]);
      WEFT_CHECK(fans_.size() < kNoGroup - kFan, "a switch has fewer than 32,767 groups of equal ports");
    }
    way_of_edge_[edge] = fan_of_group[g];
  }
  ways_ = {setup_.destinations->data(),
           way_of_edge_.data(),
           fans_.data(),
           table.members.data(),
           ecmp_seed(setup_.routing.hash_seed),
           setup_.number,
           setup_.routing.hash_dest_qp};
  careful_ = setup_.forwarder || setup_.routing.cpu_forwarding || setup_.routing.balancing != Balancing::kEcmp ||
             !table.exceptions.empty() || !setup_.lags.empty();
}

void Switch::add_timer(Time_ps time_ps, TimerKind kind, std::uint32_t port) {
  timers_.push_back({time_ps, kind, port});
  std::push_heap(timers_.begin(), timers_.end());
  timer_ps_ = timers_.front().time_ps;
}

// A faulty cable holds frames back: one timer for the first of them, however many are sent meanwhile.
void Switch::plan_release(std::uint32_t port) {
  Time_ps next_ps = ports_[port].out->next_release_ps();
  if (next_ps >= ports_[port].release_timer_ps) return;
  ports_[port].release_timer_ps = next_ps;
  add_timer(next_ps, TimerKind::kRelease, port);
}

void Switch::run_timer(Scratch& visit) {
  std::pop_heap(timers_.begin(), timers_.end());
  Timer timer = timers_.back();
  timers_.pop_back();
  timer_ps_ = timers_.empty() ? kNever_ps : timers_.front().time_ps;
  // Planned changes of the fabric do not keep a world awake that has come to rest.
  if (timer.kind != TimerKind::kRoutes && timer.kind != TimerKind::kLink) last_event_ps_ = timer.time_ps;
  ++events_;
  switch (timer.kind) {
    case TimerKind::kRoutes:
      use_routes(setup_.routes[next_epoch_++].table);
      // What was found out in this visit is out of date.
      take_back(visit.arrivals.data(), visit.arrivals.data() + visit.count);
      if (next_epoch_ < setup_.routes.size()) add_timer(setup_.routes[next_epoch_].from_ps, TimerKind::kRoutes, 0);
      break;
    case TimerKind::kLink:
      change_link(setup_.link_changes[next_link_change_].port, setup_.link_changes[next_link_change_].up,
                  timer.time_ps);
      if (++next_link_change_ < setup_.link_changes.size())
        add_timer(setup_.link_changes[next_link_change_].time_ps, TimerKind::kLink, 0);
      break;
    case TimerKind::kPauseExpiry:
      expire_pauses(timer.port, timer.time_ps);
      break;
    case TimerKind::kRefresh:
      refresh(timer.port, timer.time_ps);
      break;
    case TimerKind::kRelease: {
      Port& port = ports_[timer.port];
      if (port.release_timer_ps == timer.time_ps) port.release_timer_ps = kNever_ps;
      port.out->release(timer.time_ps);
      plan_release(timer.port);
      break;
    }
    case TimerKind::kCpu: {
      CpuJob job = cpu_.front();
      cpu_.pop_front();
      forward(job.in, route(job.packet, timer.time_ps), job.packet, timer.time_ps);
      if (!cpu_.empty()) add_timer(cpu_.front().done_ps, TimerKind::kCpu, 0);
      break;
    }
    case TimerKind::kWatchdog:
      poll_watchdog(timer.time_ps);
      break;
    case TimerKind::kInterrupt:
      run_interrupt(timer.port, timer.time_ps);
      break;
    case TimerKind::kSoftirq:
      run_softirq(timer.port, timer.time_ps);
      break;
    case TimerKind::kTxCompletion:
      complete_transmission(timer.port, timer.time_ps);
      break;
  }
}

// A port that goes down forgets what waits for it and every pause on its link.
void Switch::change_link(std::uint32_t port, bool up, Time_ps now_ps) {
  Port& p = ports_[port];
  p.down = !up;
  p.set_reject();
  if (setup_.record) record_event(up ? SwitchEventKind::kLinkUp : SwitchEventKind::kLinkDown, port, 0, now_ps);
  if (!p.down) return;
  for (std::uint32_t q = 0; q < kClasses; ++q) flush_queue(port, q, Fate::kPortDown, now_ps);
  std::uint8_t before = transmit_control_[port].blocked();
  transmit_control_[port].release_all(now_ps);
  pauses_changed(port, before, PauseEnd::kLinkDown, now_ps);
  std::uint8_t held = receive_control_[port].held();
  receive_control_[port].forget(held, now_ps);
  for (std::uint32_t g = 0; g < kClasses; ++g) {
    if (held >> g & 1) end_xoff(port, g, PauseEnd::kLinkDown, now_ps);
  }
}

std::vector<std::uint32_t> Switch::feeders(std::uint32_t port, std::uint32_t queue) const {
  std::vector<std::uint32_t> ports;
  for (std::uint32_t slot = ports_[port].lanes[queue].queue.head; slot != kNothing; slot = held_[slot].next) {
    std::uint32_t in = held_[slot].in;
    if (std::find(ports.begin(), ports.end(), in) == ports.end()) ports.push_back(in);
  }
  return ports;
}

SwitchPortCounters Switch::counters(std::uint32_t port) const {
  SwitchPortCounters counters{ports_[port].counters, {}, {}, {}, {}, {}, {}};
  for (std::size_t c = 0; c < kClasses; ++c) {
    const Lane& lane = ports_[port].lanes[c];
    counters.rx[c] = ports_[port].ingress[ingress_of_group_[c]].rx;
    counters.tx[c] = lane.tx;
    counters.max_queue_B[c] = lane.max_queue_B;
    const ReceiveControl& control = receive_control_[port];
    counters.pause_tx[c] = control.frames(c);
    counters.xoff_tx[c] = control.pauses(c);
    counters.pause_tx_ps[c] = control.ended_ps(c);
  }
  return counters;
}

bool Switch::balances() const {
  std::uint64_t came = 0;
  std::uint64_t went = held_packets() + cpu_.size();
  for (const Port& port : ports_) {
    for (const Ingress& group : port.ingress) came += group.rx.packets;
    came += port.counters.replicas;
    for (const Lane& lane : port.lanes) went += lane.tx.packets;
    for (std::uint64_t lost : port.counters.drops) went += lost;
  }
  return came == went;
}

void Switch::settle_ledgers() {
  for (std::uint32_t p = 0; p < ports_.size(); ++p) {
    if (ports_[p].in == nullptr) continue;
    std::uint64_t went = 0;
    for (const Lane& lane : ports_[p].lanes) went += lane.tx.packets;
    ports_[p].out->sent.sent += went - ports_[p].ledgered;
    ports_[p].ledgered = went;
    Ledger& ledger = ports_[p].in->received;
    std::uint64_t lost = 0;
    std::uint64_t came = 0;
    for (const Ingress& group : ports_[p].ingress) came += group.rx.packets;
    for (std::size_t f = 0; f < kFateCount; ++f) {
      if (ports_[p].counters.drops[f] == 0) continue;
      ledger.fates[f] = ports_[p].counters.drops[f];
      lost += ports_[p].counters.drops[f];
    }
    ledger.fates[static_cast<std::size_t>(Fate::kPause)] = ports_[p].counters.pause_rx_frames;
    ledger.replicas = ports_[p].counters.replicas;
    ledger.fates[static_cast<std::size_t>(Fate::kForwarded)] = came + ledger.replicas - lost;
  }
}

}  // namespace weft::fabric
