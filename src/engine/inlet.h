// The receiving end of one direction of a link: packets on their way to one node. Owned by the node's domain; the
// sending end is an Outlet. Pause frames have a ring of their own: a MAC acts on them before the data that was sent
// ahead of them has passed the receiver's pipeline.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/domain.h"
#include "engine/packet_ring.h"

namespace weft::engine {

// A node with many ports keeps one bit for each that has packets on their way, and when the first of them is due.
struct InboxWord {
  std::uint64_t bits = 0;
  std::array<Time_ps, 64> next_ps;
  InboxWord() { next_ps.fill(kNever_ps); }
};
// Where an inlet is in it; null for a node that looks at all of its inlets.
struct Inbox {
  InboxWord* word = nullptr;
  std::uint8_t bit = 0;
};

class alignas(64) Inlet {
 public:
  Inlet(Domain& domain, std::uint32_t node, Inbox inbox = {})
      : domain_(domain), inbox_(inbox.word), node_(node), inbox_bit_(inbox.bit) {}

  // `packet.time_ps` must not go back and must lie at least one window after now.
  void enter(const Packet& packet) { enter(packet, packet.time_ps); }
  void enter(const PacketBody& body, Time_ps time_ps) {
    if (ring_.empty()) announce(time_ps);
    ring_.push(body, time_ps);
  }
  void enter_pause(const Packet& packet) {
    if (pauses_.empty()) announce(packet.time_ps);
    pauses_.push(packet);
    has_pauses_ = true;
  }

  Time_ps next_ps() const { return next_ps_; }
  void prefetch_front() const { ring_.prefetch_front(); }
  // The packet that is due at next_ps(); of two at one instant the pause comes first.
  bool pause_is_next() const { return has_pauses_ && pauses_.front().time_ps == next_ps_; }
  const Packet& front() const { return pause_is_next() ? pauses_.front() : ring_.front(); }
  void pop() {
    if (pause_is_next()) [[unlikely]] {
      pauses_.pop();
      has_pauses_ = !pauses_.empty();
    } else {
      ring_.pop();
    }
    plan();
  }
  // For a node that takes everything due before a time at once and handles it in its own order: calls
  // `seen(packet)` or `seen_pause(packet)` for each and returns the next time. The records stay where they are until
  // the visit ends: nobody else runs meanwhile.
  template <typename Seen, typename SeenPause>
  Time_ps take_until(Time_ps end_ps, Seen&& seen, SeenPause&& seen_pause) {
    ring_.take_until(end_ps, seen);
    if (has_pauses_) [[unlikely]] {
      pauses_.take_until(end_ps, seen_pause);
      has_pauses_ = !pauses_.empty();
    }
    plan();
    return next_ps_;
  }
  std::size_t waiting() const { return std::size_t{ring_.size()} + (has_pauses_ ? pauses_.size() : 0); }
  // Between runs of the engine: no mail is left then.
  std::uint32_t in_flight() const { return ring_.size() + pauses_.size(); }

  Domain& domain() { return domain_; }

 private:
  void plan() {
    next_ps_ = ring_.empty() ? kNever_ps : ring_.front().time_ps;
    if (has_pauses_) [[unlikely]]
      next_ps_ = std::min(next_ps_, pauses_.front().time_ps);
  }
  void announce(Time_ps time_ps) {
    next_ps_ = std::min(next_ps_, time_ps);
    if (inbox_ != nullptr) {
      inbox_->bits |= std::uint64_t{1} << inbox_bit_;
      inbox_->next_ps[inbox_bit_] = next_ps_;
    }
    domain_.wake(node_, time_ps);
  }

  // What a packet needs is in one cache line.
  Time_ps next_ps_ = kNever_ps;  // of the first packet in either ring
  PacketRing ring_;
  Domain& domain_;
  InboxWord* inbox_;
  std::uint32_t node_;
  std::uint8_t inbox_bit_;
  bool has_pauses_ = false;

 public:
  bool tapped = false;  // somebody wants to see what arrives

 private:
  PacketRing pauses_;
};

}  // namespace weft::engine
