// Fixed-size slots with a LIFO free list: the slot used last is used next, while it is still in the
// cache. Grows when it must, never shrinks, so a steady state allocates nothing. Slots do not move.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/check.h"

namespace weft::engine {

template <typename T>
class SlotPool {
 public:
  std::uint32_t take() {
    if (free_.empty()) grow();
    std::uint32_t slot = free_.back();
    free_.pop_back();
    mark(slot, true);
    return slot;
  }
  void give_back(std::uint32_t slot) {
    mark(slot, false);
    free_.push_back(slot);
  }
  T& operator[](std::uint32_t slot) {
    check_taken(slot);
    return chunks_[slot / kChunk][slot % kChunk];
  }
  const T& operator[](std::uint32_t slot) const {
    check_taken(slot);
    return chunks_[slot / kChunk][slot % kChunk];
  }
  std::uint32_t in_use() const { return static_cast<std::uint32_t>(chunks_.size() * kChunk - free_.size()); }

 private:
  static constexpr std::uint32_t kChunk = 64;

  // Which slots are taken is known in builds that check it.
#if defined(WEFT_DCHECKS)
  void mark(std::uint32_t slot, bool taken) {
    WEFT_DCHECK(slot < chunks_.size() * kChunk, "a slot of this pool");
    taken_.resize(chunks_.size() * kChunk);
    WEFT_DCHECK(taken_[slot] != taken, "a slot is taken once and given back once");
    taken_[slot] = taken;
  }
  void check_taken(std::uint32_t slot) const {
    WEFT_DCHECK(slot < taken_.size() && taken_[slot], "a slot that is used is taken");
  }
  std::vector<bool> taken_;
#else
  void mark(std::uint32_t, bool) {}
  void check_taken(std::uint32_t) const {}
#endif

  void grow() {
    auto base = static_cast<std::uint32_t>(chunks_.size() * kChunk);
    WEFT_CHECK(base < std::uint32_t{1} << 31, "a pool has fewer slots than a number can name");
    chunks_.push_back(std::make_unique<T[]>(kChunk));
    free_.reserve(chunks_.size() * kChunk);
    for (std::uint32_t i = kChunk; i-- > 0;) free_.push_back(base + i);
  }

  std::vector<std::unique_ptr<T[]>> chunks_;
  std::vector<std::uint32_t> free_;
};

}  // namespace weft::engine
