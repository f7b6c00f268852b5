// One direction of a link: packets on their way to one node. Within a domain a push goes straight to
// the receiver's ring; between domains it goes to the mailbox of that pair of domains, which the receiver empties in
// the next window, so that every ring and pool has one owner. Pause frames have a ring of their own: a MAC acts on them
// before the data that was sent ahead of them has passed the receiver's pipeline.
#pragma once

#include <array>
#include <cstring>

#include "engine/domain.h"
#include "engine/mailbox.h"
#include "engine/packet_ring.h"

namespace weft::engine {

// A node with many ports keeps one bit for each that has packets on their way, and when the first of them is due.
struct InboxWord {
  std::uint64_t bits = 0;
  std::array<Time_ps, 64> next_ps;
  InboxWord() { next_ps.fill(kNever_ps); }
};
// Where a channel is in it; null for a node that looks at all of its channels.
struct Inbox {
  InboxWord* word = nullptr;
  std::uint8_t bit = 0;
};

class alignas(64) Channel {
 public:
  // A channel between domains needs a route for its mail.
  Channel(Domain& source, Domain& destination, std::uint32_t destination_node, Inbox inbox = {},
          MailRoute* route = nullptr)
      : destination_(destination),
        inbox_(inbox.word),
        destination_node_(destination_node),
        inbox_bit_(inbox.bit),
        remote_(&source != &destination),
        source_(source),
        route_(route) {}

  // `packet.time_ps` must not go back and must lie at least one window after now.
  void push(const Packet& packet) { push(packet, packet.time_ps); }
  void push(const PacketBody& body, Time_ps time_ps) {
    if (remote_) [[unlikely]] {
      push_remote({body, time_ps});
      return;
    }
    enter(body, time_ps);
  }
  void push_pause(const Packet& packet) {
    if (remote_) {
      push_remote(packet);
    } else {
      enter_pause(packet);
    }
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

  Domain& destination() { return destination_; }
  void enter_from_mail(const Packet& packet) {
    packet.transport == kLinkControl ? enter_pause(packet) : enter(packet, packet.time_ps);
  }

 private:
  void push_remote(const Packet& packet);
  void mail_cold(Mailbox& box, const Packet& packet);
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
    destination_.wake(destination_node_, time_ps);
  }
  void enter(const PacketBody& body, Time_ps time_ps) {
    if (ring_.empty()) announce(time_ps);
    ring_.push(body, time_ps);
  }
  void enter_pause(const Packet& packet) {
    if (pauses_.empty()) announce(packet.time_ps);
    pauses_.push(packet);
    has_pauses_ = true;
  }

  // Written by the receiving side only; what a packet needs is in one cache line.
  Time_ps next_ps_ = kNever_ps;  // of the first packet in either ring
  PacketRing ring_;
  Domain& destination_;
  InboxWord* inbox_;
  std::uint32_t destination_node_;
  std::uint8_t inbox_bit_;
  bool remote_;
  bool has_pauses_ = false;

 public:
  bool tapped = false;  // somebody wants to see what arrives

 private:
  PacketRing pauses_;
  Domain& source_;
  MailRoute* route_;  // only between domains
};

}  // namespace weft::engine
