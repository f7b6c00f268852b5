// Registered memory of one host. A region has an address, keys and access rights, and bytes only if the
// program that registered it cares for them; a region without bytes reads as a fixed pattern.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"

namespace weft::nic {

struct Access {
  bool local_write = true;
  bool remote_write = false;
  bool remote_read = false;
  bool remote_atomic = false;
};

struct alignas(64) MemoryRegion {
  std::uint64_t va = 0;
  std::uint64_t length_B = 0;
  std::uint32_t key = 0;  // lkey and rkey are the same, as on mlx5
  Access access;
  bool valid = true;
  bool watched = false;             // somebody spins on this memory: tell the host of each WRITE
  std::span<std::uint8_t> bytes{};  // empty, or all of the region

  bool covers(std::uint64_t at, std::uint64_t size_B) const {
    return at >= va && size_B <= length_B && at - va <= length_B - size_B;
  }
};

class MemoryTable {
 public:
  MemoryTable(std::uint64_t seed, std::uint64_t owner) : regions_(1), keys_(seed, owner, RandomPurpose::kKeys) {
    regions_[0].valid = false;  // 0 is never a key
  }

  // `bytes` may be empty; otherwise it must have `length_B` bytes and outlive the table.
  std::uint32_t add(std::uint64_t va, std::uint64_t length_B, Access access, std::span<std::uint8_t> bytes = {});
  // Null when the key is unknown or was invalidated.
  MemoryRegion* find(std::uint32_t key) {
    std::uint32_t index = key >> 8;
    if (index >= regions_.size() || regions_[index].key != key || !regions_[index].valid) return nullptr;
    return &regions_[index];
  }

  static void read(const MemoryRegion& region, std::uint64_t va, std::span<std::uint8_t> out);
  static void write(MemoryRegion& region, std::uint64_t va, std::span<const std::uint8_t> in);

 private:
  std::vector<MemoryRegion> regions_;
  RandomStream keys_;
};

}  // namespace weft::nic
