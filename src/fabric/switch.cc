// Set-up of a switch, and the visit: everything that is due before the end of the window, in order.
#include "fabric/switch.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace weft::fabric {

using engine::Packet;

namespace {

constexpr int kTimeShift = 20;
constexpr std::uint64_t kPortMask = 0xffff;
constexpr std::uint64_t kPauseKind = 0;
constexpr std::uint64_t kArrivalKind = 2;  // service is between them
constexpr std::uint32_t kMaxFrame_B = 9216 + 18;
constexpr std::size_t kFlowlets = 4096;
constexpr std::size_t kMaxStale = 64;
constexpr Time_ps kLongestWindow_ps = Time_ps{1} << 43;  // what a key of arrivals_ can tell apart

}  // namespace

Switch::Switch(SwitchSetup setup, engine::Domain& domain)
    : setup_(std::move(setup)),
      domain_(domain),
      node_(domain.add_node({this, &Switch::run_hook})),
      buffer_(setup_.model, setup_.qos, setup_.ports),
      ports_(setup_.ports.size()),
      inbox_((setup_.ports.size() + 63) / 64),
      counters_(setup_.ports.size()),
      pauses_(setup_.ports.size()),
      average_q8_(setup_.ports.size()),
      xoff_slices_(setup_.ports.size()),
      xoff_since_ps_(setup_.ports.size()),
      watch_(setup_.ports.size()),
      balancing_(setup_.seed, setup_.number, RandomPurpose::kRouting) {
  WEFT_CHECK(!setup_.routes.empty(), "a switch needs a route table");
  table_ = &setup_.routes.front().table;
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
    ports_[p].mtu_B = static_cast<std::uint32_t>(setup_.ports[p].mtu_B);
    random_.emplace_back(setup_.seed, setup_.ports[p].port_id, RandomPurpose::kEcn);
  }
  trust_dscp_ = setup_.qos.trust == Trust::kDscp;
  for (std::size_t priority = 0; priority < kClasses; ++priority) {
    class_of_pcp_[priority] = {setup_.qos.queue_of_priority[priority], setup_.qos.group_of_priority[priority]};
  }
  for (std::size_t dscp = 0; dscp < class_of_dscp_.size(); ++dscp)
    class_of_dscp_[dscp] = class_of_pcp_[setup_.qos.priority_of_dscp[dscp]];
  if (setup_.routing.balancing == Balancing::kFlowlet) flowlets_.resize(kFlowlets);
  if (setup_.routes.size() > 1) add_timer(setup_.routes[1].from_ps, TimerKind::kRoutes, 0);
  if (!setup_.link_changes.empty()) add_timer(setup_.link_changes.front().time_ps, TimerKind::kLink, 0);
}

void Switch::attach(std::uint32_t port, LinkDirection& out, LinkDirection& in) {
  ports_[port].out = &out;
  ports_[port].in = &in;
}

void Switch::grow_slots() {
  auto first = static_cast<std::uint32_t>(held_.size());
  std::uint32_t more = std::max(64u, first);
  held_.resize(first + more);
  for (std::uint32_t i = first + more; i-- > first;) {
    held_[i].time_ps = free_slot_;
    free_slot_ = i;
  }
}

// Nothing that is sent in this window can be due in it, so what arrives is known now.
void Switch::gather(Time_ps end_ps) {
  arrivals_.clear();
  base_ps_ = end_ps - kLongestWindow_ps;
  arrival_ps_ = kNever_ps;
  for (std::size_t w = 0; w < inbox_.size(); ++w) {
    for (std::uint64_t bits = inbox_[w]; bits != 0; bits &= bits - 1) {
      std::size_t p = w * 64 + static_cast<std::size_t>(std::countr_zero(bits));
      Time_ps next_ps = ports_[p].in->channel().take_until(end_ps, [&](Time_ps time_ps, bool pause) {
        arrivals_.push_back(static_cast<std::uint64_t>(time_ps - base_ps_) << kTimeShift |
                            (pause ? kPauseKind : kArrivalKind) << 16 | p);
      });
      arrival_ps_ = std::min(arrival_ps_, next_ps);
      if (next_ps == kNever_ps) inbox_[w] &= ~(bits & -bits);
    }
  }
  if (arrivals_.size() > 1) std::sort(arrivals_.begin(), arrivals_.end());
}

Time_ps Switch::run(Time_ps end_ps) {
  gather(end_ps);
  const std::uint64_t* next = arrivals_.data();
  const std::uint64_t* last = next + arrivals_.size();
  for (;;) {
    Time_ps arrival_ps = next < last ? base_ps_ + static_cast<Time_ps>(*next >> kTimeShift) : kNever_ps;
    Time_ps service_ps = first_service_ < services_.size() ? services_[first_service_].time_ps : kNever_ps;
    Time_ps now_ps = std::min(arrival_ps, service_ps);
    if (timer_ps_ < std::min(now_ps, end_ps)) [[unlikely]] {
      run_timer();
      continue;
    }
    if (now_ps >= end_ps) break;
    last_event_ps_ = now_ps;
    ++events_;
    bool pause = next < last && (*next >> 16 & 3) == kPauseKind;
    if (arrival_ps < service_ps || (arrival_ps == service_ps && pause)) {
      auto p = static_cast<std::uint32_t>(*next++ & kPortMask);
      engine::Channel& channel = ports_[p].in->channel();
      if (pause) [[unlikely]] {
        receive_pause(p, channel.taken_pause(), now_ps);
      } else {
        arrive(p, channel.taken(), now_ps);
      }
      continue;
    }
    std::uint32_t p = services_[first_service_++].port;
    if (ports_[p].service_ps == now_ps) serve(p, now_ps);
  }
  if (first_service_ > kMaxStale || first_service_ == services_.size()) {
    services_.erase(services_.begin(), services_.begin() + static_cast<std::ptrdiff_t>(first_service_));
    first_service_ = 0;
  }
  Time_ps wake_ps = std::min(arrival_ps_, timer_ps_);
  if (first_service_ < services_.size()) wake_ps = std::min(wake_ps, services_[first_service_].time_ps);
  return wake_ps;
}

// Ports plan their next service mostly in order of time: it belongs at the end.
void Switch::plan_service(std::uint32_t port, Time_ps at_ps) {
  ports_[port].service_ps = at_ps;
  Service entry{at_ps, port};
  services_.push_back(entry);
  std::size_t i = services_.size() - 1;
  for (; i > first_service_ && entry < services_[i - 1]; --i) services_[i] = services_[i - 1];
  services_[i] = entry;
}

void Switch::add_timer(Time_ps time_ps, TimerKind kind, std::uint32_t port) {
  timers_.push_back({time_ps, kind, port});
  std::push_heap(timers_.begin(), timers_.end());
  timer_ps_ = timers_.front().time_ps;
}

void Switch::run_timer() {
  std::pop_heap(timers_.begin(), timers_.end());
  Timer timer = timers_.back();
  timers_.pop_back();
  timer_ps_ = timers_.empty() ? kNever_ps : timers_.front().time_ps;
  // Planned changes of the fabric do not keep a world awake that has come to rest.
  if (timer.kind != TimerKind::kRoutes && timer.kind != TimerKind::kLink) last_event_ps_ = timer.time_ps;
  ++events_;
  switch (timer.kind) {
    case TimerKind::kRoutes:
      table_ = &setup_.routes[next_epoch_++].table;
      if (next_epoch_ < setup_.routes.size()) add_timer(setup_.routes[next_epoch_].from_ps, TimerKind::kRoutes, 0);
      break;
    case TimerKind::kLink:
      change_link(setup_.link_changes[next_link_change_].port, timer.time_ps);
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
      LinkDirection& out = *ports_[timer.port].out;
      out.release(timer.time_ps);
      if (out.next_release_ps() != kNever_ps) add_timer(out.next_release_ps(), TimerKind::kRelease, timer.port);
      break;
    }
    case TimerKind::kCpu: {
      CpuJob job = cpu_.front();
      cpu_.pop_front();
      forward(job.in, job.packet, line_B(job.packet), timer.time_ps);
      if (!cpu_.empty()) add_timer(cpu_.front().done_ps, TimerKind::kCpu, 0);
      break;
    }
    case TimerKind::kWatchdog:
      poll_watchdog(timer.time_ps);
      break;
  }
}

// A port that goes down forgets what waits for it and every pause on its link.
void Switch::change_link(std::uint32_t port, Time_ps now_ps) {
  Port& p = ports_[port];
  p.down = !setup_.link_changes[next_link_change_].up;
  if (!p.down) return;
  for (std::uint32_t q = 0; q < kClasses; ++q) flush_queue(port, q, Fate::kPortDown, now_ps);
  std::uint8_t before = pauses_[port].paused();
  pauses_[port].release_all(now_ps);
  pauses_changed(port, before, PauseEnd::kLinkDown, now_ps);
  for (std::uint32_t g = 0; g < kClasses; ++g) {
    if (p.xoff >> g & 1) end_xoff(port, g, PauseEnd::kLinkDown, now_ps);
  }
}

std::vector<std::uint32_t> Switch::feeders(std::uint32_t port, std::uint32_t queue) const {
  std::vector<std::uint32_t> ports;
  for (std::uint32_t slot = ports_[port].queues[queue].head; slot != kNothing; slot = Held::of(held_[slot]).next) {
    std::uint32_t in = Held::of(held_[slot]).in;
    if (std::find(ports.begin(), ports.end(), in) == ports.end()) ports.push_back(in);
  }
  return ports;
}

bool Switch::balances() const {
  std::uint64_t came = 0;
  std::uint64_t went = held_count_ + cpu_.size();
  for (const SwitchPortCounters& counters : counters_) {
    for (const PortTraffic& traffic : counters.rx) came += traffic.packets;
    for (const PortTraffic& traffic : counters.tx) went += traffic.packets;
    for (std::uint64_t lost : counters.drops) went += lost;
  }
  return came == went;
}

void Switch::settle_ledgers() {
  for (std::uint32_t p = 0; p < ports_.size(); ++p) {
    if (ports_[p].in == nullptr) continue;
    Ledger& ledger = ports_[p].in->received;
    std::uint64_t lost = 0;
    std::uint64_t came = 0;
    for (const PortTraffic& traffic : counters_[p].rx) came += traffic.packets;
    for (std::size_t f = 0; f < kFateCount; ++f) {
      if (counters_[p].drops[f] == 0) continue;
      ledger.fates[f] = counters_[p].drops[f];
      lost += counters_[p].drops[f];
    }
    ledger.fates[static_cast<std::size_t>(Fate::kPause)] = counters_[p].pause_rx_frames;
    ledger.fates[static_cast<std::size_t>(Fate::kForwarded)] = came - lost;
  }
}

}  // namespace weft::fabric
