#include "nic/memory.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace weft::nic {

std::uint32_t MemoryTable::add(std::uint64_t va, std::uint64_t length_B, Access access, std::span<std::uint8_t> bytes) {
  WEFT_CHECK(bytes.empty() || bytes.size() == length_B, "region bytes and length differ");
  MemoryRegion region;
  region.va = va;
  region.length_B = length_B;
  region.key = static_cast<std::uint32_t>(regions_.size() << 8) | static_cast<std::uint32_t>(keys_.below(256));
  region.access = access;
  region.bytes = bytes;
  regions_.push_back(region);
  return region.key;
}

void MemoryTable::read(const MemoryRegion& region, std::uint64_t va, std::span<std::uint8_t> out) {
  std::uint64_t offset = va - region.va;
  if (!region.bytes.empty()) {
    std::memcpy(out.data(), region.bytes.data() + offset, out.size());
    return;
  }
  // Nobody wrote here: the pattern is a function of the offset, so every run and every tap sees the same.
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::uint8_t>((offset + i) ^ ((offset + i) >> 8));
}

void MemoryTable::write(MemoryRegion& region, std::uint64_t va, std::span<const std::uint8_t> in) {
  if (region.bytes.empty() || in.empty()) return;
  std::memcpy(region.bytes.data() + (va - region.va), in.data(), in.size());
}

}  // namespace weft::nic
