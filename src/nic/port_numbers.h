// Numbers that a port hands out, each a function of seed, port and order alone: queue pair numbers, first PSNs, memory
// keys.
// Whoever does not have the device, because it belongs to another engine, still knows what its peer will have.
#pragma once

#include <cstdint>

#include "base/random.h"
#include "nic/memory.h"

namespace weft::nic {

class QueuePairNumbers {
 public:
  static constexpr std::uint32_t kFirst = 0x108;  // low numbers are the driver's own, as on mlx5
  // In the numbers of those of a bond's second port, where they begin again.
  static constexpr std::uint32_t kSecondPort = 1 << 23;
  static constexpr std::uint32_t place_of(std::uint32_t qpn) { return (qpn & ~kSecondPort) - kFirst; }

  QueuePairNumbers(std::uint64_t seed, std::uint32_t port_id) : psns_(seed, port_id, RandomPurpose::kPsn) {}
  // Number of a queue pair that none has had: of the port, and of a bond whose ports have their turn.
  std::uint32_t next_qpn() { return kFirst + count_++; }
  std::uint32_t next_of_bond() {
    const std::uint32_t number = count_++;
    return (kFirst + number / 2) | (number % 2 == 0 ? 0 : kSecondPort);
  }
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
  bool is_bond;

  PortElsewhere(std::uint64_t seed, std::uint32_t port, std::uint32_t most_rd_atomic, bool bond)
      : port_id(port), max_rd_atomic(most_rd_atomic), numbers(seed, port), memory(seed, port), is_bond(bond) {}
  std::uint32_t next_qpn() { return is_bond ? numbers.next_of_bond() : numbers.next_qpn(); }
};

}  // namespace weft::nic
