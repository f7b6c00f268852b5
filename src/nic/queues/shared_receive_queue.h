// A shared receive queue (IBTA vol 1, 10.2.9): receives that any of its queue pairs takes, one at a time, when a
// message begins. The queue pair holds what it took in its own receive queue, of one place.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "spec/work.h"

namespace weft::nic {

inline constexpr std::uint32_t kNoSrq = 0xffffffff;
inline constexpr std::uint32_t kNoCq = kNoSrq;
inline constexpr std::uint32_t kFirstXrcSrq = 0x40;  // low numbers are the driver's own

class SharedReceiveQueue {
 public:
  explicit SharedReceiveQueue(std::uint32_t entries) : capacity_(entries), receives_(std::bit_ceil(entries)) {}

  // XRC: its domain, and where its receives end, whichever queue pair they came through (IBTA annex A14).
  struct Extended {
    std::uint32_t domain = 0, cq = 0, pd = 0;
  };
  Extended extended{};

  bool empty() const { return head_ == tail_; }
  std::uint32_t size() const { return tail_ - head_; }
  std::uint32_t capacity() const { return capacity_; }
  bool push(const ReceiveRequest& request) {
    if (size() >= capacity_) return false;
    receives_[tail_++ & (receives_.size() - 1)] = request;
    return true;
  }
  ReceiveRequest pop() {
    WEFT_CHECK(head_ != tail_, "a receive is taken from an empty shared receive queue");
    return receives_[head_++ & (receives_.size() - 1)];
  }

  std::uint32_t limit = 0;  // an event when fewer are left; then 0, which means never
  bool live = true;

 private:
  std::uint32_t capacity_;
  std::vector<ReceiveRequest> receives_;
  std::uint32_t head_ = 0;
  std::uint32_t tail_ = 0;
};

// Shared receive queues of a device, by number. The lowest number that is free is given to the next.
class SharedReceiveQueues {
 public:
  std::uint32_t create(std::uint32_t entries) {
    auto place =
        std::find_if(queues_.begin(), queues_.end(), [](const SharedReceiveQueue& queue) { return !queue.live; });
    if (place == queues_.end()) place = queues_.insert(queues_.end(), SharedReceiveQueue(entries));
    *place = SharedReceiveQueue(entries);
    return static_cast<std::uint32_t>(place - queues_.begin());
  }
  bool exists(std::uint32_t srq) const { return srq < queues_.size() && queues_[srq].live; }
  void destroy(std::uint32_t srq) {
    WEFT_CHECK(exists(srq), "a shared receive queue is destroyed that does not exist");
    queues_[srq] = SharedReceiveQueue(1);
    queues_[srq].live = false;
  }
  SharedReceiveQueue& operator[](std::uint32_t srq) {
    WEFT_CHECK(srq < queues_.size(), "a shared receive queue that does not exist");
    return queues_[srq];
  }

 private:
  std::vector<SharedReceiveQueue> queues_;
};

}  // namespace weft::nic
