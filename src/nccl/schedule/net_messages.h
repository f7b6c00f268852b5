// Messages of collectives over the network, in place of a run: those of the schedule that a run has, by the NICs
// that they leave and reach. Not counted: what the network plugin adds, and what goes over NVLink, PCIe and memory.
#pragma once

#include <cstdint>
#include <map>

#include "nccl/decide/communicator.h"
#include "nccl/schedule/operation.h"

namespace weft::nccl {

struct NetMessage {
  std::uint32_t from_machine = 0, from_nic = 0, to_machine = 0, to_nic = 0;
  std::uint64_t size_B = 0;
  bool socket = false;  // in place of verbs
  friend auto operator<=>(const NetMessage&, const NetMessage&) = default;
};

class NetMessages {
 public:
  // Adds what `rank` sends in one operation, so many times.
  void add(const Communicator& communicator, std::uint32_t rank, const Operation& operation, std::uint64_t times);
  const std::map<NetMessage, std::uint64_t>& counts() const { return counts_; }

 private:
  std::map<NetMessage, std::uint64_t> counts_;
};

}  // namespace weft::nccl
