// Why a port with work did not send: what the queue pair that ended an idle time of the port had waited for last. From
// it comes the account of where a link's bandwidth went (workload/perftest_budget.h).
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::nic {

enum class Wait : std::uint8_t {
  kPost,         // for a work request and its doorbell
  kRoundTrip,    // for an acknowledgement, a response or a credit: the send queue or a window was full
  kPcie,         // for payload
  kMessageRate,  // for the NIC's own rate of messages
  kPace,         // for congestion control
  kPause,        // for the end of a pause
  kRecovery,     // after a NAK, an RNR NAK or a timeout
  kRateLimit,    // of its virtual function: max_tx_rate
};
inline constexpr std::size_t kWaits = 8;

}  // namespace weft::nic
