// Why a port with work did not send: what the queue pair that ended an idle time of the port had waited for last. From
// it comes the account of where a link's bandwidth went (tools/perftest/budget.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/time.h"

namespace weft::nic {

// Limits of payload between the NIC and memory, from the card outwards.
enum class PcieLimit : std::uint8_t {
  kLink,           // the card's own: generation, lanes, size of a TLP
  kReadRequests,   // that may be in flight, times their size, over the round trip
  kWrites,         // that may be in flight, over the time that one takes
  kOrderedWrites,  // the same without relaxed ordering
  kUplink,         // of a PCIe switch above the card
  kIommu,
  kSlowMemory,  // a fault
  kNuma,        // the link between nodes, and what its hops take
  kPeer,        // from peer to peer through the root complex
  kGpu,         // its link, its limits for peers, what its memory takes longer
  kAcs,         // peers below one switch that are sent up to the root
  kStaging,     // copies between GPU and host memory: no GPUDirect
  kRateLimit,   // of a virtual function: max_tx_rate
};
inline constexpr std::size_t kPcieLimits = 13;
using PcieTimes = std::array<Time_ps, kPcieLimits>;

enum class Wait : std::uint8_t {
  kPost,         // for a work request and its doorbell
  kRoundTrip,    // for an acknowledgement, a response or a credit: the send queue or a window was full
  kMessageRate,  // for the NIC's own rate of messages
  kPace,         // for congestion control
  kPause,        // for the end of a pause
  kRecovery,     // after a NAK, an RNR NAK or a timeout
  kContext,      // for the context of the queue pair, which was not in the NIC
  kPcie,         // for payload; from here on by PcieLimit
};
inline constexpr std::size_t kWaits = static_cast<std::size_t>(Wait::kPcie) + kPcieLimits;

constexpr Wait wait_for(PcieLimit limit) {
  return static_cast<Wait>(static_cast<unsigned>(Wait::kPcie) + static_cast<unsigned>(limit));
}

}  // namespace weft::nic
