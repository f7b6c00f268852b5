// Engines that share a world, each on a thread of its own: what they send each other travels as bytes.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/exchange.h"

namespace weft::support {

class ThreadExchange {
 public:
  // `owner` has the engine of every domain.
  ThreadExchange(std::uint32_t engines, std::vector<std::uint32_t> owner) : owner_(std::move(owner)) {
    for (std::uint32_t i = 0; i < engines; ++i) ends_.push_back(std::make_unique<End>(*this, i));
  }
  engine::Exchange& end(std::uint32_t engine) { return *ends_[engine]; }
  std::size_t parcels() const { return parcels_; }

 private:
  struct End final : engine::Exchange {
    ThreadExchange& all;
    std::uint32_t number;
    std::vector<engine::Parcel> inbox[2];  // by meeting: a quick engine comes to the next one before this one has read

    End(ThreadExchange& exchange, std::uint32_t index) : all(exchange), number(index) {}
    Time_ps meet(Time_ps next_ps, const std::vector<engine::Parcel>& sent,
                 std::vector<engine::Parcel>& received) override {
      std::unique_lock lock(all.mutex_);
      const std::uint64_t meeting = all.meeting_;
      for (const engine::Parcel& parcel : sent)
        all.ends_[all.owner_[parcel.destination]]->inbox[meeting % 2].push_back(parcel);
      all.parcels_ += sent.size();
      all.next_ps_ = std::min(all.next_ps_, next_ps);
      if (++all.arrived_ == all.ends_.size()) {
        all.agreed_ps_ = all.next_ps_;
        all.next_ps_ = kNever_ps;
        all.arrived_ = 0;
        ++all.meeting_;
        all.met_.notify_all();
      } else {
        all.met_.wait(lock, [&] { return all.meeting_ != meeting; });
      }
      received = std::move(inbox[meeting % 2]);
      inbox[meeting % 2].clear();
      return all.agreed_ps_;
    }
  };

  std::vector<std::uint32_t> owner_;
  std::vector<std::unique_ptr<End>> ends_;
  std::mutex mutex_;
  std::condition_variable met_;
  std::uint64_t meeting_ = 0;
  std::uint32_t arrived_ = 0;
  std::size_t parcels_ = 0;
  Time_ps next_ps_ = kNever_ps;
  Time_ps agreed_ps_ = kNever_ps;
};

}  // namespace weft::support
