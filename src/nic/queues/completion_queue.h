// A completion queue: entries become visible to the CPU in order, each at its own time. One that finds no place is
// lost, and so is every later one: the queue is overrun and must be destroyed (IBTA vol 1, 11.6.3.2).
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.h"
#include "spec/work.h"

namespace weft::nic {

class CompletionQueue {
 public:
  // Memory comes with use: programs ask for far more than they need.
  explicit CompletionQueue(std::uint32_t capacity)
      : capacity_(capacity), entries_(std::min<std::size_t>(capacity, kFirstEntries)) {}

  // Returns the time at which the entry is visible: never before the one ahead of it. kNever_ps: it is lost.
  Time_ps push(Completion completion) {
    if (lost_ > 0 || (tail_ - head_ >= entries_.size() && !grow())) [[unlikely]] {
      ++lost_;
      return kNever_ps;
    }
    if (completion.visible_ps < last_visible_ps_) completion.visible_ps = last_visible_ps_;
    last_visible_ps_ = completion.visible_ps;
    entries_[tail_++ % entries_.size()] = completion;
    WEFT_DCHECK(tail_ - head_ <= entries_.size(), "a completion queue holds more than it has room for");
    return completion.visible_ps;
  }
  // Null when nothing is visible at `now_ps`.
  const Completion* peek(Time_ps now_ps) const {
    if (head_ == tail_) return nullptr;
    const Completion& first = entries_[head_ % entries_.size()];
    return first.visible_ps <= now_ps ? &first : nullptr;
  }
  void pop() {
    WEFT_CHECK(head_ != tail_, "an entry is taken from an empty completion queue");
    ++head_;
  }
  Time_ps next_visible_ps() const { return head_ == tail_ ? kNever_ps : entries_[head_ % entries_.size()].visible_ps; }

  // Entries in the queue stay, and must fit.
  void resize(std::size_t capacity) {
    capacity_ = std::max<std::size_t>(capacity, tail_ - head_);
    if (entries_.size() > capacity_) move_to(capacity_);
  }

  void lose() { ++lost_; }
  std::uint64_t lost() const { return lost_; }  // above 0: overrun

  bool armed = false;           // a program waits: tell the host of the next entry …
  bool solicited_only = false;  // … or only of one that is solicited or failed
  std::uint32_t waiter = 0;     // the host's: which program
  std::uint32_t tag = 0;        // that program's own

 private:
  static constexpr std::size_t kFirstEntries = 1024;
  bool grow() {
    if (entries_.size() >= capacity_) return false;
    move_to(std::min(capacity_, std::max(kFirstEntries, 2 * entries_.size())));
    return true;
  }
  void move_to(std::size_t entries) {
    WEFT_CHECK(tail_ - head_ <= entries, "a completion queue is made smaller than what is in it");
    std::vector<Completion> others(entries);
    for (std::uint64_t i = head_; i != tail_; ++i) others[i % others.size()] = entries_[i % entries_.size()];
    entries_ = std::move(others);
  }

  std::size_t capacity_;
  std::vector<Completion> entries_;
  std::uint64_t head_ = 0;
  std::uint64_t tail_ = 0;
  Time_ps last_visible_ps_ = 0;
  std::uint64_t lost_ = 0;
};

// Completion queues of a device, by number. The number of a destroyed one is given to the next.
class CompletionQueues {
 public:
  std::uint32_t create(std::uint32_t entries) {
    if (free_.empty()) {
      queues_.emplace_back(entries);
      return count() - 1;
    }
    const std::uint32_t cq = free_.back();
    free_.pop_back();
    queues_[cq] = CompletionQueue(entries);
    return cq;
  }
  bool exists(std::uint32_t cq) const {
    return cq < queues_.size() && std::find(free_.begin(), free_.end(), cq) == free_.end();
  }
  void destroy(std::uint32_t cq) {
    WEFT_CHECK(exists(cq), "a completion queue is destroyed that does not exist");
    queues_[cq] = CompletionQueue(0);
    free_.push_back(cq);
  }
  CompletionQueue& operator[](std::uint32_t cq) {
    WEFT_DCHECK(cq < queues_.size(), "a completion queue that does not exist");
    return queues_[cq];
  }
  std::uint32_t count() const { return static_cast<std::uint32_t>(queues_.size()); }  // those that were destroyed, too

 private:
  std::vector<CompletionQueue> queues_;
  std::vector<std::uint32_t> free_;
};

}  // namespace weft::nic
