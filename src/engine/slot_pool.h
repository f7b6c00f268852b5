// Fixed-size slots with a LIFO free list: the slot used last is used next, while it is still in the
// cache. Grows when it must, never shrinks, so a steady state allocates nothing. Slots do not move.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace weft::engine {

template <typename T>
class SlotPool {
 public:
  std::uint32_t take() {
    if (free_.empty()) grow();
    std::uint32_t slot = free_.back();
    free_.pop_back();
    return slot;
  }
  void give_back(std::uint32_t slot) { free_.push_back(slot); }
  T& operator[](std::uint32_t slot) { return chunks_[slot / kChunk][slot % kChunk]; }
  const T& operator[](std::uint32_t slot) const { return chunks_[slot / kChunk][slot % kChunk]; }
  std::uint32_t in_use() const { return static_cast<std::uint32_t>(chunks_.size() * kChunk - free_.size()); }

 private:
  static constexpr std::uint32_t kChunk = 64;

  void grow() {
    auto base = static_cast<std::uint32_t>(chunks_.size() * kChunk);
    chunks_.push_back(std::make_unique<T[]>(kChunk));
    free_.reserve(chunks_.size() * kChunk);
    for (std::uint32_t i = kChunk; i-- > 0;) free_.push_back(base + i);
  }

  std::vector<std::unique_ptr<T[]>> chunks_;
  std::vector<std::uint32_t> free_;
};

}  // namespace weft::engine
