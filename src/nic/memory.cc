#include "nic/memory.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace weft::nic {

namespace {

// Null regions and those of a whole address space map no memory of their own.
std::uint64_t mapped_B(const MemoryRegion& region) {
  return region.is_window() || region.length_B == UINT64_MAX ? 0 : region.length_B;
}

}  // namespace

std::uint32_t MemoryTable::insert(MemoryRegion region) {
  ++changes_;
  if (registered_B_ != nullptr) *registered_B_ += mapped_B(region);
  if (!free_.empty()) {
    std::uint32_t index = free_.pop();
    WEFT_CHECK(regions_[index].removed, "the place of a region that is registered");
    region.key = index << 8 | ((regions_[index].key + 1) & 0xff);
    regions_[index] = region;
    return region.key;
  }
  WEFT_CHECK(regions_.size() < 1u << 24, "more regions than keys have room for");
  region.key = static_cast<std::uint32_t>(regions_.size() << 8) | static_cast<std::uint32_t>(keys_.below(256));
  regions_.push_back(region);
  return region.key;
}

std::uint32_t MemoryTable::add(std::uint64_t va, std::uint64_t length_B, Access access, std::span<std::uint8_t> bytes) {
  WEFT_CHECK(bytes.empty() || bytes.size() == length_B, "region bytes and length differ");
  MemoryRegion region;
  region.va = va;
  region.length_B = length_B;
  region.access = access;
  region.bytes = bytes;
  return insert(region);
}

std::uint32_t MemoryTable::add(std::uint64_t va, std::uint64_t length_B, Access access, const RegionAccess& elsewhere,
                               std::uint32_t pd) {
  MemoryRegion region;
  region.pd = pd;
  region.va = va;
  region.length_B = length_B;
  region.access = access;
  region.elsewhere = &elsewhere;
  return insert(region);
}

bool MemoryTable::remove(std::uint32_t key) {
  std::uint32_t index = key >> 8;
  // One that a peer has invalidated is still registered.
  if (find_any(key) == nullptr || regions_[index].windows > 0) return false;
  ++changes_;
  MemoryRegion& region = regions_[index];
  if (region.is_window()) {
    close(region);
  } else if (registered_B_ != nullptr) {
    WEFT_CHECK(*registered_B_ >= mapped_B(region), "more memory is deregistered than registered");
    *registered_B_ -= mapped_B(region);
  }
  region = {};
  region.key = key;
  region.valid = false;
  region.removed = true;
  free_.push(index);
  return true;
}

bool MemoryTable::read(const MemoryRegion& region, std::uint64_t va, std::span<std::uint8_t> out) {
  WEFT_CHECK(region.covers(va, out.size()), "a DMA read outside of its region");
  std::uint64_t offset = va - region.va;
  if (region.elsewhere != nullptr) return region.elsewhere->read(region.elsewhere->self, va, out);
  if (!region.bytes.empty()) {
    std::memcpy(out.data(), region.bytes.data() + offset, out.size());
    return true;
  }
  // Nobody wrote here: the pattern is a function of the offset, so every run and every tap sees the same.
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::uint8_t>((offset + i) ^ ((offset + i) >> 8));
  return true;
}

bool MemoryTable::write(MemoryRegion& region, std::uint64_t va, std::span<const std::uint8_t> in, Time_ps visible_ps) {
  if (in.empty()) return true;
  WEFT_CHECK(region.covers(va, in.size()), "a DMA write outside of its region");
  if (region.elsewhere != nullptr) return region.elsewhere->write(region.elsewhere->self, va, in, visible_ps);
  if (!region.bytes.empty()) std::memcpy(region.bytes.data() + (va - region.va), in.data(), in.size());
  return true;
}

}  // namespace weft::nic
