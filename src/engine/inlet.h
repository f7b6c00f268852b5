// The receiving end of one direction of a link: packets on their way to one node. Owned by the node's domain; the
// sending end is an Outlet. Pause frames have a ring of their own: a MAC acts on them before the data that was sent
// ahead of them has passed the receiver's pipeline.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/check.h"
#include "engine/domain.h"
#include "engine/packet_ring.h"

namespace weft::engine {

class Inlet;

// A node with many ports keeps one bit for each that has packets on their way, and when the first of them is due.
struct InboxWord {
  std::uint64_t bits = 0;
  Domain* domain = nullptr;  // of the node
  std::uint32_t node = 0;
  std::array<Time_ps, 64> next_ps;
  std::array<const Inlet*, 64> inlets{};
  InboxWord() { next_ps.fill(kNever_ps); }

  // Asks for the inlets with packets that are due.
  static void prefetch(const void* self, Time_ps end_ps) {
    const auto& word = *static_cast<const InboxWord*>(self);
    for (std::uint64_t left = word.bits; left != 0; left &= left - 1) {
      const auto i = static_cast<std::size_t>(std::countr_zero(left));
      if (word.next_ps[i] < end_ps) __builtin_prefetch(word.inlets[i]);
    }
  }
};
// Where an inlet is in it; null for a node that looks at all of its inlets.
struct Inbox {
  InboxWord* word = nullptr;
  std::uint8_t bit = 0;
};

class alignas(64) Inlet {
 public:
  Inlet(Domain& domain, std::uint32_t node, Inbox inbox = {})
      : ring_(PacketRing::Borrowed{}), inbox_bit_(inbox.bit & 63), inbox_(inbox.word), domain_(domain), node_(node) {
    ring_.begin_at(first_slots_.data());
    if (inbox_ == nullptr) return;
    WEFT_CHECK(inbox_->inlets[inbox_bit_] == nullptr, "an inbox has one inlet for each bit");
    WEFT_CHECK(inbox_->domain == nullptr || inbox_->domain == &domain, "a node is in one domain");
    inbox_->domain = &domain;
    inbox_->node = node;
    inbox_->inlets[inbox_bit_] = this;
    domain.set_hot(node, inbox_);
    domain.set_prepare(node, &InboxWord::prefetch, inbox_);
  }

  // `packet.time_ps` must not go back and must lie at least one window after now.
  void enter(const Packet& packet) { enter(packet, packet.time_ps); }
  void enter(const PacketBody& body, Time_ps time_ps) {
    WEFT_DCHECK(time_ps >= domain_.window_end_ps(), "a packet is due after the window in which it is sent");
    WEFT_DCHECK(ring_.empty() || ring_.back().time_ps <= time_ps, "a link delivers in order");
    if (ring_.empty()) {
      announce(time_ps);
      ring_.push_first(body, time_ps);
    } else {
      ring_.push(body, time_ps);
    }
  }
  void enter_pause(const Packet& packet) {
    WEFT_DCHECK(packet.time_ps >= domain_.window_end_ps(), "a pause is due after the window in which it is sent");
    WEFT_DCHECK(!has_pauses_ || pauses_->back().time_ps <= packet.time_ps, "a link delivers pauses in order");
    if (!has_pauses_) {
      announce(packet.time_ps);
      if (pauses_ == nullptr) pauses_ = std::make_unique<PacketRing>();
      has_pauses_ = true;
    }
    pauses_->push(packet);
  }

  // When the first packet in either ring is due.
  Time_ps next_ps() const {
    const Time_ps data_ps = ring_.empty() ? kNever_ps : ring_.front().time_ps;
    return has_pauses_ ? std::min(data_ps, pauses_->front().time_ps) : data_ps;
  }
  void prefetch_front() const { ring_.prefetch_front(); }
  // The packet that is due at next_ps(); of two at one instant the pause comes first.
  bool pause_is_next() const { return has_pauses_ && pauses_->front().time_ps == next_ps(); }
  const Packet& front() const { return pause_is_next() ? pauses_->front() : ring_.front(); }
  void pop() {
    WEFT_DCHECK(waiting() > 0, "a packet that is taken is there");
    if (pause_is_next()) [[unlikely]] {
      pauses_->pop();
      has_pauses_ = !pauses_->empty();
    } else {
      ring_.pop();
    }
  }
  // For a node that takes everything due before a time at once and handles it in its own order: calls
  // `seen(packet)` or `seen_pause(packet)` for each and returns the next time. The records stay where they are until
  // the visit ends: nobody else runs meanwhile.
  template <typename Seen, typename SeenPause>
  Time_ps take_until(Time_ps end_ps, Seen&& seen, SeenPause&& seen_pause) {
    Time_ps next_ps = ring_.take_until(end_ps, seen);
    if (has_pauses_) [[unlikely]] {
      next_ps = std::min(next_ps, pauses_->take_until(end_ps, seen_pause));
      has_pauses_ = !pauses_->empty();
    }
    WEFT_DCHECK(next_ps >= end_ps, "all that is due was taken");
    return next_ps;
  }
  std::size_t waiting() const { return std::size_t{ring_.size()} + (has_pauses_ ? pauses_->size() : 0); }
  // Between runs of the engine: no mail is left then.
  std::uint32_t in_flight() const { return static_cast<std::uint32_t>(waiting()); }

  Domain& domain() { return domain_; }

 private:
  void announce(Time_ps time_ps) {
    if (inbox_ == nullptr) {
      domain_.wake(node_, time_ps);
      return;
    }
    InboxWord& word = *inbox_;
    word.bits |= std::uint64_t{1} << inbox_bit_;
    word.next_ps[inbox_bit_] = std::min(word.next_ps[inbox_bit_], time_ps);
    word.domain->wake(word.node, time_ps);
  }

  // Fields for a packet, and the first packet itself, are one cache line.
  [[no_unique_address]] PacketRing ring_;
  std::uint8_t inbox_bit_ : 6;
  bool has_pauses_ : 1 = false;

 public:
  bool tapped : 1 = false;  // somebody wants to see what arrives

 private:
  InboxWord* inbox_;
  std::array<Packet, PacketRing::kFirstCapacity> first_slots_;
  std::unique_ptr<PacketRing> pauses_;
  Domain& domain_;
  std::uint32_t node_;
};
static_assert(sizeof(Inlet) == 320);

}  // namespace weft::engine
