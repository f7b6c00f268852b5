// A visit to a switch: everything that is due before the end of the window, in order (switch_gather.cc finds it). The
// way of a packet from its turn on is here, in one translation unit, so that it becomes one function.
#include "fabric/switch.h"

#include <algorithm>

#include "base/check.h"
#include "fabric/arrival_key.h"
#include "fabric/ecn_marker.h"

namespace weft::fabric {

using engine::Packet;
using engine::PacketBody;

namespace {

constexpr std::ptrdiff_t kMaxStale = 64;

}  // namespace

Time_ps Switch::run(Time_ps end_ps) {
  using namespace arrival_key;
  thread_local Scratch visit;
  gather(end_ps, visit);
  const std::uint64_t* next = visit.sorted.data();
  const Arrival* const arrivals = visit.arrivals.data();
  const Time_ps first_ps = visit.first_ps;
  std::uint64_t events = 0;
  Time_ps last_ps = last_event_ps_;
  for (;;) {
    const std::uint64_t key = *next;
    const Time_ps arrival_ps = first_ps + static_cast<Time_ps>(key >> kTimeShift);
    const Time_ps service_ps = next_service_->time_ps;
    const Time_ps now_ps = std::min(arrival_ps, service_ps);
    if (now_ps > timer_ps_ || now_ps >= end_ps) [[unlikely]] {
      if (timer_ps_ >= std::min(now_ps, end_ps)) break;
      run_timer(visit);
      last_ps = std::max(last_ps, last_event_ps_);
      continue;
    }
    last_ps = now_ps;
    ++events;
    const std::uint64_t kind = key >> kKindShift & 1;
    if (arrival_ps + static_cast<Time_ps>(kind) <= service_ps) {  // at one instant pauses, services, data
      ++next;
      const Arrival& arrival = arrivals[key & kPlaceMask];
      if (arrival.out != nullptr) [[likely]] {
        pass<false>(arrival.in, *arrival.out, arrival.lane, arrival.line_B, *arrival.packet, now_ps);
      } else if (kind == kPauseKind) {
        receive_pause(arrival.in, *arrival.packet, now_ps);
      } else {
        arrive(arrival.in, *arrival.packet, now_ps);
      }
    } else {
      Port& port = *next_service_++->port;
      if (port.service_ps == now_ps) serve(port, now_ps);
    }
  }
  events_ += events;
  last_event_ps_ = last_ps;
  // The first place is kept for one that is over.
  Service* const first = services_.data() + 1;
  if (next_service_ == end_service_) {
    next_service_ = end_service_ = first;
    first->time_ps = kNever_ps;
  } else if (next_service_ - first > kMaxStale) {
    end_service_ = std::copy(next_service_, end_service_ + 1, first) - 1;  // with the end mark
    next_service_ = first;
  }
  return std::min(std::min(arrival_ps_, timer_ps_), next_service_->time_ps);
}

template <bool kMayHaveCold>
[[gnu::always_inline]] inline void Switch::pass(std::uint32_t in, Port& out, Class lane, std::uint32_t line_bytes,
                                                PacketBody& packet, Time_ps now_ps) {
  const std::uint32_t q = lane.queue();
  // While no service is planned, all that waits is paused.
  if (out.service_ps == kNever_ps && out.free_ps <= now_ps && (out.closed >> q & 1) == 0) {
    // Leaves as soon as it is here: takes no buffer.
    transmit<kMayHaveCold>(out, q, 0, packet, line_bytes, now_ps);
  } else {
    enqueue(in, out, lane, line_bytes - kLineGap_B, packet, now_ps);
  }
}

// What gather() does not do: taps, damaged frames, telemetry, the CPU, the TTL, ways that depend on the moment.
[[gnu::noinline]] void Switch::arrive(std::uint32_t in, Packet& packet, Time_ps now_ps) {
  Port& port = ports_[in];
  port.in->tap(packet);
  if (packet.flags & Packet::kHasCold) note_arrival(in, packet, now_ps);
  // Cut-through has sent the header on before the FCS is known: the next store-and-forward port drops it.
  if ((packet.flags & Packet::kBadFcs) && port.in->timing().cut_through_B == 0) {
    drop(packet, in, kNothing, 0, Fate::kFcsError, now_ps);
    return;
  }
  if (forwarder_ != nullptr) {
    receive_in_ring(in, packet, now_ps);
  } else {
    dispatch(in, packet, now_ps);
  }
}

// Of a packet that the switch, or a forwarder's CPU, looks at: to whom it goes.
void Switch::dispatch(std::uint32_t in, Packet& packet, Time_ps now_ps) {
  if ((packet.flags & Packet::kHasCold) && domain_.cold[packet.aux].group != 0) {
    flood(in, packet, now_ps);
    return;
  }
  if (packet.flags & Packet::kRouted) {
    if (packet.hops >= engine::kTtl - 1) {
      drop(packet, in, kNothing, 0, Fate::kTtlExpired, now_ps);
      return;
    }
    ++packet.hops;
    if (setup_.routing.cpu_forwarding) {
      pass_to_cpu(in, packet, now_ps);
      return;
    }
  }
  forward(in, route(packet, now_ps), packet, now_ps);
}

void Switch::forward(std::uint32_t in, std::uint32_t out, PacketBody& packet, Time_ps now_ps) {
  if (out == kNothing) {
    drop(packet, in, kNothing, 0, Fate::kNoRoute, now_ps);
    return;
  }
  if (line_B(packet) - kLineGap_B > ports_[out].longest_B) {
    drop(packet, in, out, class_of(packet).queue(), Fate::kTooBig, now_ps);
    return;
  }
  if (forwarder_ != nullptr) {
    send_by_qdisc(in, out, packet, now_ps);
  } else {
    hand_to_port(in, out, packet, now_ps);
  }
}

void Switch::hand_to_port(std::uint32_t in, std::uint32_t out, PacketBody& packet, Time_ps now_ps) {
  pass<true>(in, ports_[out], class_of(packet), line_B(packet), packet, now_ps);
}

void Switch::tail_drop(PacketBody& packet, std::uint32_t in, Port& out, std::uint32_t q, Time_ps now_ps) {
  Lane& lane = out.lanes[q];
  if (lane.queue.cells > resume_cells_ && resume_cells_ > 0) {
    out.full = static_cast<std::uint8_t>(out.full | 1u << q);
    lane.resume_cells = lane.queue.cells - resume_cells_;
  }
  drop(packet, in, out.number, q, Fate::kTailDrop, now_ps);
}

// Not inlined: half of all packets never wait, and their path stays short.
[[gnu::noinline]] void Switch::enqueue(std::uint32_t in, Port& out, Class lane, std::uint32_t frame_B,
                                       PacketBody& packet, Time_ps now_ps) {
  const std::uint32_t q = lane.queue();
  const std::uint32_t g = lane.group();
  Queue& queue = out.lanes[q].queue;
  std::uint32_t cells = buffer_.cells(frame_B);
  if ((out.reject | out.full) >> q & 1) [[unlikely]] {
    if (out.reject >> q & 1) {
      drop(packet, in, out.number, q, out.down ? Fate::kPortDown : Fate::kWatchdogDrop, now_ps);
      return;
    }
    if (queue.cells > out.lanes[q].resume_cells) {
      drop(packet, in, out.number, q, Fate::kTailDrop, now_ps);
      return;
    }
    out.full = static_cast<std::uint8_t>(out.full & ~(1u << q));
  }
  if (!buffer_.egress_has_room(out.number, q, queue.cells, cells)) [[unlikely]] {
    tail_drop(packet, in, out, q, now_ps);
    return;
  }
  // What can be marked and is marked on the way out is not looked at.
  const bool passes_red =
      queue.bytes < red_from_B_[q] || ((packet.tos & kEcnMask) != 0 && (mark_at_enqueue_ >> q & 1) == 0);
  if (!passes_red && !red_admits(out, q, packet, now_ps)) [[unlikely]] {
    drop(packet, in, out.number, q, Fate::kWred, now_ps);
    return;
  }
  std::uint32_t slice = buffer_.slice(in, out.number);
  SharedBuffer::Place place = buffer_.admit(slice, in, g, cells);
  if (place == SharedBuffer::Place::kNone) [[unlikely]] {
    ++ports_[in].counters.group_drops[g];
    if (setup_.qos.groups[g].lossless) {
      drop(packet, in, out.number, q, Fate::kNoHeadroom, now_ps);
    } else {
      tail_drop(packet, in, out, q, now_ps);
    }
    return;
  }
  buffer_.egress_take(q, queue.cells, cells);
  std::uint32_t slot = take_slot();
  held_[slot] = Held(packet, in, g, frame_B);
  if (queue.head == kNothing) {
    queue.head = slot;
    out.waiting = static_cast<std::uint8_t>(out.waiting | 1u << q);
  } else {
    held_[queue.tail].next = slot;
  }
  queue.tail = slot;
  queue.bytes += frame_B;
  queue.cells += cells;
  out.lanes[q].max_queue_B = std::max(out.lanes[q].max_queue_B, queue.bytes);
  if (out.service_ps == kNever_ps && (out.paused >> q & 1) == 0) plan_service(out, std::max(now_ps, out.free_ps));
  if (place == SharedBuffer::Place::kHeadroom) [[unlikely]]
    send_xoff(in, slice, g, now_ps);
}

[[gnu::always_inline]] inline void Switch::serve(Port& port, Time_ps now_ps) {
  auto eligible = static_cast<std::uint8_t>(port.waiting & ~port.paused);
  if (eligible == 0) {
    port.service_ps = kNever_ps;
    return;
  }
  if (port.free_ps > now_ps) {  // a pause frame took the wire
    plan_service(port, port.free_ps);
    return;
  }
  bool one = (eligible & (eligible - 1)) == 0;
  std::uint32_t q = one ? static_cast<std::uint32_t>(std::countr_zero(eligible)) : choose(port, eligible);
  std::uint32_t queue_B = port.lanes[q].queue.bytes;
  std::uint32_t slot = port.lanes[q].queue.head;
  Held& held = held_[slot];
  const std::uint32_t frame_B = held.frame_B;
  const std::uint32_t in = held.in;
  const std::uint32_t group = held.group;
  std::uint32_t cells = buffer_.cells(frame_B);
  unlink_head(port, q, held, cells);
  if (queue_B >= mark_from_B_[q] && mark(port, q, held.packet) && setup_.record) [[unlikely]]
    record_mark(port, q, held.packet, now_ps);
  transmit<true>(port, q, queue_B - frame_B, held.packet, frame_B + kLineGap_B, now_ps);
  give_slot(slot);
  // What the buffer regains may release the peer: after the packet has the wire, so that XON waits for it.
  release_buffer(in, port.number, group, cells, now_ps);
  if ((port.waiting & ~port.paused) != 0) {
    plan_service(port, port.free_ps);
  } else {
    port.service_ps = kNever_ps;
  }
}

template <bool kMayHaveCold>
[[gnu::always_inline]] inline void Switch::transmit(Port& port, std::uint32_t q, std::uint32_t queue_B,
                                                    PacketBody& packet, std::uint32_t line_bytes, Time_ps now_ps) {
  if (kMayHaveCold && (packet.flags & Packet::kHasCold)) [[unlikely]] {
    write_telemetry(port, q, queue_B, packet, now_ps);
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

void Switch::release_buffer(std::uint32_t in, std::uint32_t out, std::uint32_t g, std::uint32_t cells, Time_ps now_ps) {
  std::uint32_t slice = buffer_.slice(in, out);
  buffer_.release(slice, in, g, cells);
  if (xoff_ports_ != 0 && (ports_[in].xoff >> g & 1)) [[unlikely]]
    maybe_send_xon(in, slice, g, now_ps);
}

// Ports plan their next service mostly in order of time: it belongs at the end.
void Switch::plan_service(Port& port, Time_ps at_ps) {
  port.service_ps = at_ps;
  if (end_service_ == &services_.back()) [[unlikely]]
    grow_services();
  const Service entry{at_ps, &port};
  Service* place = end_service_++;
  end_service_->time_ps = kNever_ps;
  if (at_ps <= place[-1].time_ps) {
    for (; place > next_service_ && entry < place[-1]; --place) *place = place[-1];
  }
  *place = entry;
}

}  // namespace weft::fabric
