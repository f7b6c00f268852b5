#include "fabric/switch/records.h"

#include <algorithm>

#include "base/check.h"

namespace weft::fabric {

using engine::PacketBody;

SwitchRecords::SwitchRecords(const SwitchSetup& setup, std::vector<SwitchPort>& ports, const WaitingPackets& waiting,
                             engine::Domain& domain)
    : setup_(setup), ports_(ports), waiting_(waiting), domain_(domain) {}

void SwitchRecords::drop(const PacketBody& packet, std::uint32_t in, std::uint32_t out, std::uint32_t q, Fate reason,
                         Time_ps now_ps) {
  WEFT_DCHECK(in < ports_.size() && (out == kNoPort || out < ports_.size()) && q < kClasses, "a queue of this switch");
  ++ports_[in].counters.drops[static_cast<std::size_t>(reason)];
  DropRecord record;
  record.first_ps = record.last_ps = now_ps;
  record.in_port = in;
  record.out_port = out;
  record.queue = static_cast<std::uint8_t>(q);
  record.reason = reason;
  if (out != kNoPort) {
    record.occupancy_B = ports_[out].lanes[q].queue.bytes;
    ++ports_[out].counters.queue_drops[q];
  }
  record.source = static_cast<std::uint32_t>(packet.src);
  record.destination = static_cast<std::uint32_t>(packet.dst);
  record.endpoint = packet.endpoint;
  engine::PacketDescription description = domain_.formats->describe({packet, now_ps});
  record.sequence = description.sequence;
  record.opcode = description.opcode;
  record.udp_src_port = packet.udp_src_port;
  const std::size_t place = out == kNoPort ? ports_.size() + in : out;
  drops_.add(static_cast<std::uint32_t>((place * kClasses + q) * kFateCount + static_cast<std::size_t>(reason)),
             record);
  domain_.release({packet, now_ps});
}

// Marks are many: what most of them need is the record that they belong to.
void SwitchRecords::add_mark(const SwitchPort& out, std::uint32_t q, const PacketBody& packet, Time_ps now_ps) {
  const std::uint32_t key = out.number * static_cast<std::uint32_t>(kClasses) + q;
  const std::uint32_t queue_B = out.lanes[q].queue.bytes;
  if (SwitchEvent* event = marks_.open(key, now_ps)) {
    WEFT_DCHECK(event->last_ps <= now_ps, "time does not run back between two marks");
    event->last_ps = now_ps;
    ++event->count;
    event->queue_B = std::max(event->queue_B, queue_B);
    return;
  }
  SwitchEvent event;
  event.first_ps = event.last_ps = now_ps;
  event.port = out.number;
  event.queue = static_cast<std::uint8_t>(q);
  event.queue_B = queue_B;
  event.source = static_cast<std::uint32_t>(packet.src);
  event.destination = static_cast<std::uint32_t>(packet.dst);
  event.endpoint = packet.endpoint;
  event.sequence = domain_.formats->describe({packet, now_ps}).sequence;
  marks_.add(key, event);
}

void SwitchRecords::event(SwitchEventKind kind, std::uint32_t p, std::uint32_t q, Time_ps now_ps) {
  if (!setup_.record) return;
  SwitchEvent event;
  event.kind = kind;
  event.first_ps = event.last_ps = now_ps;
  event.port = p;
  event.queue = static_cast<std::uint8_t>(q);
  if (kind == SwitchEventKind::kStorm) event.queue_B = ports_[p].lanes[q].queue.bytes;
  events_.add(event);
}

void SwitchRecords::pause_begins(std::uint32_t p, std::uint8_t pause_class, bool sent, Time_ps now_ps) {
  pauses_.add({now_ps, p, pause_class, sent, PauseEnd::kStart});
}

void SwitchRecords::group_pause_begins(std::uint32_t p, std::uint32_t g, Time_ps now_ps) {
  PauseEvent event{now_ps, p, setup_.qos.pause_of_group[g], true, PauseEnd::kStart};
  if (setup_.record) find_cause(event, p, g);
  pauses_.add(event);
}

void SwitchRecords::pause_ends(std::uint32_t p, std::uint8_t pause_class, bool sent, PauseEnd end, Time_ps now_ps) {
  WEFT_DCHECK(end != PauseEnd::kStart, "the end of a pause is none that begins");
  pauses_.add({now_ps, p, pause_class, sent, end});
}

// Which queue holds most of what this group has in the buffer. Walks through all of it, for pauses that the log keeps.
void SwitchRecords::find_cause(PauseEvent& event, std::uint32_t p, std::uint32_t g) const {
  if (pauses_.total > pauses_.records.size()) return;  // will not be kept
  for (const SwitchPort& out : ports_) {
    for (std::uint32_t q = 0; q < kClasses; ++q) {
      if ((out.waiting >> q & 1) == 0) continue;
      std::uint32_t of_group_B = 0;
      for (std::uint32_t slot = out.lanes[q].queue.head; slot != engine::kNoSlot; slot = waiting_[slot].next) {
        if (waiting_[slot].in == p && waiting_[slot].group == g) of_group_B += waiting_[slot].frame_B;
      }
      event.group_B += of_group_B;
      if (of_group_B <= event.queue_B) continue;
      event.queue_B = of_group_B;
      event.queue_port = out.number;
      event.queue = static_cast<std::uint8_t>(q);
      event.egress_B = out.lanes[q].queue.bytes;
    }
  }
}

// Null: nobody asked, it is on its way back, or there is no room for another hop.
engine::Telemetry* SwitchRecords::open_telemetry(const PacketBody& packet) {
  const std::uint32_t slot = domain_.cold[packet.aux].telemetry;
  if (slot == engine::kNoSlot) return nullptr;
  engine::Telemetry& telemetry = domain_.telemetry[slot];
  WEFT_DCHECK(telemetry.count <= engine::Telemetry::kMaxHops, "telemetry has room for its hops");
  return telemetry.closed || telemetry.count == engine::Telemetry::kMaxHops ? nullptr : &telemetry;
}

void SwitchRecords::begin_hop(std::uint32_t in, const PacketBody& packet, Time_ps now_ps) {
  engine::Telemetry* telemetry = open_telemetry(packet);
  if (telemetry == nullptr) return;
  engine::HopRecord& hop = telemetry->hops[telemetry->count];
  hop = {};
  hop.arrived_ps = now_ps;
  hop.in_port = static_cast<std::uint16_t>(in);
}

void SwitchRecords::end_hop(const SwitchPort& port, std::uint32_t q, std::uint32_t queue_B, PacketBody& packet,
                            Time_ps now_ps) {
  engine::Telemetry* telemetry = open_telemetry(packet);
  if (telemetry == nullptr) return;
  engine::HopRecord& hop = telemetry->hops[telemetry->count++];
  WEFT_DCHECK(hop.arrived_ps <= now_ps, "a packet leaves after it came in");
  packet.header_words = static_cast<std::uint8_t>(packet.header_words + engine::telemetry_hop_words(telemetry->format));
  hop.left_ps = now_ps;
  hop.queue_B = queue_B;
  hop.queue = static_cast<std::uint8_t>(q);
  hop.node = setup_.number;
  hop.ttl = static_cast<std::uint8_t>(engine::kTtl - packet.hops);
  hop.out_port = port.number;
  hop.rate_Mbps = static_cast<std::uint32_t>(setup_.ports[port.number].rate_bps / 1'000'000);
  for (const SwitchPort::Lane& lane : port.lanes) hop.tx_B += lane.tx.bytes + lane.tx.packets * kLineGap_B;
}

}  // namespace weft::fabric
