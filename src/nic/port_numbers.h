// What a port hands out, each a function of seed, port and order alone: queue pair numbers, first PSNs, memory keys.
// Whoever does not have the device, because it belongs to another engine, still knows what its peer will have.
#pragma once

#include <cstdint>

#include "base/random.h"
#include "nic/memory.h"

namespace weft::nic {

class QueuePairNumbers {
 public:
  static constexpr std::uint32_t kFirst = 0x108;  // low numbers are the driver's own, as on mlx5

  QueuePairNumbers(std::uint64_t seed, std::uint32_t port_id) : psns_(seed, port_id, RandomPurpose::kPsn) {}
  // Of a queue pair whose number nobody has had.
  std::uint32_t next_qpn() { return kFirst + count_++; }
  std::uint32_t random_psn() { return static_cast<std::uint32_t>(psns_.below(1 << 24)); }

 private:
  std::uint32_t count_ = 0;
  RandomStream psns_;
};

// A port of another engine, as far as its peers need to know it.
struct PortElsewhere {
  std::uint32_t port_id;
  std::uint32_t max_rd_atomic;
  QueuePairNumbers numbers;
  MemoryTable memory;

  PortElsewhere(std::uint64_t seed, std::uint32_t port, std::uint32_t most_rd_atomic)
      : port_id(port), max_rd_atomic(most_rd_atomic), numbers(seed, port), memory(seed, port) {}
};

}  // namespace weft::nic
