// Two small schedulers of the port: a ring of numbers, such as contexts that can send now or places that are free, and
// a heap of contexts that can send (or must be looked at) at a time. Both keep their memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/time.h"

namespace weft::nic {

class ContextRing {
 public:
  bool empty() const { return head_ == tail_; }
  std::uint32_t size() const { return tail_ - head_; }
  void push(std::uint32_t context) {
    if (tail_ - head_ == slots_.size()) grow();
    slots_[tail_++ & (slots_.size() - 1)] = context;
  }
  std::uint32_t pop() { return slots_[head_++ & (slots_.size() - 1)]; }

 private:
  void grow() {
    std::vector<std::uint32_t> bigger(std::max<std::size_t>(8, 2 * slots_.size()));
    std::uint32_t count = tail_ - head_;
    for (std::uint32_t i = 0; i < count; ++i) bigger[i] = slots_[(head_ + i) & (slots_.size() - 1)];
    slots_ = std::move(bigger);
    head_ = 0;
    tail_ = count;
  }
  std::vector<std::uint32_t> slots_;
  std::uint32_t head_ = 0;
  std::uint32_t tail_ = 0;
};

// Equal times come out in the order of the context number, so the order of insertion does not matter.
class WorkHeap {
 public:
  struct Entry {
    Time_ps time_ps;
    std::uint32_t context;
    friend bool operator<(const Entry& a, const Entry& b) {
      return a.time_ps != b.time_ps ? a.time_ps > b.time_ps : a.context > b.context;
    }
  };

  bool empty() const { return entries_.empty(); }
  Time_ps next_ps() const { return next_ps_; }
  std::uint32_t next_context() const { return entries_.front().context; }
  void push(Time_ps time_ps, std::uint32_t context) {
    entries_.push_back({time_ps, context});
    std::push_heap(entries_.begin(), entries_.end());
    next_ps_ = entries_.front().time_ps;
  }
  Entry pop() {
    std::pop_heap(entries_.begin(), entries_.end());
    Entry entry = entries_.back();
    entries_.pop_back();
    next_ps_ = entries_.empty() ? kNever_ps : entries_.front().time_ps;
    return entry;
  }

 private:
  Time_ps next_ps_ = kNever_ps;  // of the first entry, so that looking costs no other line of memory
  std::vector<Entry> entries_;
};

}  // namespace weft::nic
