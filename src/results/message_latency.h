// How long single messages took, by flow and by workload: from the doorbell of a work request to the moment at which
// the CPU can see its completion (nic/record/port_record.h). Percentiles are right to 0.8 % (base/log_histogram.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/log_histogram.h"

namespace weft::lab {

struct Evidence;

struct FlowLatency {
  std::string workload;
  std::optional<std::uint64_t> number;  // of a flow; nothing: what a workload sent from one port to another
  std::string from, to;                 // of the data
  LogHistogram latency_ps;
};

struct WorkloadLatency {
  std::string workload;
  LogHistogram latency_ps;
  std::string none;  // why there is none, where it has none
};

struct MessageLatency {
  std::vector<FlowLatency> flows;          // those with messages
  std::vector<WorkloadLatency> workloads;  // all of the lab, in its order
};
MessageLatency message_latency(const Evidence& evidence);

// "  latency of 1000 messages us: p50 1.234, p99 2.345, p99.9 3.456, max 4.567"
std::string latency_line(const LogHistogram& latency_ps);

}  // namespace weft::lab
