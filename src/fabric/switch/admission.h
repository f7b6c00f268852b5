// Packets that have to wait in a switch: RED, room in the shared buffer (fabric/shared_buffer.h), a slot, XOFF to the
// peer for what went to headroom; and the way back: what leaves gives its room back, which may send XON. A packet that
// finds its port free and its queue empty is not seen here.
#pragma once

#include <cstdint>
#include <vector>

#include "fabric/shared_buffer.h"
#include "fabric/switch/classifier.h"
#include "fabric/switch/marking.h"
#include "fabric/switch/pause_engine.h"
#include "fabric/switch/port.h"
#include "fabric/switch/records.h"
#include "fabric/switch/service_plan.h"
#include "fabric/switch/waiting_packets.h"

namespace weft::fabric {

class Admission {
 public:
  Admission(const SwitchSetup& setup, std::vector<SwitchPort>& ports, const Classifier& classifier, ServicePlan& plan,
            PauseEngine& pauses, SwitchRecords& records);
  Admission(const Admission&) = delete;
  Admission& operator=(const Admission&) = delete;

  const SharedBuffer& buffer() const { return buffer_; }
  SharedBuffer& buffer() { return buffer_; }
  Marking& marking() { return marking_; }
  const Marking& marking() const { return marking_; }
  WaitingPackets& waiting() { return waiting_; }
  const WaitingPackets& waiting() const { return waiting_; }

  // The packet waits, or is dropped for a reason.
  void enqueue(std::uint32_t in, SwitchPort& out, PacketClass lane, std::uint32_t frame_B, engine::PacketBody& packet,
               Time_ps now_ps);
  // The head of a queue leaves it and gives back its part of the egress pool; its slot is still taken.
  void unlink_head(SwitchPort& port, std::uint32_t q, const WaitingPackets::Held& held, std::uint32_t cells) {
    SwitchPort::Queue& queue = port.lanes[q].queue;
    WEFT_DCHECK(queue.bytes >= held.frame_B && queue.cells >= cells, "a queue holds what leaves it");
    queue.head = held.next;
    if (held.next == engine::kNoSlot) {
      port.waiting = static_cast<std::uint8_t>(port.waiting & ~(1u << q));
    } else {
      __builtin_prefetch(&waiting_[held.next]);
    }
    buffer_.egress_give(q, queue.cells, cells);
    queue.bytes -= held.frame_B;
    queue.cells -= cells;
    WEFT_DCHECK((queue.bytes == 0) == (held.next == engine::kNoSlot), "a queue without packets has no bytes");
  }
  // Frees the room that a packet of this group, on its way between these ports, had in the buffer.
  void release(std::uint32_t in, std::uint32_t out, std::uint32_t g, std::uint32_t cells, Time_ps now_ps) {
    const std::uint32_t slice = buffer_.slice(in, out);
    buffer_.release(slice, in, g, cells);
    if (pauses_.is_stopping(ports_[in], g) && buffer_.is_below_xon(slice, in, g)) [[unlikely]]
      pauses_.send_xon(in, slice, g, now_ps);
  }
  // All packets of a queue are dropped.
  void flush(std::uint32_t p, std::uint32_t q, Fate reason, Time_ps now_ps);

  // Ports that packets waiting in this queue came in by; for finding circular waits.
  std::vector<std::uint32_t> feeders(std::uint32_t port, std::uint32_t queue) const;
  // Queues, slots and buffer say the same: for checks.
  bool is_consistent() const;

 private:
  bool is_refused(std::uint32_t in, SwitchPort& out, std::uint32_t q, const engine::PacketBody& packet, Time_ps now_ps);
  bool red_admits(std::uint32_t in, SwitchPort& out, std::uint32_t q, engine::PacketBody& packet, Time_ps now_ps);
  void tail_drop(const engine::PacketBody& packet, std::uint32_t in, SwitchPort& out, std::uint32_t q, Time_ps now_ps);

  const SwitchSetup& setup_;
  std::vector<SwitchPort>& ports_;
  ServicePlan& plan_;
  PauseEngine& pauses_;
  SwitchRecords& records_;
  WaitingPackets waiting_;
  SharedBuffer buffer_;
  Marking marking_;
  std::uint32_t resume_cells_;
};

}  // namespace weft::fabric
