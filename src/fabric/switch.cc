// A visit to a switch: everything that is due before the end of the window, in order (switch_gather.cc finds it). The
// way of a packet from its turn on is here, in one translation unit, so that it becomes one function.
#include "fabric/switch.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "fabric/arrival_key.h"

namespace weft::fabric {

using engine::Packet;
using engine::PacketBody;

namespace {

// Events between two checks of everything, in DCHECK builds.
[[maybe_unused]] constexpr std::uint64_t kChecked = 1 << 8;

}  // namespace

template <bool kMayHaveCold>
[[gnu::always_inline]] inline void Switch::transmit(SwitchPort& port, std::uint32_t q, std::uint32_t queue_B,
                                                    PacketBody& packet, std::uint32_t line_bytes, Time_ps now_ps) {
  WEFT_DCHECK(port.free_ps <= now_ps && !port.down, "a port sends one frame at a time, while its link is up");
  if (kMayHaveCold && (packet.flags & Packet::kHasCold)) [[unlikely]] {
    records_.end_hop(port, q, queue_B, packet, now_ps);
    line_bytes = line_B(packet);
  }
  PortTraffic& traffic = port.lanes[q].tx;
  ++traffic.packets;
  traffic.bytes += line_bytes - kLineGap_B;
  const Time_ps length_ps = Time_ps{line_bytes} * port.ps_per_byte;
  port.free_ps = now_ps + length_ps;
  const Time_ps due_ps = now_ps + port.delay_ps + std::min(length_ps, port.cut_ps);
  if (port.outbound == nullptr || port.outbound->tapped) [[unlikely]] {
    transmit_by_wrapper_or_mail(port, {packet, due_ps}, now_ps);
  } else {
    port.outbound->enter(packet, due_ps);
  }
}

template <bool kMayHaveCold>
[[gnu::always_inline]] inline void Switch::pass(std::uint32_t in, SwitchPort& out, PacketClass lane,
                                                std::uint32_t line_bytes, PacketBody& packet, Time_ps now_ps) {
  const std::uint32_t q = lane.queue();
  // While no service is planned, all that waits is paused.
  if (out.service_ps == kNever_ps && out.free_ps <= now_ps && (out.closed >> q & 1) == 0) {
    // Leaves as soon as it is here: takes no buffer.
    transmit<kMayHaveCold>(out, q, 0, packet, line_bytes, now_ps);
  } else {
    admission_.enqueue(in, out, lane, line_bytes - kLineGap_B, packet, now_ps);
  }
}

[[gnu::always_inline]] inline void Switch::serve(SwitchPort& port, Time_ps now_ps) {
  auto eligible = static_cast<std::uint8_t>(port.waiting & ~port.paused);
  if (eligible == 0) {
    port.service_ps = kNever_ps;
    return;
  }
  if (port.free_ps > now_ps) {  // a pause frame took the wire
    plan_.add(port, port.free_ps);
    return;
  }
  WaitingPackets& waiting = admission_.waiting();
  Marking& marking = admission_.marking();
  bool one = (eligible & (eligible - 1)) == 0;
  std::uint32_t q =
      one ? static_cast<std::uint32_t>(std::countr_zero(eligible)) : scheduler_.choose(port, eligible, waiting);
  std::uint32_t queue_B = port.lanes[q].queue.bytes;
  std::uint32_t slot = port.lanes[q].queue.head;
  WaitingPackets::Held& held = waiting[slot];
  const std::uint32_t frame_B = held.frame_B;
  const std::uint32_t in = held.in;
  const std::uint32_t group = held.group;
  std::uint32_t cells = admission_.buffer().cells(frame_B);
  admission_.unlink_head(port, q, held, cells);
  if (marking.may_mark(q, queue_B) && marking.dequeue(port, q, held.packet))
    records_.mark(port, q, held.packet, now_ps);
  transmit<true>(port, q, queue_B - frame_B, held.packet, frame_B + kLineGap_B, now_ps);
  waiting.give(slot);
  // What the buffer regains may release the peer: after the packet has the wire, so that XON waits for it.
  admission_.release(in, port.number, group, cells, now_ps);
  if (port.has_eligible()) {
    plan_.add(port, port.free_ps);
  } else {
    port.service_ps = kNever_ps;
  }
}

Time_ps Switch::run(Time_ps end_ps) {
  using namespace arrival_key;
  thread_local SwitchVisit visit;
  gather(end_ps, visit);
  const std::uint64_t* next = visit.sorted.data();
  const Arrival* const arrivals = visit.arrivals.data();
  const Time_ps first_ps = visit.first_ps;
  std::uint64_t events = 0;
  Time_ps last_ps = last_event_ps_;
  for (;;) {
    const std::uint64_t key = *next;
    const Time_ps arrival_ps = first_ps + static_cast<Time_ps>(key >> kTimeShift);
    const Time_ps service_ps = plan_.next_ps();
    const Time_ps now_ps = std::min(arrival_ps, service_ps);
    if (now_ps > timers_.next_ps() || now_ps >= end_ps) [[unlikely]] {
      if (timers_.next_ps() >= std::min(now_ps, end_ps)) break;
      run_timer(visit);
      last_ps = std::max(last_ps, last_event_ps_);
      continue;
    }
    WEFT_DCHECK(now_ps >= last_ps, "time does not run back at a switch");
    last_ps = now_ps;
    ++events;
    const std::uint64_t kind = key >> kKindShift & 1;
    if (arrival_ps + static_cast<Time_ps>(kind) <= service_ps) {  // at one instant pauses, services, data
      ++next;
      WEFT_DCHECK((key & kPlaceMask) < visit.count, "a key names an arrival of this visit");
      const Arrival& arrival = arrivals[key & kPlaceMask];
      if (arrival.out != nullptr) [[likely]] {
        pass<false>(arrival.in, *arrival.out, arrival.lane, arrival.line_B, *arrival.packet, now_ps);
      } else if (kind == kPauseKind) {
        receive_pause(arrival.in, *arrival.packet, now_ps);
      } else {
        arrive(arrival.in, *arrival.packet, now_ps);
      }
    } else {
      SwitchPort& port = plan_.take();
      if (port.service_ps == now_ps) serve(port, now_ps);
    }
  }
  events_ += events;
  last_event_ps_ = last_ps;
  plan_.tidy();
  WEFT_DCHECK(events_ / kChecked == (events_ - events) / kChecked || is_consistent(), "the parts of a switch agree");
  return std::min(std::min(arrival_ps_, timers_.next_ps()), plan_.next_ps());
}

// What gather() does not do: taps, damaged frames, telemetry, the CPU, the TTL, ways that depend on the moment.
[[gnu::noinline]] void Switch::arrive(std::uint32_t in, Packet& packet, Time_ps now_ps) {
  SwitchPort& port = ports_[in];
  port.in->tap(packet);
  if (packet.flags & Packet::kHasCold) records_.begin_hop(in, packet, now_ps);
  // Cut-through has sent the header on before the FCS is known: the next store-and-forward port drops it.
  if ((packet.flags & Packet::kBadFcs) && port.in->timing().cut_through_B == 0) {
    records_.drop(packet, in, kNoPort, 0, Fate::kFcsError, now_ps);
    return;
  }
  if (software_ != nullptr) {
    software_->receive(in, packet, now_ps);
  } else {
    dispatch(in, packet, now_ps);
  }
}

// Where a packet goes that the switch, or a forwarder's CPU, looks at.
void Switch::dispatch(std::uint32_t in, Packet& packet, Time_ps now_ps) {
  if ((packet.flags & Packet::kHasCold) && domain_.cold[packet.aux].group != 0) {
    flood(in, packet, now_ps);
    return;
  }
  if (packet.flags & Packet::kRouted) {
    if (packet.hops >= engine::kTtl - 1) {
      records_.drop(packet, in, kNoPort, 0, Fate::kTtlExpired, now_ps);
      return;
    }
    ++packet.hops;
    if (setup_.routing.cpu_forwarding) {
      if (!cpu_.add(in, packet, now_ps)) records_.drop(packet, in, kNoPort, 0, Fate::kCpuDrop, now_ps);
      return;
    }
  }
  forward(in, router_.route(packet, now_ps), packet, now_ps);
}

// To multicast groups: one copy for each port that the flood tree names (fabric/flood_tree.h).
void Switch::flood(std::uint32_t in, Packet& packet, Time_ps now_ps) {
  std::uint32_t last = kNoPort;
  for (const std::uint16_t port : router_.flood_ports(static_cast<std::uint32_t>(packet.src))) {
    if (port == in) continue;
    if (last != kNoPort) {
      Packet replica = domain_.copy(packet);
      ++ports_[in].counters.replicas;
      forward(in, last, replica, now_ps);
    }
    last = port;
  }
  forward(in, last, packet, now_ps);
}

void Switch::forward(std::uint32_t in, std::uint32_t out, PacketBody& packet, Time_ps now_ps) {
  if (out == kNoPort) {
    records_.drop(packet, in, kNoPort, 0, Fate::kNoRoute, now_ps);
    return;
  }
  WEFT_DCHECK(out < ports_.size(), "a packet leaves by a port of this switch");
  if (line_B(packet) - kLineGap_B > ports_[out].longest_B) {
    records_.drop(packet, in, out, classifier_.of(packet).queue(), Fate::kTooBig, now_ps);
    return;
  }
  if (software_ == nullptr) {
    hand_to_port(in, out, packet, now_ps);
  } else if (software_->enqueue(in, out, packet, now_ps)) {
    run_qdisc(out, now_ps);
  }
}

// What the byte queue limit lets through.
void Switch::run_qdisc(std::uint32_t out, Time_ps now_ps) {
  for (Packet packet; software_->next(out, packet, now_ps); software_->posted(out, now_ps))
    hand_to_port(static_cast<std::uint32_t>(packet.time_ps), out, packet, now_ps);
}

void Switch::hand_to_port(std::uint32_t in, std::uint32_t out, PacketBody& packet, Time_ps now_ps) {
  pass<true>(in, ports_[out], classifier_.of(packet), line_B(packet), packet, now_ps);
}

void Switch::transmit_by_wrapper_or_mail(SwitchPort& port, const Packet& packet, Time_ps now_ps) {
  port.out->send_by_wrapper_or_mail(packet, now_ps);
  if (port.out->next_release_ps() != kNever_ps) plan_release(port.number);
}

void Switch::receive_pause(std::uint32_t in, const Packet& packet, Time_ps now_ps) {
  ports_[in].in->tap(packet);
  ++ports_[in].counters.pause_rx_frames;
  const PauseRequest request = PauseRequest::of(packet);
  watchdog_.note(in, request, now_ps);
  pauses_.handle(in, request, now_ps);
  if (pauses_.transmit(in).blocked() != 0) watchdog_.arm(now_ps);
}

}  // namespace weft::fabric
