// NVLink SHARP at one NVSwitch, on one channel of a communicator: how far its GPUs are with chunks that they have
// written for the switch to add up, and with those that heads have had it write to all. A chunk's slot is one of eight;
// whoever writes it waits until all that read it have done so.
#pragma once

#include <cstdint>
#include <vector>

#include "nccl/decide/communicator.h"

namespace weft::workload {

struct CollectiveSwitch {
  explicit CollectiveSwitch(const nccl::NvlsNode& node)
      : scattered(node.ranks.size()),
        scatters_seen(node.ranks.size()),
        gathered(node.ranks.size()),
        gathers_seen(node.ranks.size()),
        reduced(node.heads.size()),
        reduces_seen(node.heads.size()),
        broadcast(node.heads.size()),
        broadcasts_seen(node.heads.size()) {}

  std::vector<std::uint32_t> gpus;  // by place: CUDA's numbers
  // Chunks of all operations so far; `seen`: as the others know it.
  std::vector<std::uint64_t> scattered, scatters_seen, gathered, gathers_seen;   // by place
  std::vector<std::uint64_t> reduced, reduces_seen, broadcast, broadcasts_seen;  // by head
  std::vector<std::uint64_t> waiting;                                            // lanes
};

// What has become known.
enum class SwitchNews : std::uint8_t { kScattered, kReduced, kBroadcast, kGathered };

}  // namespace weft::workload
