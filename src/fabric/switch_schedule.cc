// A packet goes out: which queue is next, and what happens when its first bit leaves.
#include <bit>

#include "fabric/switch.h"

namespace weft::fabric {

using engine::Packet;

void Switch::serve(std::uint32_t p, Time_ps now_ps) {
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
  std::uint32_t q = choose(port, eligible);
  std::uint32_t queue_B = port.queues[q].bytes;
  Packet packet;
  Held held = take_head(p, q, packet);
  transmit(p, q, queue_B, packet, held.frame_B + kLineGap_B, now_ps);
  // What the buffer regains may release the peer: after the packet has the wire, so that XON waits for it.
  release_buffer(held.in, p, class_of(packet).group, buffer_.cells(held.frame_B), now_ps);
  if ((port.waiting & ~port.paused) != 0) {
    plan_service(p, port.free_ps);
  } else {
    port.service_ps = kNever_ps;
  }
}

// Strict queues first, the highest number first; the others by deficit round robin (Shreedhar and Varghese).
std::uint32_t Switch::choose(Port& port, std::uint8_t eligible) {
  if (auto strict = static_cast<std::uint8_t>(eligible & strict_); strict != 0)
    return static_cast<std::uint32_t>(std::bit_width(strict)) - 1;
  if (std::has_single_bit(eligible)) return static_cast<std::uint32_t>(std::countr_zero(eligible));
  for (;;) {
    std::uint32_t q = port.turn;
    if (eligible >> q & 1) {
      std::uint32_t frame_B = Held::of(held_[port.queues[q].head]).frame_B;
      if (frame_B <= port.deficit_B[q]) {
        port.deficit_B[q] -= frame_B;
        return q;
      }
    } else {
      port.deficit_B[q] = 0;
    }
    do {
      port.turn = (port.turn + 1) % kClasses;
    } while ((eligible >> port.turn & 1) == 0);
    port.deficit_B[port.turn] += quantum_B_[port.turn];
  }
}

void Switch::transmit(std::uint32_t p, std::uint32_t q, std::uint32_t queue_B, Packet& packet, std::uint32_t line_bytes,
                      Time_ps now_ps) {
  Port& port = ports_[p];
  if (packet.flags & Packet::kHasCold) [[unlikely]]
    write_telemetry(p, q, queue_B, packet, now_ps);
  port.free_ps = now_ps + port.out->send(packet, line_bytes, now_ps);
  PortTraffic& traffic = counters_[p].tx[q];
  ++traffic.packets;
  traffic.bytes += line_bytes - kLineGap_B;
  if (port.out->next_release_ps() != kNever_ps) [[unlikely]]
    add_timer(port.out->next_release_ps(), TimerKind::kRelease, p);
}

void Switch::write_telemetry(std::uint32_t p, std::uint32_t q, std::uint32_t queue_B, Packet& packet, Time_ps now_ps) {
  std::uint32_t slot = domain_.cold[packet.aux].telemetry;
  if (slot == engine::kNoSlot) return;
  engine::Telemetry& telemetry = domain_.telemetry[slot];
  if (telemetry.count == engine::Telemetry::kMaxHops) return;
  engine::HopRecord& hop = telemetry.hops[telemetry.count++];
  hop.left_ps = now_ps;
  hop.queue_B = queue_B;
  hop.queue = static_cast<std::uint8_t>(q);
  hop.node = setup_.number;
  hop.out_port = static_cast<std::uint16_t>(p);
  hop.rate_Mbps = static_cast<std::uint32_t>(setup_.ports[p].rate_bps / 1'000'000);
  for (const PortTraffic& traffic : counters_[p].tx) hop.tx_B += traffic.bytes + traffic.packets * kLineGap_B;
}

Switch::Held Switch::take_head(std::uint32_t p, std::uint32_t q, Packet& packet) {
  Port& port = ports_[p];
  Queue& queue = port.queues[q];
  std::uint32_t slot = queue.head;
  packet = held_[slot];
  Held held = Held::of(packet);
  queue.head = held.next;
  if (held.next == kNothing) {
    port.waiting = static_cast<std::uint8_t>(port.waiting & ~(1u << q));
  } else {
    __builtin_prefetch(&held_[held.next]);
  }
  give_slot(slot);
  std::uint32_t cells = buffer_.cells(held.frame_B);
  buffer_.egress_give(q, queue.cells, cells);
  queue.bytes -= held.frame_B;
  queue.cells -= cells;
  return held;
}

void Switch::release_buffer(std::uint32_t in, std::uint32_t out, std::uint32_t g, std::uint32_t cells, Time_ps now_ps) {
  std::uint32_t slice = buffer_.slice(in, out);
  buffer_.release(slice, in, g, cells);
  if (ports_[in].xoff >> g & 1) [[unlikely]]
    maybe_send_xon(in, slice, g, now_ps);
}

void Switch::flush_queue(std::uint32_t p, std::uint32_t q, Fate reason, Time_ps now_ps) {
  while (ports_[p].waiting >> q & 1) {
    Packet packet;
    Held held = take_head(p, q, packet);
    release_buffer(held.in, p, class_of(packet).group, buffer_.cells(held.frame_B), now_ps);
    if (reason == Fate::kWatchdogDrop) ++counters_[p].watchdog_tx_dropped[q];
    drop(packet, held.in, p, q, reason, now_ps);
  }
}

}  // namespace weft::fabric
