// A shared receive queue (IBTA vol 1, 10.2.9): receives that any of its queue pairs takes, one at a time, when a
// message begins. The queue pair holds what it took in its own receive queue, of one place.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "nic/work.h"

namespace weft::nic {

inline constexpr std::uint32_t kNoSrq = 0xffffffff;
inline constexpr std::uint32_t kNoCq = kNoSrq;
inline constexpr std::uint32_t kFirstXrcSrq = 0x40;  // low numbers are the driver's own

class SharedReceiveQueue {
 public:
  explicit SharedReceiveQueue(std::uint32_t entries) : capacity_(entries), receives_(std::bit_ceil(entries)) {}

  // Of XRC: its domain, and where its receives end, whichever queue pair they came through (IBTA annex A14).
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
  ReceiveRequest pop() { return receives_[head_++ & (receives_.size() - 1)]; }

  std::uint32_t limit = 0;  // an event when fewer are left; then 0, which means never
  bool live = true;

 private:
  std::uint32_t capacity_;
  std::vector<ReceiveRequest> receives_;
  std::uint32_t head_ = 0;
  std::uint32_t tail_ = 0;
};

}  // namespace weft::nic
