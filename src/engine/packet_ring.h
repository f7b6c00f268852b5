// A growing FIFO of packet records, sorted by time because a link delivers in order. Has no memory before the first
// packet.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/packet.h"

namespace weft::engine {

class PacketRing {
 public:
  bool empty() const { return head_ == tail_; }
  std::uint32_t size() const { return tail_ - head_; }
  const Packet& front() const { return slots_[head_ & (capacity_ - 1)]; }
  const Packet& at(std::uint32_t i) const { return slots_[(head_ + i) & (capacity_ - 1)]; }
  void pop() { ++head_; }
  // The first few packets, two to a cache line, will be read soon.
  void prefetch_front() const {
    if (empty()) return;
    __builtin_prefetch(&at(0));
    __builtin_prefetch(&at(2));
  }
  // Pops what is due before a time; calls `seen` for each. It stays where it was until the next push.
  template <typename Seen>
  void take_until(Time_ps end_ps, Seen&& seen) {
    Packet* const slots = slots_.get();
    const std::uint32_t mask = capacity_ - 1;
    const std::uint32_t tail = tail_;
    std::uint32_t head = head_;
    for (; head != tail && slots[head & mask].time_ps < end_ps; ++head) seen(slots[head & mask]);
    head_ = head;
  }
  void push(const Packet& packet) { push(packet, packet.time_ps); }
  void push(const PacketBody& body, Time_ps time_ps) {
    if (size() == capacity_) [[unlikely]]
      grow();
    Packet& slot = slots_[tail_++ & (capacity_ - 1)];
    static_cast<PacketBody&>(slot) = body;
    slot.time_ps = time_ps;
  }

 private:
  static constexpr std::uint32_t kFirstCapacity = 8;

  void grow() {
    std::uint32_t capacity = capacity_ == 0 ? kFirstCapacity : 2 * capacity_;
    auto bigger = std::make_unique<Packet[]>(capacity);
    std::uint32_t count = size();
    for (std::uint32_t i = 0; i < count; ++i) bigger[i] = at(i);
    slots_ = std::move(bigger);
    capacity_ = capacity;
    head_ = 0;
    tail_ = count;
  }

  std::unique_ptr<Packet[]> slots_;
  std::uint32_t capacity_ = 0;  // a power of two
  std::uint32_t head_ = 0;
  std::uint32_t tail_ = 0;
};

}  // namespace weft::engine
