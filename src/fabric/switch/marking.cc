#include "fabric/switch/marking.h"

#include <algorithm>

#include "base/check.h"

namespace weft::fabric {

using engine::PacketBody;

namespace {

// The ramp of a yellow packet, as that of a green one.
EcnRamp yellow_ramp(EcnRamp ramp) {
  ramp.min_B = ramp.yellow_min_B;
  ramp.max_B = ramp.yellow_max_B;
  ramp.probability_ppb = ramp.yellow_probability_ppb;
  return ramp;
}
bool is_yellow(const EcnRamp& ramp, const PacketBody& packet) {
  return ramp.yellow_dscps != 0 && (ramp.yellow_dscps >> (packet.tos >> 2 & 63) & 1) != 0;
}

}  // namespace

Marking::Marking(const SwitchSetup& setup) : queues_(setup.qos.queues), average_q8_(setup.ports.size()) {
  for (const SwitchPortConfig& port : setup.ports) random_.emplace_back(setup.seed, port.port_id, RandomPurpose::kEcn);
  for (std::uint32_t q = 0; q < kClasses; ++q) use_ramps(q);
}

// Thresholds that the packet path looks at first: the smallest of all ports. The port's own ramp decides.
void Marking::use_ramps(std::uint32_t queue) {
  const auto bit = static_cast<std::uint8_t>(1u << queue);
  red_from_B_[queue] = mark_from_B_[queue] = 0xffffffff;
  mark_at_enqueue_ = static_cast<std::uint8_t>(mark_at_enqueue_ & ~bit);
  for (std::uint32_t port = 0; port < std::max<std::size_t>(own_.size(), 1); ++port) {
    const EcnRamp& each = ramp(port, queue);
    if (!each.enabled) continue;
    WEFT_CHECK(each.min_B >= 0 && each.max_B >= 0, "a threshold of a ramp is below zero");
    const std::int64_t min_B = each.yellow_dscps != 0 ? std::min(each.min_B, each.yellow_min_B) : each.min_B;
    const std::uint32_t from_B = each.weight_exponent > 0 ? 0 : static_cast<std::uint32_t>(min_B);
    if (each.at_enqueue || each.drops_not_ect) red_from_B_[queue] = std::min(red_from_B_[queue], from_B);
    if (!each.at_enqueue) mark_from_B_[queue] = std::min(mark_from_B_[queue], from_B);
    if (each.at_enqueue) mark_at_enqueue_ |= bit;
  }
}

void Marking::set_ramp(std::uint32_t port, std::uint32_t queue, const EcnRamp& ramp) {
  WEFT_CHECK(port < random_.size() && queue < kClasses, "a queue of this switch");
  if (own_.empty()) {
    std::array<EcnRamp, kClasses> all;
    for (std::size_t q = 0; q < kClasses; ++q) all[q] = queues_[q].ecn;
    own_.assign(random_.size(), all);
  }
  own_[port][queue] = ramp;
  use_ramps(queue);
}

// Does the ramp hit at the queue's length?
bool Marking::hits(const EcnRamp& ramp, const SwitchPort& out, std::uint32_t q) {
  std::int64_t length_B = out.lanes[q].queue.bytes;
  if (ramp.weight_exponent > 0) {
    std::int64_t& average = average_q8_[out.number][q];
    average += ((length_B << 8) - average) >> ramp.weight_exponent;
    WEFT_DCHECK(average >= 0, "the average of lengths is none below zero");
    length_B = average >> 8;
  }
  return ecn_hits(ramp, length_B, random_[out.number]);
}

void Marking::mark(SwitchPort& out, std::uint32_t q, PacketBody& packet) {
  WEFT_DCHECK((packet.tos & kEcnMask) != 0, "a packet that is marked says that it can be");
  ++out.counters.ecn_marked[q];
  packet.tos |= kEcnCe;
}

Marking::Verdict Marking::enqueue(SwitchPort& out, std::uint32_t q, PacketBody& packet) {
  const EcnRamp& ramp = this->ramp(out.number, q);
  const bool can_mark = (packet.tos & kEcnMask) != 0;
  // Another port may be why it is asked.
  if (!ramp.enabled || (!ramp.at_enqueue && (can_mark || !ramp.drops_not_ect))) return Verdict::kPass;
  if (!(is_yellow(ramp, packet) ? hits(yellow_ramp(ramp), out, q) : hits(ramp, out, q))) return Verdict::kPass;
  if (!can_mark) return ramp.drops_not_ect ? Verdict::kDrop : Verdict::kPass;
  mark(out, q, packet);
  return Verdict::kMarked;
}

// Decides by the packets that are left behind.
bool Marking::dequeue(SwitchPort& out, std::uint32_t q, PacketBody& packet) {
  const EcnRamp& ramp = this->ramp(out.number, q);
  if ((packet.tos & kEcnMask) == 0 || !ramp.enabled || ramp.at_enqueue) return false;
  if (!(is_yellow(ramp, packet) ? hits(yellow_ramp(ramp), out, q) : hits(ramp, out, q))) return false;
  mark(out, q, packet);
  return true;
}

}  // namespace weft::fabric
