// Packets that wait in a switch, in slots: each names the next of its queue. The slot used last is used next.
#pragma once

#include <cstdint>
#include <vector>

#include "base/check.h"
#include "engine/packet.h"

namespace weft::fabric {

class WaitingPackets {
 public:
  static constexpr std::uint32_t kMaxPorts = 1 << 13;
  // In place of a time: the next slot of its queue (or free one), where it came in, its size.
  struct alignas(32) Held {
    engine::PacketBody packet;
    std::uint32_t next = 0;
    std::uint16_t in : 13 = 0;
    std::uint16_t group : 3 = 0;
    std::uint16_t frame_B = 0;

    Held() = default;
    Held(const engine::PacketBody& body, std::uint32_t in_port, std::uint32_t in_group, std::uint32_t size_B)
        : packet(body),
          next(engine::kNoSlot),
          in(in_port & (kMaxPorts - 1)),
          group(in_group & 7),
          frame_B(static_cast<std::uint16_t>(size_B)) {}
  };
  static_assert(sizeof(Held) == 32);

  Held& operator[](std::uint32_t slot) {
    WEFT_DCHECK(slot < held_.size(), "a slot of this switch");
    return held_[slot];
  }
  const Held& operator[](std::uint32_t slot) const {
    WEFT_DCHECK(slot < held_.size(), "a slot of this switch");
    return held_[slot];
  }
  std::uint64_t count() const { return count_; }

  std::uint32_t take() {
    if (free_ == engine::kNoSlot) grow();
    const std::uint32_t slot = free_;
    WEFT_DCHECK(slot < held_.size() && held_[slot].frame_B == 0, "a slot that is taken was free");
    free_ = held_[slot].next;
    ++count_;
    return slot;
  }
  void give(std::uint32_t slot) {
    WEFT_DCHECK(slot < held_.size() && count_ > 0, "a slot that is given back was taken");
    WEFT_DCHECK(held_[slot].frame_B != 0, "a slot is given back once");
#if defined(WEFT_DCHECKS)
    held_[slot].frame_B = 0;  // the mark of a free one
#endif
    held_[slot].next = free_;
    free_ = slot;
    --count_;
  }

 private:
  void grow();

  std::uint32_t free_ = engine::kNoSlot;
  std::uint64_t count_ = 0;
  std::vector<Held> held_;
};

}  // namespace weft::fabric
