#include "fabric/switch/admission.h"

#include <algorithm>

#include "base/check.h"

namespace weft::fabric {

using engine::PacketBody;

Admission::Admission(const SwitchSetup& setup, std::vector<SwitchPort>& ports, const Classifier& classifier,
                     ServicePlan& plan, PauseEngine& pauses, SwitchRecords& records)
    : setup_(setup),
      ports_(ports),
      plan_(plan),
      pauses_(pauses),
      records_(records),
      buffer_(setup.model, setup.qos, setup.ports),
      marking_(setup),
      resume_cells_(buffer_.cells(static_cast<std::uint32_t>(setup.model.drop_resume_B))) {
  WEFT_CHECK(ports.size() <= WaitingPackets::kMaxPorts, "more ports than a switch can have");
  if (!buffer_.has_one_slice() || ports.empty()) return;
  std::array<SharedBuffer::Group*, kClasses> first{};
  for (std::uint32_t g = 0; g < kClasses; ++g) first[g] = &ports[0].ingress[classifier.ingress(g)].held;
  buffer_.keep_groups_at(first, sizeof(SwitchPort));
}

// A queue that takes nothing, or has dropped and is still too long.
bool Admission::is_refused(std::uint32_t in, SwitchPort& out, std::uint32_t q, const PacketBody& packet,
                           Time_ps now_ps) {
  if (out.reject >> q & 1) {
    records_.drop(packet, in, out.number, q, out.down ? Fate::kPortDown : Fate::kWatchdogDrop, now_ps);
    return true;
  }
  const SwitchPort::Lane& lane = out.lanes[q];
  if (lane.queue.cells > lane.resume_cells) {
    records_.drop(packet, in, out.number, q, Fate::kTailDrop, now_ps);
    return true;
  }
  out.full = static_cast<std::uint8_t>(out.full & ~(1u << q));
  return false;
}

bool Admission::red_admits(std::uint32_t in, SwitchPort& out, std::uint32_t q, PacketBody& packet, Time_ps now_ps) {
  switch (marking_.enqueue(out, q, packet)) {
    case Marking::Verdict::kPass:
      return true;
    case Marking::Verdict::kMarked:
      records_.mark(out, q, packet, now_ps);
      return true;
    case Marking::Verdict::kDrop:
      break;
  }
  records_.drop(packet, in, out.number, q, Fate::kWred, now_ps);
  return false;
}

void Admission::tail_drop(const PacketBody& packet, std::uint32_t in, SwitchPort& out, std::uint32_t q,
                          Time_ps now_ps) {
  SwitchPort::Lane& lane = out.lanes[q];
  if (lane.queue.cells > resume_cells_ && resume_cells_ > 0) {
    out.full = static_cast<std::uint8_t>(out.full | 1u << q);
    lane.resume_cells = lane.queue.cells - resume_cells_;
  }
  records_.drop(packet, in, out.number, q, Fate::kTailDrop, now_ps);
}

// Not inlined: half of all packets never wait, and their path stays short.
[[gnu::noinline]] void Admission::enqueue(std::uint32_t in, SwitchPort& out, PacketClass lane, std::uint32_t frame_B,
                                          PacketBody& packet, Time_ps now_ps) {
  const std::uint32_t q = lane.queue();
  const std::uint32_t g = lane.group();
  SwitchPort::Queue& queue = out.lanes[q].queue;
  const std::uint32_t cells = buffer_.cells(frame_B);
  WEFT_DCHECK(in < ports_.size() && frame_B > 0 && frame_B <= UINT16_MAX, "a frame that came in by a port");
  if ((out.reject | out.full) >> q & 1) [[unlikely]] {
    if (is_refused(in, out, q, packet, now_ps)) return;
  }
  if (!buffer_.egress_has_room(out.number, q, queue.cells, cells)) [[unlikely]] {
    tail_drop(packet, in, out, q, now_ps);
    return;
  }
  if (!marking_.passes_at_enqueue(q, queue.bytes, packet) && !red_admits(in, out, q, packet, now_ps)) [[unlikely]]
    return;
  const std::uint32_t slice = buffer_.slice(in, out.number);
  const SharedBuffer::Place place = buffer_.admit(slice, in, g, cells);
  if (place == SharedBuffer::Place::kNone) [[unlikely]] {
    ++ports_[in].counters.group_drops[g];
    if (setup_.qos.groups[g].lossless) {
      records_.drop(packet, in, out.number, q, Fate::kNoHeadroom, now_ps);
    } else {
      tail_drop(packet, in, out, q, now_ps);
    }
    return;
  }
  buffer_.egress_take(q, queue.cells, cells);
  const std::uint32_t slot = waiting_.take();
  waiting_[slot] = WaitingPackets::Held(packet, in, g, frame_B);
  if (queue.head == engine::kNoSlot) {
    queue.head = slot;
    out.waiting = static_cast<std::uint8_t>(out.waiting | 1u << q);
  } else {
    WEFT_DCHECK(waiting_[queue.tail].next == engine::kNoSlot, "the last packet of a queue has none behind it");
    waiting_[queue.tail].next = slot;
  }
  queue.tail = slot;
  queue.bytes += frame_B;
  queue.cells += cells;
  out.lanes[q].max_queue_B = std::max(out.lanes[q].max_queue_B, queue.bytes);
  if (out.service_ps == kNever_ps && (out.paused >> q & 1) == 0) plan_.add(out, std::max(now_ps, out.free_ps));
  if (place == SharedBuffer::Place::kHeadroom) [[unlikely]]
    pauses_.send_xoff(in, slice, g, now_ps);
}

void Admission::flush(std::uint32_t p, std::uint32_t q, Fate reason, Time_ps now_ps) {
  SwitchPort& port = ports_[p];
  while (port.waiting >> q & 1) {
    const std::uint32_t slot = port.lanes[q].queue.head;
    const WaitingPackets::Held held = waiting_[slot];
    const std::uint32_t cells = buffer_.cells(held.frame_B);
    unlink_head(port, q, held, cells);
    waiting_.give(slot);
    release(held.in, p, held.group, cells, now_ps);
    if (reason == Fate::kWatchdogDrop) ++port.counters.watchdog_tx_dropped[q];
    records_.drop(held.packet, held.in, p, q, reason, now_ps);
  }
}

std::vector<std::uint32_t> Admission::feeders(std::uint32_t port, std::uint32_t queue) const {
  std::vector<std::uint32_t> ports;
  for (std::uint32_t slot = ports_[port].lanes[queue].queue.head; slot != engine::kNoSlot; slot = waiting_[slot].next) {
    const std::uint32_t in = waiting_[slot].in;
    if (std::find(ports.begin(), ports.end(), in) == ports.end()) ports.push_back(in);
  }
  return ports;
}

bool Admission::is_consistent() const {
  std::uint64_t packets = 0;
  std::uint32_t egress = 0;
  std::vector<std::array<std::uint32_t, kClasses>> held(ports_.size());  // cells by ingress port and group
  for (const SwitchPort& port : ports_) {
    for (std::uint32_t q = 0; q < kClasses; ++q) {
      const SwitchPort::Queue& queue = port.lanes[q].queue;
      std::uint32_t bytes = 0, cells = 0, last = engine::kNoSlot;
      for (std::uint32_t slot = queue.head; slot != engine::kNoSlot; slot = waiting_[slot].next) {
        const WaitingPackets::Held& each = waiting_[slot];
        bytes += each.frame_B;
        cells += buffer_.cells(each.frame_B);
        held[each.in][each.group] += buffer_.cells(each.frame_B);
        last = slot;
        ++packets;
      }
      if (bytes != queue.bytes || cells != queue.cells || (bytes != 0) != (port.waiting >> q & 1)) return false;
      if (last != engine::kNoSlot && last != queue.tail) return false;
      if (bytes > port.lanes[q].max_queue_B) return false;
      egress += buffer_.egress_share(q, cells);
    }
    if (port.has_eligible() && port.service_ps == kNever_ps) return false;
  }
  for (std::uint32_t p = 0; p < ports_.size(); ++p) {
    for (std::uint32_t g = 0; g < kClasses; ++g) {
      if (buffer_.held_cells(p, g) != held[p][g]) return false;
    }
  }
  return packets == waiting_.count() && egress == buffer_.egress_used() && buffer_.is_consistent();
}

}  // namespace weft::fabric
