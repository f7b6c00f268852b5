// A growing FIFO of packet records, sorted by time because a link delivers in order. It may begin in memory of its
// owner. A ring that was empty starts over with its first slot: one that seldom holds more than a packet or two uses
// few cache lines.
#pragma once

#include <cstdint>
#include <new>

#include "base/check.h"
#include "engine/packet.h"

namespace weft::engine {

class PacketRing {
 public:
  static constexpr std::uint32_t kFirstCapacity = 8;

  PacketRing() : slots_(allocate(kFirstCapacity)) {}
  // Without memory until it is told where to begin: at kFirstCapacity slots that live as long as the ring.
  struct Borrowed {};
  explicit PacketRing(Borrowed) : borrowed_(true) {}
  void begin_at(Packet* first) { slots_ = first; }
  PacketRing(const PacketRing&) = delete;
  PacketRing& operator=(const PacketRing&) = delete;
  ~PacketRing() {
    if (!borrowed_) free(slots_);
  }

  bool empty() const { return head_ == tail_; }
  std::uint32_t size() const { return tail_ - head_; }
  const Packet& front() const {
    WEFT_DCHECK(!empty(), "the first of some packets");
    return slots_[head_ & mask_];
  }
  const Packet& back() const {
    WEFT_DCHECK(!empty(), "the last of some packets");
    return slots_[(tail_ - 1) & mask_];
  }
  const Packet& at(std::uint32_t i) const {
    WEFT_DCHECK(i < size(), "a packet of this ring");
    return slots_[(head_ + i) & mask_];
  }
  void pop() {
    WEFT_DCHECK(!empty(), "a packet that is taken is there");
    ++head_;
  }
  // The first few packets will be read soon.
  void prefetch_front() const {
    if (empty()) return;
    __builtin_prefetch(&slots_[head_ & mask_]);
    __builtin_prefetch(&slots_[(head_ + 2) & mask_]);
  }
  // Pops what is due before a time; calls `seen` for each. It stays where it was until the next push. Returns when the
  // next one is due.
  template <typename Seen>
  Time_ps take_until(Time_ps end_ps, Seen&& seen) {
    Packet* const slots = slots_;
    const std::uint32_t mask = mask_;
    const std::uint32_t tail = tail_;
    std::uint32_t head = head_;
    Time_ps next_ps = kNever_ps;
    for (; head != tail; ++head) {
      Packet& packet = slots[head & mask];
      if (packet.time_ps >= end_ps) {
        next_ps = packet.time_ps;
        break;
      }
      seen(packet);
    }
    WEFT_DCHECK(tail_ == tail && slots_ == slots, "nothing enters a ring while it is emptied");
    head_ = head;
    return next_ps;
  }
  void push(const Packet& packet) { push(packet, packet.time_ps); }
  void push(const PacketBody& body, Time_ps time_ps) {
    if (size() > mask_) [[unlikely]]
      grow();
    put(tail_++ & mask_, body, time_ps);
  }
  // Into an empty ring.
  void push_first(const PacketBody& body, Time_ps time_ps) {
    WEFT_DCHECK(empty(), "a ring starts over when it is empty");
    head_ = 0;
    tail_ = 1;
    put(0, body, time_ps);
  }

 private:
  static Packet* allocate(std::uint32_t capacity) { return new (std::align_val_t{64}) Packet[capacity]; }
  static void free(Packet* slots) { ::operator delete[](slots, std::align_val_t{64}); }

  void put(std::uint32_t place, const PacketBody& body, Time_ps time_ps) {
    Packet& slot = slots_[place];
    static_cast<PacketBody&>(slot) = body;
    slot.time_ps = time_ps;
  }
  [[gnu::noinline]] void grow() {
    const std::uint32_t count = size();
    WEFT_CHECK(count == mask_ + 1 && count < std::uint32_t{1} << 30, "a ring grows when it is full");
    Packet* bigger = allocate(2 * count);  // it is full
    for (std::uint32_t i = 0; i < count; ++i) bigger[i] = at(i);
    if (!borrowed_) free(slots_);
    borrowed_ = false;
    slots_ = bigger;
    mask_ = 2 * count - 1;
    head_ = 0;
    tail_ = count;
  }

  Packet* slots_ = nullptr;
  std::uint32_t head_ = 0;
  std::uint32_t tail_ = 0;
  std::uint32_t mask_ = kFirstCapacity - 1;  // of a power of two
  bool borrowed_ = false;
};

}  // namespace weft::engine
