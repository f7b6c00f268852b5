// Registered memory of one host. A region has an address, keys and access rights, and bytes only if the
// program that registered it cares for them; a region without bytes reads as a fixed pattern. The bytes may also be
// out of this program's reach: then every DMA goes through functions of whoever can reach them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "base/time.h"
#include "engine/packet.h"
#include "engine/slot_pool.h"
#include "nic/work_heap.h"

namespace weft::nic {

using PayloadPool = engine::SlotPool<engine::PayloadSlot>;

struct Access {
  bool local_write = true;
  bool remote_write = false;
  bool remote_read = false;
  bool remote_atomic = false;
};

// How to reach bytes that are somewhere else, in another process. False: they are gone, and the operation fails as it
// would for a broken protection. A CPU sees what was written from `visible_ps` on; a later read through these
// functions sees it at once, as a DMA read does not pass a posted write.
struct RegionAccess {
  void* self = nullptr;
  bool (*read)(void* self, std::uint64_t va, std::span<std::uint8_t> out) = nullptr;
  bool (*write)(void* self, std::uint64_t va, std::span<const std::uint8_t> in, Time_ps visible_ps) = nullptr;
  // The same for payload of packets, without a copy of ours: a slot of the pool with the bytes in it, kNoSlot if they
  // are gone; and one that is theirs from now on, whatever they return. Null: read and write do.
  std::uint32_t (*take)(void* self, std::uint64_t va, std::uint32_t size_B, PayloadPool& pool) = nullptr;
  bool (*give)(void* self, std::uint64_t va, std::uint32_t size_B, PayloadPool& pool, std::uint32_t slot,
               Time_ps visible_ps) = nullptr;
};

// A window is a region of its own key that opens a part of another one to peers (IBTA vol 1, 10.6.7).
enum class RegionKind : std::uint8_t {
  kRegion,
  kBindable,  // windows may be bound to it
  kWindow1,   // of its protection domain
  kWindow2,   // of one queue pair, since it was bound
};
// Stands where a window of type 2 would have its protection domain, with the number of its queue pair: what no domain's
// number is.
inline constexpr std::uint32_t kOfQueuePair = 1u << 31;

struct alignas(64) MemoryRegion {
  std::uint64_t va = 0;
  std::uint64_t length_B = 0;
  std::uint32_t key = 0;  // lkey and rkey are the same, as on mlx5
  Access access;
  std::uint32_t pd = 0;  // protection domain: only its queue pairs come in
  bool valid = true;
  bool removed = false;  // deregistered; waits for its index to be used again
  bool watched = false;  // somebody spins on this memory: tell the host of each WRITE and atomic
  RegionKind kind = RegionKind::kRegion;
  std::span<std::uint8_t> bytes{};  // empty, or all of the region
  const RegionAccess* elsewhere = nullptr;
  std::uint32_t windows = 0;  // bound to this region
  std::uint32_t parent = 0;   // of a window that is bound: the index of its region

  bool is_window() const { return kind >= RegionKind::kWindow1; }
  bool admits(std::uint32_t qp_pd, std::uint32_t qpn) const { return pd == qp_pd || pd == (kOfQueuePair | qpn); }
  bool has_bytes() const { return !bytes.empty() || elsewhere != nullptr; }
  bool covers(std::uint64_t at, std::uint64_t size_B) const {
    return at >= va && size_B <= length_B && at - va <= length_B - size_B;
  }
};
static_assert(sizeof(MemoryRegion) == 64);

class MemoryTable {
 public:
  MemoryTable(std::uint64_t seed, std::uint64_t owner) : regions_(1), keys_(seed, owner, RandomPurpose::kKeys) {
    regions_[0].valid = false;  // 0 is never a key
  }

  // The sum of all regions is kept there, too.
  void count_in(std::uint64_t& registered_B) { registered_B_ = &registered_B; }
  // `bytes` may be empty; otherwise it must have `length_B` bytes and outlive the table.
  std::uint32_t add(std::uint64_t va, std::uint64_t length_B, Access access, std::span<std::uint8_t> bytes = {});
  // `elsewhere` must live until the key is removed.
  std::uint32_t add(std::uint64_t va, std::uint64_t length_B, Access access, const RegionAccess& elsewhere,
                    std::uint32_t pd = 0);
  // A window that is not bound yet; its first key.
  std::uint32_t add_window(std::uint32_t pd, RegionKind kind);
  struct Binding {
    std::uint32_t key, region_key;  // the window's new key; the region's
    std::uint64_t va, length_B;     // of length 0: a window of type 1 is open to nobody
    Access access;
    std::uint32_t pd, qpn;  // of the queue pair that binds
  };
  // False: the window, the region or the rights do not allow it.
  bool bind(const Binding& binding);
  // Local Invalidate, and what a SEND with Invalidate may do to a window. False: not a window of type 2 that is bound,
  // or not this queue pair's.
  bool invalidate_window(std::uint32_t key, std::uint32_t pd, std::uint32_t qpn);
  // Key that the window has now.
  std::uint32_t current_key(std::uint32_t key) const { return regions_[key >> 8].key; }
  // Whatever state it is in; null when the key is not one of a region or window that exists.
  MemoryRegion* find_any(std::uint32_t key);
  // As registered anew, under the same key. False: a window is bound to it.
  bool change(std::uint32_t key, std::uint64_t va, std::uint64_t length_B, Access access, std::uint32_t pd);
  // Deregistration; false when there is no such key, or a window is bound to it. Its index comes back later with
  // another key.
  bool remove(std::uint32_t key);
  // The same, whatever is bound to it: those windows are open to nobody then.
  void remove_with_windows(std::uint32_t key);
  // Null when the key is unknown or was invalidated.
  MemoryRegion* find(std::uint32_t key) {
    std::uint32_t index = key >> 8;
    if (index >= regions_.size() || regions_[index].key != key || !regions_[index].valid) return nullptr;
    return &regions_[index];
  }

  // Version of the table: results of find() hold as long as this is the same; never 0.
  std::uint32_t changes() const { return changes_; }
  void invalidate(std::uint32_t key) {
    if (MemoryRegion* region = find(key)) close(*region);
    ++changes_;
  }

  // False only when the bytes are elsewhere and gone.
  static bool read(const MemoryRegion& region, std::uint64_t va, std::span<std::uint8_t> out);
  static bool write(MemoryRegion& region, std::uint64_t va, std::span<const std::uint8_t> in, Time_ps visible_ps);

 private:
  std::uint32_t insert(MemoryRegion region);
  void close(MemoryRegion& region);

  std::vector<MemoryRegion> regions_;
  ContextRing free_;  // indices of removed regions, the oldest first
  RandomStream keys_;
  std::uint32_t changes_ = 1;
  std::uint64_t* registered_B_ = nullptr;
};

}  // namespace weft::nic
