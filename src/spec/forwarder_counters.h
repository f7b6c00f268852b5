// What a software forwarder counts: its qdiscs as `tc -s qdisc`, RX rings as ethtool -S,
// softirqs as /proc/net/softnet_stat.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace weft::fabric {

struct QdiscCounters {
  std::uint64_t sent_B = 0, sent_packets = 0;  // frames without FCS
  std::uint64_t dropped = 0, overlimits = 0, requeues = 0;
  std::uint64_t marked = 0, early = 0, pdrop = 0;  // of RED
  std::uint64_t backlog_B = 0, backlog_packets = 0;
  std::uint64_t max_backlog_B = 0;
};

struct ForwarderPortCounters {
  std::uint64_t rx_packets = 0;        // went through the ring
  std::uint64_t rx_out_of_buffer = 0;  // found no descriptor
  std::uint64_t interrupts = 0;
  std::uint64_t polls = 0;
  std::uint32_t max_ring = 0;  // descriptors in use, the most of any queue
  QdiscCounters qdisc;
  std::uint64_t tx_stopped = 0;   // tx_queue_stopped
  std::uint64_t max_limit_B = 0;  // of byte queue limits
};
struct SoftirqCounters {
  std::uint64_t packets = 0, time_squeeze = 0;  // /proc/net/softnet_stat
  Time_ps busy_ps = 0;
};

}  // namespace weft::fabric
