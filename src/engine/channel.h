// One direction of a link: packets on their way to one node. Within a domain a push goes straight to
// the receiver's ring; between domains it goes to a mailbox that the receiver empties at the barrier,
// so that every ring and pool has one owner.
#pragma once

#include <cstring>
#include <vector>

#include "engine/domain.h"
#include "engine/packet_ring.h"

namespace weft::engine {

class Channel {
 public:
  Channel(Domain& source, Domain& destination, std::uint32_t destination_node)
      : source_(source),
        destination_(destination),
        destination_node_(destination_node),
        remote_(&source != &destination) {}

  // `packet.time_ps` must not go back and must lie at least one window after now.
  void push(const Packet& packet) {
    if (remote_) [[unlikely]] {
      push_remote(packet);
      return;
    }
    enter(packet);
  }

  bool empty() const { return ring_.empty(); }
  Time_ps next_ps() const { return next_ps_; }
  const Packet& front() const { return ring_.front(); }
  void pop() {
    ring_.pop();
    next_ps_ = ring_.empty() ? kNever_ps : ring_.front().time_ps;
  }
  std::uint32_t in_flight() const { return ring_.size() + static_cast<std::uint32_t>(mail_.size()); }

  // At the barrier, by the receiving domain.
  void empty_mailbox();

 private:
  struct Mail {
    Packet packet;
    Cold cold;
    std::uint32_t bytes_at;  // of the payload in mail_bytes_
  };
  void push_remote(const Packet& packet);
  void enter(const Packet& packet) {
    if (ring_.empty()) {
      next_ps_ = packet.time_ps;
      destination_.wake(destination_node_, packet.time_ps);
    }
    ring_.push(packet);
  }

  Time_ps next_ps_ = kNever_ps;  // of the first packet in the ring
  Domain& source_;
  Domain& destination_;
  std::uint32_t destination_node_;
  bool remote_;
  PacketRing ring_;
  std::vector<Mail> mail_;
  std::vector<std::uint8_t> mail_bytes_;
};

}  // namespace weft::engine
