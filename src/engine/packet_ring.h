// A growing FIFO of packet records, sorted by time because a link delivers in order.
#pragma once

#include <cstdint>
#include <memory>

#include "base/check.h"
#include "engine/packet.h"

namespace weft::engine {

class PacketRing {
 public:
  bool empty() const { return head_ == tail_; }
  std::uint32_t size() const { return tail_ - head_; }
  const Packet& front() const { return slots_[head_ & mask_]; }
  const Packet& at(std::uint32_t i) const { return slots_[(head_ + i) & mask_]; }
  void pop() { ++head_; }
  void push(const Packet& packet) {
    if (size() > mask_) [[unlikely]]
      grow();
    slots_[tail_++ & mask_] = packet;
  }

 private:
  static constexpr std::uint32_t kFirstCapacity = 8;

  void grow() {
    std::uint32_t capacity = slots_ ? 2 * (mask_ + 1) : kFirstCapacity;
    auto bigger = std::make_unique<Packet[]>(capacity);
    std::uint32_t count = size();
    for (std::uint32_t i = 0; i < count; ++i) bigger[i] = at(i);
    slots_ = std::move(bigger);
    mask_ = capacity - 1;
    head_ = 0;
    tail_ = count;
  }

  std::unique_ptr<Packet[]> slots_ = std::make_unique<Packet[]>(kFirstCapacity);
  std::uint32_t mask_ = kFirstCapacity - 1;
  std::uint32_t head_ = 0;
  std::uint32_t tail_ = 0;
};

}  // namespace weft::engine
