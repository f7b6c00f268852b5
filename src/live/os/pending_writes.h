// Writes that the NIC has made to a process's memory and its CPU cannot see yet, with their bytes in slots of the
// payload pool: mostly those that their packets brought.
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "base/time.h"
#include "nic/memory.h"

namespace weft::live {

inline constexpr std::size_t kMostPieces = 64;  // of one system call that moves bytes

struct PendingWrite {
  Time_ps visible_ps;
  std::uint64_t address;
  std::uint32_t size_B;
  std::uint32_t slot;
  std::uint16_t at_B;  // where in the slot
  bool ends;           // nothing else is in the slot
};

class PendingWrites {
 public:
  bool empty() const { return writes_.empty(); }
  Time_ps first_ps() const { return writes_.front().visible_ps; }
  Time_ps last_ps() const { return writes_.back().visible_ps; }

  // Not to be seen before its time, nor before an earlier one. The pool is the same each time.
  void add(PendingWrite write, nic::PayloadPool& pool);
  // A copy of the bytes.
  void add(std::uint64_t address, std::span<const std::uint8_t> bytes, nic::PayloadPool& pool, Time_ps visible_ps);
  // It is time to write what can be seen, though nobody looks: while the bytes are in the cache.
  bool are_many() const { return writes_.size() >= kMostPieces || size_B_ >= kMany_B; }
  // Everything that the CPU can see at `now_ps` is in the memory of the process afterwards, as far as it has any.
  void settle(int pid, Time_ps now_ps);
  void clear();

 private:
  static constexpr std::size_t kMany_B = 128 << 10;
  void settle_some(int pid, Time_ps now_ps);
  void end(std::size_t count);

  std::deque<PendingWrite> writes_;
  nic::PayloadPool* pool_ = nullptr;
  std::size_t size_B_ = 0;        // of all
  std::vector<iovec> from_, to_;  // of one system call
};

// The memory of a process. False: some of it is not there.
bool read_memory(int pid, std::uint64_t address, std::span<std::uint8_t> out);
bool write_memory(int pid, std::uint64_t address, std::span<const std::uint8_t> in);

}  // namespace weft::live
