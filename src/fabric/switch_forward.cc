// A packet comes in: classify, route, find room, mark, and leave at once or wait.
#include "fabric/ecn_marker.h"
#include "fabric/switch.h"

namespace weft::fabric {

using engine::Packet;

namespace {

constexpr std::uint64_t kEcnMask = 3;
constexpr std::uint64_t kEcnCe = 3;
constexpr std::uint32_t kEthernet_B = 14 + 4 + 4;  // header, tag and FCS around the IP packet
constexpr std::size_t kCpuQueue = 1000;            // packets that wait for the management CPU; estimate

}  // namespace

void Switch::arrive(std::uint32_t in, Packet& packet, Time_ps now_ps) {
  Port& port = ports_[in];
  port.in->tap(packet);
  std::uint32_t line_bytes = line_B(packet);
  PortTraffic& traffic = counters_[in].rx[class_of(packet).group];
  ++traffic.packets;
  traffic.bytes += line_bytes - kLineGap_B;
  if (packet.flags & Packet::kBadFcs) [[unlikely]] {
    // Cut-through has sent the header on before the FCS is known: the next store-and-forward port drops it.
    if (port.in->timing().cut_through_B == 0) {
      drop(packet, in, kNothing, 0, Fate::kFcsError, now_ps);
      return;
    }
  }
  if (packet.flags & Packet::kRouted) {
    if (packet.hops + 1 >= engine::kTtl) [[unlikely]] {
      drop(packet, in, kNothing, 0, Fate::kTtlExpired, now_ps);
      return;
    }
    ++packet.hops;
    if (setup_.routing.cpu_forwarding) [[unlikely]] {
      pass_to_cpu(in, packet, now_ps);
      return;
    }
  }
  forward(in, packet, line_bytes, now_ps);
}

void Switch::forward(std::uint32_t in, Packet& packet, std::uint32_t line_bytes, Time_ps now_ps) {
  std::uint32_t out = route(packet, now_ps);
  if (out == kNothing) [[unlikely]] {
    drop(packet, in, kNothing, 0, Fate::kNoRoute, now_ps);
    return;
  }
  Port& port = ports_[out];
  Class lane = class_of(packet);
  std::uint32_t q = lane.queue;
  std::uint32_t frame_B = line_bytes - kLineGap_B;
  if (frame_B > port.mtu_B + kEthernet_B) [[unlikely]] {
    drop(packet, in, out, q, Fate::kTooBig, now_ps);
    return;
  }
  if (port.down || (port.dead >> q & 1) != 0) [[unlikely]] {
    drop(packet, in, out, q, port.down ? Fate::kPortDown : Fate::kWatchdogDrop, now_ps);
    return;
  }
  auto bit = static_cast<std::uint8_t>(1u << q);
  if (port.service_ps == kNever_ps && port.free_ps <= now_ps && ((port.paused | port.waiting) & bit) == 0) {
    // Leaves as soon as it is here: takes no buffer.
    transmit(out, q, 0, packet, line_bytes, now_ps);
    return;
  }
  enqueue(in, out, lane, frame_B, packet, now_ps);
}

void Switch::enqueue(std::uint32_t in, std::uint32_t out, Class lane, std::uint32_t frame_B, Packet& packet,
                     Time_ps now_ps) {
  Port& port = ports_[out];
  std::uint32_t q = lane.queue;
  std::uint32_t g = lane.group;
  Queue& queue = port.queues[q];
  std::uint32_t cells = buffer_.cells(frame_B);
  if (!buffer_.egress_has_room(q, queue.cells, cells)) [[unlikely]] {
    drop(packet, in, out, q, Fate::kTailDrop, now_ps);
    return;
  }
  if (setup_.qos.queues[q].ecn.enabled && !survives_red(out, q, packet)) [[unlikely]] {
    drop(packet, in, out, q, Fate::kWred, now_ps);
    return;
  }
  std::uint32_t slice = buffer_.slice(in, out);
  SharedBuffer::Place place = buffer_.admit(slice, in, g, cells);
  if (place == SharedBuffer::Place::kNone) [[unlikely]] {
    ++counters_[in].group_drops[g];
    drop(packet, in, out, q, setup_.qos.groups[g].lossless ? Fate::kNoHeadroom : Fate::kTailDrop, now_ps);
    return;
  }
  buffer_.egress_take(q, queue.cells, cells);
  std::uint32_t slot = take_slot();
  Packet& held = held_[slot];
  held = packet;
  held.time_ps = Held::pack(kNothing, in, frame_B);
  if (queue.head == kNothing) {
    queue.head = slot;
    port.waiting = static_cast<std::uint8_t>(port.waiting | 1u << q);
  } else {
    held_[queue.tail].time_ps = (held_[queue.tail].time_ps & ~Time_ps{Held::kNextMask}) | slot;
  }
  queue.tail = slot;
  queue.bytes += frame_B;
  queue.cells += cells;
  if (queue.bytes > counters_[out].max_queue_B[q]) counters_[out].max_queue_B[q] = queue.bytes;
  if (port.service_ps == kNever_ps && (port.paused >> q & 1) == 0) plan_service(out, std::max(now_ps, port.free_ps));
  if (place == SharedBuffer::Place::kHeadroom) [[unlikely]]
    send_xoff(in, slice, g, now_ps);
}

// Marks the packet as the queue's length asks for. False when it should be marked and cannot be.
bool Switch::survives_red(std::uint32_t out, std::uint32_t q, Packet& packet) {
  const EcnRamp& ramp = setup_.qos.queues[q].ecn;
  std::int64_t length_B = ports_[out].queues[q].bytes;
  if (ramp.weight_exponent > 0) {
    std::int64_t& average = average_q8_[out][q];
    average += ((length_B << 8) - average) >> ramp.weight_exponent;
    length_B = average >> 8;
  }
  if (length_B < ramp.min_B || !ecn_hits(ramp, length_B, random_[out])) return true;
  if ((packet.tos & kEcnMask) == 0) return !ramp.drops_not_ect;
  ++counters_[out].ecn_marked[q];
  packet.tos |= kEcnCe;
  return true;
}

std::uint32_t Switch::route(const Packet& packet, Time_ps now_ps) {
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
  return balance(table_->groups[group], packet, now_ps);
}

std::uint32_t Switch::balance(const RouteTable::Group& group, const Packet& packet, Time_ps now_ps) {
  const std::uint16_t* members = table_->members.data() + group.first;
  if (group.count == 1) return members[0];
  std::uint32_t hash = ecmp_hash(packet, *setup_.destinations, setup_.routing.hash_dest_qp, setup_.routing.hash_seed);
  if (setup_.routing.balancing == Balancing::kEcmp) return members[pick(hash, group.count)];
  auto least_loaded = [&] {
    std::uint32_t best = members[pick(hash, group.count)];
    auto load = [&](std::uint32_t p) {
      std::uint64_t bytes = 0;
      for (const Queue& queue : ports_[p].queues) bytes += queue.bytes;
      return bytes;
    };
    for (std::uint16_t i = 0; i < group.count; ++i) {
      if (load(members[i]) < load(best)) best = members[i];
    }
    return best;
  };
  switch (setup_.routing.balancing) {
    case Balancing::kSpray:
      return members[balancing_.below(group.count)];
    case Balancing::kAdaptive:
      return least_loaded();
    default:
      break;
  }
  Flowlet& flowlet = flowlets_[hash % flowlets_.size()];
  bool known = flowlet.last_ps >= 0 && flowlet.hash == hash && now_ps - flowlet.last_ps < setup_.routing.flowlet_gap_ps;
  if (!known) flowlet.port = static_cast<std::uint16_t>(least_loaded());
  flowlet.hash = hash;
  flowlet.last_ps = now_ps;
  return flowlet.port;
}

// Routing that the ASIC does not do: the management CPU takes packets one by one (facts CATALOG 4).
void Switch::pass_to_cpu(std::uint32_t in, const Packet& packet, Time_ps now_ps) {
  if (cpu_.size() >= kCpuQueue) {
    drop(packet, in, kNothing, 0, Fate::kCpuDrop, now_ps);
    return;
  }
  cpu_free_ps_ =
      std::max(cpu_free_ps_, now_ps) + kSecond_ps / std::max<std::int64_t>(1, setup_.model.cpu_packets_per_s);
  cpu_.push_back({cpu_free_ps_, in, packet});
  if (cpu_.size() == 1) add_timer(cpu_free_ps_, TimerKind::kCpu, 0);
}

void Switch::drop(const Packet& packet, std::uint32_t in, std::uint32_t out, std::uint32_t q, Fate reason,
                  Time_ps now_ps) {
  ++counters_[in].drops[static_cast<std::size_t>(reason)];
  DropRecord record;
  record.time_ps = now_ps;
  record.in_port = in;
  record.out_port = out;
  record.queue = static_cast<std::uint8_t>(q);
  record.reason = reason;
  if (out != kNothing) {
    record.occupancy_B = ports_[out].queues[q].bytes;
    ++counters_[out].queue_drops[q];
  }
  record.source = static_cast<std::uint32_t>(packet.src);
  record.destination = static_cast<std::uint32_t>(packet.dst);
  record.dest_qp = packet.dest_qp;
  record.psn = packet.psn;
  record.opcode = static_cast<std::uint8_t>(packet.opcode);
  drops_.add(record);
  domain_.release(packet);
}

}  // namespace weft::fabric
