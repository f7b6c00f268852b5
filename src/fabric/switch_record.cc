// What a switch remembers for whoever asks later why something was slow: marks, the queue behind a pause, the watchdog,
// links. Only where its setup says so; none of it is on the way of a packet that is neither marked nor refused.
#include <algorithm>

#include "fabric/switch.h"

namespace weft::fabric {

// Marks are many: what most of them need is the record that they belong to.
void Switch::record_mark(const Port& out, std::uint32_t q, const engine::PacketBody& packet, Time_ps now_ps) {
  const std::uint32_t key = out.number * static_cast<std::uint32_t>(kClasses) + q;
  const std::uint32_t queue_B = out.lanes[q].queue.bytes;
  if (SwitchEvent* event = mark_log_.open(key, now_ps)) {
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
  mark_log_.add(key, event);
}

void Switch::record_event(SwitchEventKind kind, std::uint32_t p, std::uint32_t q, Time_ps now_ps) {
  SwitchEvent event;
  event.kind = kind;
  event.first_ps = event.last_ps = now_ps;
  event.port = p;
  event.queue = static_cast<std::uint8_t>(q);
  if (kind == SwitchEventKind::kStorm) event.queue_B = ports_[p].lanes[q].queue.bytes;
  event_log_.add(event);
}

// Which queue holds most of what this group has in the buffer. Walks through all of it, for pauses that the log keeps.
void Switch::record_cause(PauseEvent& event, std::uint32_t p, std::uint32_t g) const {
  if (pause_log_.total > pause_log_.records.size()) return;  // will not be kept
  for (const Port& out : ports_) {
    for (std::uint32_t q = 0; q < kClasses; ++q) {
      if ((out.waiting >> q & 1) == 0) continue;
      std::uint32_t of_group_B = 0;
      for (std::uint32_t slot = out.lanes[q].queue.head; slot != kNothing; slot = held_[slot].next) {
        if (held_[slot].in == p && held_[slot].group == g) of_group_B += held_[slot].frame_B;
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

std::optional<std::uint32_t> Switch::way_of(const engine::PacketBody& packet, Time_ps at_ps) const {
  const RouteTable* table = &setup_.routes.front().table;
  for (const RouteEpoch& epoch : setup_.routes) {
    if (epoch.from_ps <= at_ps) table = &epoch.table;
  }
  const auto was_down = [&](std::uint32_t port) {
    if (setup_.link_changes.empty()) return ports_[port].down;
    bool down = false;
    for (const LinkChange& change : setup_.link_changes) {
      if (change.port == port && change.time_ps <= at_ps) down = !change.up;
    }
    return down;
  };
  const auto of_port = [&](std::uint32_t port) {
    return setup_.lags.member(port, lag_hash(packet, *setup_.destinations, setup_.routing), was_down);
  };
  const auto of_group = [&](const RouteTable::Group& group) -> std::optional<std::uint32_t> {
    const std::uint16_t* members = table->members.data() + group.first;
    if (group.count == 0) return std::nullopt;
    if (group.count == 1) return of_port(members[0]);
    if (setup_.routing.balancing != Balancing::kEcmp) return std::nullopt;
    return of_port(
        members[pick(ecmp_hash(packet, ways_.destinations, ways_.hash_dest_qp, ways_.hash_seed), group.count)]);
  };
  for (const RouteTable::Exception& each : table->exceptions) {
    if (each.destination == packet.dst) return of_group(table->groups[each.group]);
  }
  const Destination& destination = (*setup_.destinations)[packet.dst];
  if (destination.edge == setup_.number) return destination.port;
  const std::uint16_t group = table->group_of_edge[destination.edge];
  if (group == kNoGroup) return std::nullopt;
  return of_group(table->groups[group]);
}

}  // namespace weft::fabric
