#include <algorithm>
#include <cstring>

#include "live/os/post_queue.h"

namespace weft::live {

namespace {

constexpr std::size_t kMostSlots = 16;      // 64 KiB of a queue: what the next level of cache holds of several
constexpr std::uint32_t kOwnSlot_B = 1024;  // from here on a slot of its own costs less than a copy

}  // namespace

bool ReadAhead::add(std::uint32_t number, std::uint32_t offset_B, std::uint32_t size_B, nic::PayloadPool& pool) {
  const bool own = size_B >= kOwnSlot_B;
  const bool fits = !own && !shared_.empty() && shared_B_ + size_B <= engine::kPayloadSlot_B;
  if (!fits && own_ + shared_.size() == kMostSlots) return false;
  if (own) {
    const std::uint32_t slot = pool.take();
    ++own_;
    parts_.push_back({number, offset_B, size_B, slot, 0, true});
    into_.push_back({pool[slot].data(), size_B});
    return true;
  }
  if (!fits) {
    shared_.push_back(pool.take());
    shared_B_ = 0;
  }
  std::uint8_t* to = pool[shared_.back()].data() + shared_B_;
  parts_.push_back({number, offset_B, size_B, shared_.back(), static_cast<std::uint16_t>(shared_B_), false});
  into_.push_back({to, size_B});
  shared_B_ += size_B;
  return true;
}

void ReadAhead::cut(std::size_t count, nic::PayloadPool& pool) {
  for (std::size_t i = count; i < parts_.size(); ++i) {
    if (parts_[i].own) pool.give_back(parts_[i].slot);
  }
  parts_.resize(count);
  into_.resize(count);
}

void ReadAhead::clear(nic::PayloadPool& pool) {
  cut(0, pool);
  for (std::uint32_t slot : shared_) pool.give_back(slot);
  shared_.clear();
  own_ = 0;
  next_ = 0;
}

bool ReadAhead::read(int pid, std::span<const iovec> from) {
  // Adjacent pieces are one piece.
  std::size_t pieces = 0;
  std::size_t size_B = 0;
  for (const iovec& each : into_) {
    size_B += each.iov_len;
    if (pieces > 0 &&
        static_cast<std::uint8_t*>(into_[pieces - 1].iov_base) + into_[pieces - 1].iov_len == each.iov_base) {
      into_[pieces - 1].iov_len += each.iov_len;
    } else {
      into_[pieces++] = each;
    }
  }
  return process_vm_readv(pid, into_.data(), pieces, from.data(), from.size(), 0) == static_cast<ssize_t>(size_B);
}

std::uint32_t ReadAhead::take(std::uint32_t number, std::uint32_t offset_B, std::uint32_t size_B,
                              nic::PayloadPool& pool) {
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const std::size_t at = next_ + i < parts_.size() ? next_ + i : next_ + i - parts_.size();
    Part& part = parts_[at];
    if (part.number != number || part.offset_B != offset_B || part.size_B != size_B || part.slot == engine::kNoSlot)
      continue;
    next_ = at + 1;
    if (part.own) {
      part.own = false;
      return std::exchange(part.slot, engine::kNoSlot);
    }
    const std::uint32_t slot = pool.take();
    std::memcpy(pool[slot].data(), pool[part.slot].data() + part.at_B, size_B);
    return slot;
  }
  return engine::kNoSlot;
}

}  // namespace weft::live
