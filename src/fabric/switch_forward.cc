// What a packet meets on its way through a switch now and then: marking, choosing among equal ports, the CPU, its end.
#include <algorithm>

#include "fabric/ecn_marker.h"
#include "fabric/switch.h"

namespace weft::fabric {

using engine::Packet;
using engine::PacketBody;

namespace {

constexpr std::size_t kCpuQueue = 1000;  // packets that wait for the management CPU; estimate

}  // namespace

// Does the ramp hit at the queue's length?
bool Switch::red_marks(const Port& out, std::uint32_t q) {
  const EcnRamp& ramp = ecn(out.number, q);
  std::int64_t length_B = out.lanes[q].queue.bytes;
  if (ramp.weight_exponent > 0) {
    std::int64_t& average = average_q8_[out.number][q];
    average += ((length_B << 8) - average) >> ramp.weight_exponent;
    length_B = average >> 8;
  }
  return ecn_hits(ramp, length_B, random_[out.number]);
}

// On the way in, where marking is done here or the packet cannot be marked: false when it has to be dropped instead.
bool Switch::red_admits(Port& out, std::uint32_t q, PacketBody& packet, Time_ps now_ps) {
  const EcnRamp& ramp = ecn(out.number, q);
  const bool can_mark = (packet.tos & kEcnMask) != 0;
  // Another port may be why it is asked.
  if (!ramp.enabled || (!ramp.at_enqueue && (can_mark || !ramp.drops_not_ect))) return true;
  if (!red_marks(out, q)) return true;
  if (!can_mark) return !ramp.drops_not_ect;
  ++out.counters.ecn_marked[q];
  packet.tos |= kEcnCe;
  if (setup_.record) [[unlikely]]
    record_mark(out, q, packet, now_ps);
  return true;
}

// On the way out, by what is left behind: whether it was marked.
bool Switch::mark(Port& out, std::uint32_t q, PacketBody& packet) {
  const EcnRamp& ramp = ecn(out.number, q);
  if ((packet.tos & kEcnMask) == 0 || !ramp.enabled || ramp.at_enqueue || !red_marks(out, q)) return false;
  ++out.counters.ecn_marked[q];
  packet.tos |= kEcnCe;
  return true;
}

// A static route of its destination.
const RouteTable::Group* Switch::exception(const PacketBody& packet) const {
  for (const RouteTable::Exception& each : table_->exceptions) {
    if (each.destination == packet.dst) return &table_->groups[each.group];
  }
  return nullptr;
}

std::uint32_t Switch::route(const PacketBody& packet, Time_ps now_ps) {
  const std::uint32_t port = next_hop(packet, now_ps);
  if (setup_.lags.empty()) return port;
  const std::uint32_t hash = lag_hash(packet, *setup_.destinations, setup_.routing);
  return setup_.lags.member(port, hash, [&](std::uint16_t p) { return ports_[p].down; });
}

std::uint32_t Switch::next_hop(const PacketBody& packet, Time_ps now_ps) {
  if (const RouteTable::Group* group = exception(packet)) return balance(*group, packet, now_ps);
  const Destination& destination = (*setup_.destinations)[packet.dst];
  if (destination.edge == setup_.number) return destination.port;
  std::uint16_t group = table_->group_of_edge[destination.edge];
  return group == kNoGroup ? kNothing : balance(table_->groups[group], packet, now_ps);
}

std::uint32_t Switch::balance(const RouteTable::Group& group, const PacketBody& packet, Time_ps now_ps) {
  const std::uint16_t* members = table_->members.data() + group.first;
  if (group.count == 1) return members[0];
  std::uint32_t hash = ecmp_hash(packet, ways_.destinations, ways_.hash_dest_qp, ways_.hash_seed);
  if (setup_.routing.balancing == Balancing::kEcmp) return members[pick(hash, group.count)];
  // A port's own state is known at once, whatever the routes still say: no signal, or a queue that the watchdog drops.
  // Where nothing is usable the hash decides, and the packet is dropped for that port's reason.
  std::uint32_t q = class_of(packet).queue();
  auto usable = [&](std::uint32_t p) { return (ports_[p].reject >> q & 1) == 0; };
  auto least_loaded = [&] {
    std::uint32_t best = members[pick(hash, group.count)];
    auto load = [&](std::uint32_t p) {
      std::uint64_t bytes = 0;
      for (const Lane& lane : ports_[p].lanes) bytes += lane.queue.bytes;
      return bytes;
    };
    for (std::uint16_t i = 0; i < group.count; ++i) {
      std::uint32_t p = members[i];
      if (usable(p) && (!usable(best) || load(p) < load(best))) best = p;
    }
    return best;
  };
  auto any = [&] {
    auto left = static_cast<std::uint32_t>(std::count_if(members, members + group.count, usable));
    if (left == 0 || left == group.count) return members[balancing_.below(group.count)];
    std::uint64_t n = balancing_.below(left);
    const std::uint16_t* member = members;
    while (!usable(*member) || n-- > 0) ++member;
    return *member;
  };
  switch (setup_.routing.balancing) {
    case Balancing::kSpray:
      return any();
    case Balancing::kAdaptive:
      return least_loaded();
    default:
      break;
  }
  Flowlet& flowlet = flowlets_[hash % flowlets_.size()];
  bool known = flowlet.last_ps >= 0 && flowlet.hash == hash && now_ps - flowlet.last_ps < setup_.routing.flowlet_gap_ps;
  if (!known || !usable(flowlet.port)) flowlet.port = static_cast<std::uint16_t>(least_loaded());
  flowlet.hash = hash;
  flowlet.last_ps = now_ps;
  return flowlet.port;
}

// Routing that the ASIC does not do: the management CPU takes packets one by one.
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

void Switch::drop(const PacketBody& packet, std::uint32_t in, std::uint32_t out, std::uint32_t q, Fate reason,
                  Time_ps now_ps) {
  ++ports_[in].counters.drops[static_cast<std::size_t>(reason)];
  DropRecord record;
  record.first_ps = record.last_ps = now_ps;
  record.in_port = in;
  record.out_port = out;
  record.queue = static_cast<std::uint8_t>(q);
  record.reason = reason;
  if (out != kNothing) {
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
  const std::size_t place = out == kNothing ? ports_.size() + in : out;
  drops_.add(static_cast<std::uint32_t>((place * kClasses + q) * kFateCount + static_cast<std::size_t>(reason)),
             record);
  domain_.release({packet, now_ps});
}

}  // namespace weft::fabric
