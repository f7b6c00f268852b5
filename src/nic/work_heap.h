// Two small schedulers of the port: a ring of numbers, such as contexts that can send now or places that are free, and
// a heap of contexts that can send (or must be looked at) at a time. Both keep their memory. Their first elements lie
// in place, beside what else the port needs: most ports never have more.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/check.h"
#include "base/time.h"

namespace weft::nic {

class ContextRing {
 public:
  ContextRing() = default;
  ContextRing(const ContextRing&) = delete;
  ContextRing& operator=(const ContextRing&) = delete;
  ~ContextRing() {
    if (slots_ != in_place_) delete[] slots_;
  }

  bool empty() const { return head_ == tail_; }
  std::uint32_t size() const { return tail_ - head_; }
  void push(std::uint32_t context) {
    if (size() > mask_) [[unlikely]]
      grow();
    slots_[tail_++ & mask_] = context;
  }
  std::uint32_t front() const {
    WEFT_DCHECK(!empty(), "the first of an empty ring");
    return slots_[head_ & mask_];
  }
  std::uint32_t pop() {
    WEFT_DCHECK(!empty(), "an empty ring gives a context");
    return slots_[head_++ & mask_];
  }

 private:
  static constexpr std::uint32_t kInPlace = 2;

  [[gnu::noinline]] void grow() {
    const std::uint32_t count = size();
    auto* bigger = new std::uint32_t[2 * count];  // it is full
    for (std::uint32_t i = 0; i < count; ++i) bigger[i] = slots_[(head_ + i) & mask_];
    if (slots_ != in_place_) delete[] slots_;
    slots_ = bigger;
    mask_ = 2 * count - 1;
    head_ = 0;
    tail_ = count;
  }

  std::uint32_t* slots_ = in_place_;
  std::uint32_t mask_ = kInPlace - 1;
  std::uint32_t head_ = 0;
  std::uint32_t tail_ = 0;
  std::uint32_t in_place_[kInPlace];
};

// Equal times come out in the order of the context number, so the order of insertion does not matter.
template <std::uint32_t kInPlace>
class WorkHeap {
 public:
  struct Entry {
    Time_ps time_ps;
    std::uint32_t context;
    friend bool operator<(const Entry& a, const Entry& b) {
      return a.time_ps != b.time_ps ? a.time_ps > b.time_ps : a.context > b.context;
    }
  };

  WorkHeap() = default;
  WorkHeap(const WorkHeap&) = delete;
  WorkHeap& operator=(const WorkHeap&) = delete;
  ~WorkHeap() {
    if (entries_ != in_place_) delete[] entries_;
  }

  bool empty() const { return size_ == 0; }
  Time_ps next_ps() const { return next_ps_; }
  std::uint32_t next_context() const {
    WEFT_DCHECK(size_ > 0, "the first of an empty heap");
    return entries_[0].context;
  }
  void push(Time_ps time_ps, std::uint32_t context) {
    if (size_ == capacity_) [[unlikely]]
      grow();
    entries_[size_++] = {time_ps, context};
    if (size_ > 1) std::push_heap(entries_, entries_ + size_);
    next_ps_ = entries_[0].time_ps;
  }
  Entry pop() {
    WEFT_DCHECK(size_ > 0, "an empty heap gives a context");
    if (size_ > 1) std::pop_heap(entries_, entries_ + size_);
    const Entry entry = entries_[--size_];
    next_ps_ = size_ == 0 ? kNever_ps : entries_[0].time_ps;
    WEFT_DCHECK(next_ps_ >= entry.time_ps, "a heap gives its entries in another order than time");
    return entry;
  }

 private:
  [[gnu::noinline]] void grow() {
    auto* bigger = new Entry[2 * capacity_];
    std::copy(entries_, entries_ + size_, bigger);
    if (entries_ != in_place_) delete[] entries_;
    entries_ = bigger;
    capacity_ *= 2;
  }

  Time_ps next_ps_ = kNever_ps;  // of the first entry, so that looking costs no other line of memory
  Entry* entries_ = in_place_;
  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = kInPlace;
  Entry in_place_[kInPlace];
};

}  // namespace weft::nic
