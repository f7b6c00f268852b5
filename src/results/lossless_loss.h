// Packets of a lossless class that switches or NICs lost all the same: a run with them is not one of a lossless fabric.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "results/run_result.h"

namespace weft::lab {

struct LosslessLoss {
  std::string where;                  // a switch, or the port of a NIC
  bool by_nic = false;                // for want of room in its receive buffer
  std::uint8_t group = 0;             // of a NIC: the priority
  bool is_lossless = true;            // false: lossless to the hosts, and this switch takes it into another class
  std::uint64_t lost = 0, taken = 0;  // packets of the group
  // As far as they were logged, the most frequent first.
  std::vector<std::pair<std::string, std::uint64_t>> reasons;
};

// Every one for want of room; those of other reasons from one in ten thousand on.
std::vector<LosslessLoss> lossless_losses(const Lab& lab, const RunResult& result);
// The queue that the hosts' lossless RoCE packets come into at such a switch, if it is not lossless there.
struct LossyQueue {
  std::uint8_t queue = 0, priority = 0;
};
std::optional<LossyQueue> lossy_queue_of_roce(const Lab& lab, const fabric::SwitchQos& qos);
// For the top of a report; empty without them.
std::string lossless_notice(const Lab& lab, const RunResult& result);

}  // namespace weft::lab
