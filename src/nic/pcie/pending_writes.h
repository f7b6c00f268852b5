// Posted writes of one function that have not left the NIC: what of the receive buffer they take. Each is known by the
// time that the link alone would take for it, as the buffer is. Looked at with times that do not run backwards; room is
// made twice as large when it is used up. Used by PciePath, where writes end at other times than the link's.
#pragma once

#include <cstdint>
#include <vector>

#include "base/check.h"
#include "base/time.h"

namespace weft::nic {

class PendingWrites {
 public:
  void add(Time_ps link_ps, Time_ps end_ps) {
    if (tail_ - head_ == writes_.size()) grow();
    WEFT_DCHECK(head_ == tail_ || end_ps >= at(tail_ - 1).end_ps, "posted writes end in another order than they began");
    WEFT_DCHECK(link_ps >= 0, "a write that takes less than no time");
    writes_[tail_++ & (writes_.size() - 1)] = {end_ps, link_ps};
    sum_ps_ += link_ps;
  }
  // Time that the waiting writes take then.
  Time_ps left_ps(Time_ps now_ps) {
    while (head_ != tail_ && at(head_).end_ps <= now_ps) sum_ps_ -= at(head_++).link_ps;
    WEFT_DCHECK(sum_ps_ >= 0 && (head_ != tail_ || sum_ps_ == 0), "the sum of what waits is not that of the writes");
    return sum_ps_;
  }
  // The end of the first that was left at the last look; kNever_ps: none was.
  Time_ps next_end_ps() const { return head_ == tail_ ? kNever_ps : at(head_).end_ps; }
  // Waiting writes take `permille` / 1000 as long from now on.
  void stretch(std::int64_t permille, Time_ps now_ps) {
    for (std::uint64_t i = head_; i != tail_; ++i) {
      Time_ps& end_ps = writes_[i & (writes_.size() - 1)].end_ps;
      if (end_ps > now_ps) end_ps = now_ps + (end_ps - now_ps) * permille / 1000;
    }
  }

 private:
  struct Write {
    Time_ps end_ps, link_ps;
  };
  const Write& at(std::uint64_t number) const { return writes_[number & (writes_.size() - 1)]; }
  void grow() {
    std::vector<Write> more(2 * writes_.size());
    for (std::uint64_t i = head_; i != tail_; ++i) more[i & (more.size() - 1)] = at(i);
    writes_.swap(more);
  }

  std::vector<Write> writes_ = std::vector<Write>(256);  // a power of two
  std::uint64_t head_ = 0, tail_ = 0;
  Time_ps sum_ps_ = 0;
};

}  // namespace weft::nic
