// Which queue sends next, what is written into a packet that leaves, and queues that are emptied at once.
#include <bit>

#include "fabric/switch.h"

namespace weft::fabric {

using engine::Packet;
using engine::PacketBody;

// Strict queues first, the highest number first; the others by deficit round robin (Shreedhar and Varghese). For more
// than one queue.
std::uint32_t Switch::choose(Port& port, std::uint8_t eligible) {
  if (auto strict = static_cast<std::uint8_t>(eligible & strict_); strict != 0)
    return static_cast<std::uint32_t>(std::bit_width(strict)) - 1;
  for (;;) {
    std::uint32_t q = port.turn;
    if (eligible >> q & 1) {
      std::uint32_t frame_B = held_[port.lanes[q].queue.head].frame_B;
      if (frame_B <= port.lanes[q].deficit_B) {
        port.lanes[q].deficit_B -= frame_B;
        return q;
      }
    } else {
      port.lanes[q].deficit_B = 0;
    }
    do {
      port.turn = (port.turn + 1) % kClasses;
    } while ((eligible >> port.turn & 1) == 0);
    port.lanes[port.turn].deficit_B += quantum_B_[port.turn];
  }
}

// A packet that carries telemetry comes in: the record of this hop begins.
void Switch::note_arrival(std::uint32_t in, const PacketBody& packet, Time_ps now_ps) {
  std::uint32_t slot = domain_.cold[packet.aux].telemetry;
  if (slot == engine::kNoSlot) return;
  engine::Telemetry& telemetry = domain_.telemetry[slot];
  if (telemetry.closed || telemetry.count == engine::Telemetry::kMaxHops) return;
  telemetry.hops[telemetry.count] = {};
  telemetry.hops[telemetry.count].arrived_ps = now_ps;
  telemetry.hops[telemetry.count].in_port = static_cast<std::uint16_t>(in);
}

void Switch::write_telemetry(const Port& port, std::uint32_t q, std::uint32_t queue_B, PacketBody& packet,
                             Time_ps now_ps) {
  std::uint32_t slot = domain_.cold[packet.aux].telemetry;
  if (slot == engine::kNoSlot) return;
  engine::Telemetry& telemetry = domain_.telemetry[slot];
  if (telemetry.closed || telemetry.count == engine::Telemetry::kMaxHops) return;
  engine::HopRecord& hop = telemetry.hops[telemetry.count++];
  packet.header_words = static_cast<std::uint8_t>(packet.header_words + engine::telemetry_hop_words(telemetry.format));
  hop.left_ps = now_ps;
  hop.queue_B = queue_B;
  hop.queue = static_cast<std::uint8_t>(q);
  hop.node = setup_.number;
  hop.ttl = static_cast<std::uint8_t>(engine::kTtl - packet.hops);
  hop.out_port = port.number;
  hop.rate_Mbps = static_cast<std::uint32_t>(setup_.ports[port.number].rate_bps / 1'000'000);
  for (const Lane& lane : port.lanes) hop.tx_B += lane.tx.bytes + lane.tx.packets * kLineGap_B;
}

void Switch::transmit_by_wrapper_or_mail(Port& port, const Packet& packet, Time_ps now_ps) {
  port.out->send_by_wrapper_or_mail(packet, now_ps);
  if (port.out->next_release_ps() != kNever_ps) plan_release(port.number);
}

void Switch::flush_queue(std::uint32_t p, std::uint32_t q, Fate reason, Time_ps now_ps) {
  while (ports_[p].waiting >> q & 1) {
    std::uint32_t slot = ports_[p].lanes[q].queue.head;
    const Held held = held_[slot];
    std::uint32_t cells = buffer_.cells(held.frame_B);
    unlink_head(ports_[p], q, held, cells);
    give_slot(slot);
    release_buffer(held.in, p, held.group, cells, now_ps);
    if (reason == Fate::kWatchdogDrop) ++ports_[p].counters.watchdog_tx_dropped[q];
    drop(held.packet, held.in, p, q, reason, now_ps);
  }
}

}  // namespace weft::fabric
