// The completion queues that a thread has found empty in turn: a set, in the order of the polls. It grows with the
// program, to as many as one request names; a queue beyond that is looked at when the thread comes to it again.
// Trivial to destroy, so that a thread of a C program needs no library of C++ to end: what it grew to stays.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "verbs/protocol.h"

namespace weft::verbs {

class EmptyRound {
 public:
  // False when the queue is in this round already, or the round has no room for it.
  bool add(std::uint32_t cq) {
    if (contains(cq)) return false;
    if (2 * (count_ + 1) > slots_ && !grow()) return false;
    *free_slot(cq) = stamp_ << 32 | cq;
    cq_list()[count_++].handle = cq;
    return true;
  }
  void clear() {
    count_ = 0;
    // Older entries are free slots from here on.
    if (++stamp_ >> 32 == 0) return;
    stamp_ = 1;
    std::memset(table(), 0, slots_ * sizeof(std::uint64_t));
  }
  const Handle* cqs() { return cq_list(); }
  std::size_t count() const { return count_; }

 private:
  static constexpr std::size_t kFirstSlots = 64;

  std::uint64_t* table() { return grown_ != nullptr ? grown_ : first_; }
  // Behind the slots; half as many.
  Handle* cq_list() { return grown_ != nullptr ? reinterpret_cast<Handle*>(grown_ + slots_) : first_cqs_; }
  static std::size_t hash(std::uint32_t cq) { return cq * std::size_t{0x9e3779b1}; }
  std::uint64_t* slot(std::size_t i) { return table() + (i & (slots_ - 1)); }
  bool contains(std::uint32_t cq) {
    for (std::size_t i = hash(cq); *slot(i) >> 32 == stamp_; ++i) {
      if ((*slot(i) & 0xffffffff) == cq) return true;
    }
    return false;
  }
  std::uint64_t* free_slot(std::uint32_t cq) {
    std::size_t i = hash(cq);
    while (*slot(i) >> 32 == stamp_) ++i;
    return slot(i);
  }
  bool grow() {
    const std::size_t slots = 2 * slots_;
    if (slots / 2 > kMaxPolledCqs) return false;
    void* memory = std::calloc(slots, sizeof(std::uint64_t) + sizeof(Handle) / 2);
    if (memory == nullptr) return false;
    auto* grown = static_cast<std::uint64_t*>(memory);
    std::memcpy(grown + slots, cq_list(), count_ * sizeof(Handle));
    std::free(grown_);
    grown_ = grown;
    slots_ = slots;
    for (std::size_t i = 0; i < count_; ++i) *free_slot(cq_list()[i].handle) = stamp_ << 32 | cq_list()[i].handle;
    return true;
  }

  std::uint64_t* grown_ = nullptr;
  std::size_t slots_ = kFirstSlots, count_ = 0;
  std::uint64_t stamp_ = 1;  // of this round, 32 bits
  std::uint64_t first_[kFirstSlots] = {};
  Handle first_cqs_[kFirstSlots / 2] = {};
};

}  // namespace weft::verbs
