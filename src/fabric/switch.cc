// A visit to a switch: everything that is due before the end of the window, in order. The whole way of a packet that
// need not wait is here, in one translation unit, so that it becomes one function.
#include "fabric/switch.h"

#include <algorithm>
#include <bit>

#include "fabric/ecn_marker.h"

namespace weft::fabric {

using engine::Packet;

namespace {

constexpr int kTimeShift = 20;
constexpr std::uint64_t kPortMask = 0xffff;
constexpr std::uint64_t kPauseKind = 0;
constexpr std::uint64_t kArrivalKind = 2;  // service is between them
constexpr std::uint64_t kNoArrival = ~std::uint64_t{0};
constexpr std::size_t kMaxStale = 64;
constexpr Time_ps kLongestWindow_ps = Time_ps{1} << 42;  // what a key of arrivals_ can tell apart

// A visit has few arrivals, and those of each port are in order.
inline void sort_arrivals(std::uint64_t* keys, std::size_t count) {
  constexpr std::size_t kFew = 24;
  if (count > kFew) {
    std::sort(keys, keys + count);
    return;
  }
  for (std::size_t i = 1; i < count; ++i) {
    const std::uint64_t key = keys[i];
    std::size_t at = i;
    for (; at > 0 && key < keys[at - 1]; --at) keys[at] = keys[at - 1];
    keys[at] = key;
  }
}

}  // namespace

Time_ps Switch::run(Time_ps end_ps) {
  gather(end_ps);
  const std::uint64_t* next = arrivals_.data();
  std::uint64_t events = 0;
  Time_ps last_ps = last_event_ps_;
  for (;;) {
    Time_ps arrival_ps = base_ps_ + static_cast<Time_ps>(*next >> kTimeShift);
    Time_ps service_ps = services_[first_service_].time_ps;
    Time_ps now_ps = std::min(arrival_ps, service_ps);
    if (timer_ps_ < std::min(now_ps, end_ps)) [[unlikely]] {
      run_timer();
      last_ps = std::max(last_ps, last_event_ps_);
      continue;
    }
    if (now_ps >= end_ps) break;
    last_ps = now_ps;
    ++events;
    bool pause = (*next >> 16 & 3) == kPauseKind;
    if (arrival_ps < service_ps || (arrival_ps == service_ps && pause)) {
      auto p = static_cast<std::uint32_t>(*next++ & kPortMask);
      engine::Inlet& inlet = *wires_[p].inbound;
      if (pause) [[unlikely]] {
        receive_pause(p, inlet.taken_pause(), now_ps);
      } else {
        arrive(p, inlet.taken(), now_ps);
      }
    } else {
      std::uint32_t p = services_[first_service_++].port;
      if (ports_[p].service_ps == now_ps) serve(p, now_ps);
    }
  }
  events_ += events;
  last_event_ps_ = last_ps;
  if (first_service_ == last_service_) {
    first_service_ = last_service_ = 0;
    services_[0].time_ps = kNever_ps;
  } else if (first_service_ > kMaxStale) {
    // With the end mark.
    std::copy(services_.begin() + static_cast<std::ptrdiff_t>(first_service_),
              services_.begin() + static_cast<std::ptrdiff_t>(last_service_ + 1), services_.begin());
    last_service_ -= first_service_;
    first_service_ = 0;
  }
  return std::min(std::min(arrival_ps_, timer_ps_), services_[first_service_].time_ps);
}

// Nothing that is sent in this window can be due in it, so what arrives is known now.
inline void Switch::gather(Time_ps end_ps) {
  base_ps_ = end_ps - kLongestWindow_ps;
  Time_ps later_ps = kNever_ps;
  std::size_t count = 0;
  routes_ahead_ = ecmp_;
  const Wires* wires = wires_.data();
  for (engine::InboxWord& word : inbox_) {
    std::uint64_t due = 0;
    for (std::uint64_t bits = word.bits; bits != 0; bits &= bits - 1) {
      auto i = static_cast<std::uint32_t>(std::countr_zero(bits));
      if (word.next_ps[i] < end_ps) {
        due |= bits & -bits;
        __builtin_prefetch(wires[i].inbound);
      } else {
        later_ps = std::min(later_ps, word.next_ps[i]);
      }
    }
    for (std::uint64_t bits = due & (due - 1); bits != 0; bits &= bits - 1)
      wires[std::countr_zero(bits)].inbound->prefetch_front();
    for (std::uint64_t bits = due; bits != 0; bits &= bits - 1) {
      auto i = static_cast<std::uint32_t>(std::countr_zero(bits));
      auto p = static_cast<std::uint32_t>(wires - wires_.data()) + i;
      engine::Inlet& inlet = *wires[i].inbound;
      // One more for the end mark.
      if (count + inlet.waiting() + 1 > arrivals_.size()) [[unlikely]]
        arrivals_.resize(2 * (count + inlet.waiting() + 1));
      std::uint64_t* out = arrivals_.data() + count;
      Time_ps next_ps = inlet.take_until(end_ps, [&](Packet& packet, bool pause) {
        *out++ = static_cast<std::uint64_t>(packet.time_ps - base_ps_) << kTimeShift |
                 (pause ? kPauseKind : kArrivalKind) << 16 | p;
        if (!pause) look_ahead(packet, p);
      });
      count = static_cast<std::size_t>(out - arrivals_.data());
      later_ps = std::min(later_ps, next_ps);
      word.next_ps[i] = next_ps;
      if (next_ps == kNever_ps) word.bits &= ~(bits & -bits);
    }
    wires += 64;
  }
  arrival_ps_ = later_ps;
  if (count > 1) sort_arrivals(arrivals_.data(), count);
  arrivals_[count] = kNoArrival;
}

// Its class, its size and where it will leave are known before its turn comes: the lines that it will touch are on
// their way meanwhile.
[[gnu::always_inline]] inline void Switch::look_ahead(Packet& packet, std::uint32_t in) {
  Class lane = class_of(packet);
  std::uint32_t out = routes_ahead_ ? route(packet, 0) : kNothing;
  packet.time_ps = Ahead::pack(out, lane, line_B(packet));
  __builtin_prefetch(&ports_[in].lanes[lane.group]);
  if (out == kNothing) return;
  __builtin_prefetch(&ports_[out]);
  __builtin_prefetch(&ports_[out].lanes[lane.queue]);
  __builtin_prefetch(wires_[out].outbound);
}

[[gnu::always_inline]] inline void Switch::arrive(std::uint32_t in, Packet& packet, Time_ps now_ps) {
  Port& port = ports_[in];
  const Ahead ahead = Ahead::of(packet);
  if (wires_[in].inbound->tapped) [[unlikely]] {
    packet.time_ps = now_ps;
    port.in->tap(packet);
  }
  PortTraffic& traffic = port.lanes[ahead.lane.group].rx;
  ++traffic.packets;
  traffic.bytes += ahead.line_B - kLineGap_B;
  if (packet.flags & (Packet::kBadFcs | Packet::kRouted | Packet::kHasCold)) {
    if (packet.flags & Packet::kHasCold) [[unlikely]]
      note_arrival(in, packet, now_ps);
    if (packet.flags & Packet::kBadFcs) [[unlikely]] {
      // Cut-through has sent the header on before the FCS is known: the next store-and-forward port drops it.
      if (port.in->timing().cut_through_B == 0) {
        drop(packet, in, kNothing, 0, Fate::kFcsError, now_ps);
        return;
      }
    }
    if (packet.flags & Packet::kRouted) {
      if (packet.hops >= engine::kTtl - 1) [[unlikely]] {
        drop(packet, in, kNothing, 0, Fate::kTtlExpired, now_ps);
        return;
      }
      ++packet.hops;
      if (cpu_forwarding_) [[unlikely]] {
        pass_to_cpu(in, packet, now_ps);
        return;
      }
    }
  }
  std::uint32_t out = routes_ahead_ ? ahead.out : route(packet, now_ps);
  forward(in, out, packet, ahead.lane, ahead.line_B, now_ps);
}

[[gnu::always_inline]] inline void Switch::forward(std::uint32_t in, std::uint32_t out, Packet& packet, Class lane,
                                                   std::uint32_t line_bytes, Time_ps now_ps) {
  if (out == kNothing) [[unlikely]] {
    drop(packet, in, kNothing, 0, Fate::kNoRoute, now_ps);
    return;
  }
  Port& port = ports_[out];
  std::uint32_t q = lane.queue;
  std::uint32_t frame_B = line_bytes - kLineGap_B;
  if (frame_B > port.longest_B || (port.reject >> q & 1) != 0) [[unlikely]] {
    Fate reason = frame_B > port.longest_B ? Fate::kTooBig : port.down ? Fate::kPortDown : Fate::kWatchdogDrop;
    drop(packet, in, out, q, reason, now_ps);
    return;
  }
  if (port.service_ps == kNever_ps && port.free_ps <= now_ps && ((port.paused | port.waiting) >> q & 1) == 0) {
    // Leaves as soon as it is here: takes no buffer.
    transmit(out, q, 0, packet, line_bytes, now_ps);
    return;
  }
  enqueue(in, out, lane, frame_B, packet, now_ps);
}

void Switch::forward_from_cpu(std::uint32_t in, Packet& packet, Time_ps now_ps) {
  forward(in, route(packet, now_ps), packet, class_of(packet), line_B(packet), now_ps);
}

// Not inlined: half of all packets never wait, and their path stays short.
[[gnu::noinline]] void Switch::enqueue(std::uint32_t in, std::uint32_t out, Class lane, std::uint32_t frame_B,
                                       Packet& packet, Time_ps now_ps) {
  Port& port = ports_[out];
  std::uint32_t q = lane.queue;
  std::uint32_t g = lane.group;
  Queue& queue = port.lanes[q].queue;
  std::uint32_t cells = buffer_.cells(frame_B);
  if (!buffer_.egress_has_room(q, queue.cells, cells)) [[unlikely]] {
    drop(packet, in, out, q, Fate::kTailDrop, now_ps);
    return;
  }
  if (queue.bytes >= red_from_B_[q] && !red_admits(out, q, packet)) [[unlikely]] {
    drop(packet, in, out, q, Fate::kWred, now_ps);
    return;
  }
  std::uint32_t slice = buffer_.slice(in, out);
  SharedBuffer::Place place = buffer_.admit(slice, in, g, cells);
  if (place == SharedBuffer::Place::kNone) [[unlikely]] {
    ++ports_[in].counters.group_drops[g];
    drop(packet, in, out, q, setup_.qos.groups[g].lossless ? Fate::kNoHeadroom : Fate::kTailDrop, now_ps);
    return;
  }
  buffer_.egress_take(q, queue.cells, cells);
  std::uint32_t slot = take_slot();
  held_[slot] = Held(packet, in, g, frame_B);
  if (queue.head == kNothing) {
    queue.head = slot;
    port.waiting = static_cast<std::uint8_t>(port.waiting | 1u << q);
  } else {
    held_[queue.tail].next = slot;
  }
  queue.tail = slot;
  queue.bytes += frame_B;
  queue.cells += cells;
  port.lanes[q].max_queue_B = std::max(port.lanes[q].max_queue_B, queue.bytes);
  if (port.service_ps == kNever_ps && (port.paused >> q & 1) == 0) plan_service(out, std::max(now_ps, port.free_ps));
  if (place == SharedBuffer::Place::kHeadroom) [[unlikely]]
    send_xoff(in, slice, g, now_ps);
}

[[gnu::always_inline]] inline std::uint32_t Switch::route(const Packet& packet, Time_ps now_ps) {
  const Destination& destination = (*setup_.destinations)[packet.dst];
  if (!table_->exceptions.empty()) [[unlikely]] {
    for (const RouteTable::Exception& each : table_->exceptions) {
      if (each.destination == packet.dst) return balance(table_->groups[each.group], packet, now_ps);
    }
  }
  if (destination.edge == setup_.number) return destination.port;
  std::uint16_t group = table_->group_of_edge[destination.edge];
  if (group == kNoGroup) [[unlikely]]
    return kNothing;
  const RouteTable::Group& ways = table_->groups[group];
  if (ways.count == 1) return table_->members[ways.first];
  if (ecmp_) {
    const RoutingConfig& routing = setup_.routing;
    std::uint32_t hash = ecmp_hash(packet, *setup_.destinations, routing.hash_dest_qp, routing.hash_seed);
    return table_->members[ways.first + pick(hash, ways.count)];
  }
  return balance(ways, packet, now_ps);
}

[[gnu::always_inline]] inline void Switch::serve(std::uint32_t p, Time_ps now_ps) {
  Port& port = ports_[p];
  auto eligible = static_cast<std::uint8_t>(port.waiting & ~port.paused);
  if (eligible == 0) {
    port.service_ps = kNever_ps;
    return;
  }
  if (port.free_ps > now_ps) {  // a pause frame took the wire
    plan_service(p, port.free_ps);
    return;
  }
  bool one = (eligible & (eligible - 1)) == 0;
  std::uint32_t q = one ? static_cast<std::uint32_t>(std::countr_zero(eligible)) : choose(port, eligible);
  std::uint32_t queue_B = port.lanes[q].queue.bytes;
  std::uint32_t slot = port.lanes[q].queue.head;
  const Held held = held_[slot];
  Packet packet;
  static_cast<engine::PacketBody&>(packet) = held.packet;
  std::uint32_t cells = buffer_.cells(held.frame_B);
  unlink_head(port, q, held, cells);
  if (queue_B >= mark_from_B_[q]) mark(p, q, packet);
  transmit(p, q, queue_B - held.frame_B, packet, held.frame_B + kLineGap_B, now_ps);
  give_slot(slot);
  // What the buffer regains may release the peer: after the packet has the wire, so that XON waits for it.
  release_buffer(held.in, p, held.group, cells, now_ps);
  if ((port.waiting & ~port.paused) != 0) {
    plan_service(p, port.free_ps);
  } else {
    port.service_ps = kNever_ps;
  }
}

[[gnu::always_inline]] inline void Switch::transmit(std::uint32_t p, std::uint32_t q, std::uint32_t queue_B,
                                                    Packet& packet, std::uint32_t line_bytes, Time_ps now_ps) {
  Port& port = ports_[p];
  if (packet.flags & Packet::kHasCold) [[unlikely]] {
    write_telemetry(p, q, queue_B, packet, now_ps);
    line_bytes = line_B(packet);
  }
  PortTraffic& traffic = port.lanes[q].tx;
  ++traffic.packets;
  traffic.bytes += line_bytes - kLineGap_B;
  port.free_ps = now_ps + Time_ps{line_bytes} * port.ps_per_byte;
  packet.time_ps = now_ps + port.delay_ps + Time_ps{std::min(line_bytes, port.cut_through_B)} * port.ps_per_byte;
  if (port.outbound == nullptr || port.outbound->tapped) [[unlikely]] {
    port.out->send_by_wrapper_or_mail(packet, now_ps);
    if (port.out->next_release_ps() != kNever_ps) plan_release(p);
  } else {
    port.outbound->enter(packet);
  }
}

void Switch::release_buffer(std::uint32_t in, std::uint32_t out, std::uint32_t g, std::uint32_t cells, Time_ps now_ps) {
  std::uint32_t slice = buffer_.slice(in, out);
  buffer_.release(slice, in, g, cells);
  if (ports_[in].xoff >> g & 1) [[unlikely]]
    maybe_send_xon(in, slice, g, now_ps);
}

// Ports plan their next service mostly in order of time: it belongs at the end.
void Switch::plan_service(std::uint32_t port, Time_ps at_ps) {
  ports_[port].service_ps = at_ps;
  if (last_service_ + 2 > services_.size()) [[unlikely]]
    services_.resize(2 * services_.size());
  Service entry{at_ps, port};
  Service* place = services_.data() + last_service_++;
  place[1].time_ps = kNever_ps;  // the end mark
  for (const Service* first = services_.data() + first_service_; place > first && entry < place[-1]; --place)
    *place = place[-1];
  *place = entry;
}

}  // namespace weft::fabric
