// Ports of a switch: when each is free, queues that wait, are paused or take nothing, what came in
// and went out. One for each cable; cache lines are laid out for the way of a packet. All objects of a switch see them.
#pragma once

#include <array>
#include <cstdint>

#include "base/time.h"
#include "engine/inlet.h"
#include "fabric/link.h"
#include "fabric/shared_buffer.h"
#include "spec/switch_counters.h"

namespace weft::fabric {

inline constexpr std::uint32_t kNoPort = 0xffffffff;

// Queue and priority group of a packet at a switch.
struct PacketClass {
  std::uint16_t bits = 0;
  PacketClass() = default;
  PacketClass(std::uint32_t queue, std::uint32_t group, std::uint32_t ingress)
      : bits(static_cast<std::uint16_t>(queue | group << 3 | ingress << 6)) {}
  std::uint32_t queue() const { return bits & 7u; }
  std::uint32_t group() const { return bits >> 3u & 7u; }
  std::uint32_t ingress() const { return bits >> 6u; }  // of the group: index in SwitchPort::ingress
};

struct alignas(64) SwitchPort {
  struct Queue {
    std::uint32_t head = engine::kNoSlot, tail = engine::kNoSlot;  // slots of WaitingPackets
    std::uint32_t bytes = 0;
    std::uint32_t cells = 0;
  };
  // One queue of one port: all that it is touched for, in one cache line.
  struct alignas(64) Lane {
    Queue queue;
    std::uint32_t max_queue_B = 0;
    std::uint32_t deficit_B = 0;
    std::uint32_t resume_cells = 0;  // when it dropped last: it takes packets again from here on down
    PortTraffic tx;
  };
  // Ingress group.
  struct Ingress {
    PortTraffic rx;
    SharedBuffer::Group held;  // of a buffer of one slice
  };

  Time_ps free_ps = 0;                // the last frame has left
  Time_ps service_ps = kNever_ps;     // planned, because something waits that may leave
  engine::Inlet* outbound = nullptr;  // where packets go; null when that is in another domain
  Time_ps delay_ps = 0;               // of the link: flight and the far node's pipeline
  Time_ps cut_ps = 0;                 // the far node handles a frame when its first bytes, of so much time, are in
  std::uint32_t ps_per_byte = 0;
  std::uint16_t number = 0;
  std::uint8_t waiting = 0;     // queues with packets
  std::uint8_t paused = 0;      // queues that the peer has stopped
  std::uint8_t reject = 0;      // queues that take nothing: watchdog_drop, or all when the link is down
  std::uint8_t closed = 0;      // paused or reject: nothing passes them by without waiting
  std::uint8_t xoff = 0;        // groups that have stopped the peer
  std::uint8_t turn = 0;        // DWRR
  std::uint32_t longest_B = 0;  // frame that the port's MTU allows
  std::uint8_t full = 0;        // queues that dropped last, until `drop_resume` is free
  // The second line: what arrivals touch. The groups that most packets belong to come first.
  alignas(64) std::array<Ingress, kClasses> ingress;
  std::array<Lane, kClasses> lanes;
  LinkDirection* out = nullptr;
  LinkDirection* in = nullptr;
  std::uint8_t watchdog_drop = 0;  // queues that the watchdog drops
  std::uint8_t ignore_pause = 0;   // queues that the watchdog lets send in spite of pauses
  bool down = false;
  std::uint64_t ledgered = 0;  // of its packets, those that the ledger of `out` knows
  Time_ps expiry_timer_ps = kNever_ps;
  Time_ps release_timer_ps = kNever_ps;
  RarePortCounters counters;

  bool has_eligible() const { return (waiting & ~paused) != 0; }
  void set_reject() {
    reject = down ? 0xff : watchdog_drop;
    closed = paused | reject;
  }
  void set_paused(std::uint8_t queues) {
    paused = static_cast<std::uint8_t>(queues & ~ignore_pause & ~watchdog_drop);
    closed = paused | reject;
  }
  std::uint64_t waiting_B() const {
    std::uint64_t sum = 0;
    for (const Lane& lane : lanes) sum += lane.queue.bytes;
    return sum;
  }
  std::uint64_t received() const {
    std::uint64_t sum = 0;
    for (const Ingress& group : ingress) sum += group.rx.packets;
    return sum;
  }
  std::uint64_t sent() const {
    std::uint64_t sum = 0;
    for (const Lane& lane : lanes) sum += lane.tx.packets;
    return sum;
  }
};

}  // namespace weft::fabric
