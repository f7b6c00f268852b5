// Latency of single messages (docs/results.md, "Latency of messages").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

#include "base/time.h"
#include "store/columns.h"

namespace weft::store {

struct FlowLatencyRow {
  std::string workload;
  std::optional<std::uint64_t> number;
  std::string source, destination;
  std::uint64_t messages = 0;
  Time_ps min_ps = 0, mean_ps = 0, p50_ps = 0, p90_ps = 0, p99_ps = 0, p999_ps = 0, max_ps = 0;
};
template <>
inline constexpr Table table<FlowLatencyRow>{
    "flow_latency", "[latency of the messages](#latency-of-messages) of each flow that completed any"};
template <>
inline constexpr auto columns<FlowLatencyRow> = std::tuple{
    Column{"workload", &FlowLatencyRow::workload},
    Column{"number", &FlowLatencyRow::number, "none: what a workload that has no flows sent from one port to another"},
    Column{"source", &FlowLatencyRow::source},
    Column{"destination", &FlowLatencyRow::destination},
    Column{"messages", &FlowLatencyRow::messages},
    Column{"min_ps", &FlowLatencyRow::min_ps},
    Column{"mean_ps", &FlowLatencyRow::mean_ps},
    Column{"p50_ps", &FlowLatencyRow::p50_ps},
    Column{"p90_ps", &FlowLatencyRow::p90_ps},
    Column{"p99_ps", &FlowLatencyRow::p99_ps},
    Column{"p999_ps", &FlowLatencyRow::p999_ps},
    Column{"max_ps", &FlowLatencyRow::max_ps},
};

struct WorkloadLatencyRow {
  std::string workload;
  std::uint64_t messages = 0;
  std::optional<Time_ps> min_ps, mean_ps, p50_ps, p90_ps, p99_ps, p999_ps, max_ps;
  std::optional<std::string> none;
};
template <>
inline constexpr Table table<WorkloadLatencyRow>{"workload_latency", "the same of each workload"};
template <>
inline constexpr auto columns<WorkloadLatencyRow> = std::tuple{
    Column{"workload", &WorkloadLatencyRow::workload},
    Column{"messages", &WorkloadLatencyRow::messages},
    Column{"none", &WorkloadLatencyRow::none, "the reason why there are none"}.json_only(),
    Column{"min_ps", &WorkloadLatencyRow::min_ps}.json("latency_min_ps"),
    Column{"mean_ps", &WorkloadLatencyRow::mean_ps}.json("latency_mean_ps"),
    Column{"p50_ps", &WorkloadLatencyRow::p50_ps}.json("latency_p50_ps"),
    Column{"p90_ps", &WorkloadLatencyRow::p90_ps}.json("latency_p90_ps"),
    Column{"p99_ps", &WorkloadLatencyRow::p99_ps}.json("latency_p99_ps"),
    Column{"p999_ps", &WorkloadLatencyRow::p999_ps}.json("latency_p999_ps"),
    Column{"max_ps", &WorkloadLatencyRow::max_ps}.json("latency_max_ps"),
    Column{"none", &WorkloadLatencyRow::none, "the reason why there are none"}.table_only(),
};

struct LatencyBucketRow {
  std::string workload;
  Time_ps upto_ps = 0;
  std::uint64_t messages = 0;
};
template <>
inline constexpr Table table<LatencyBucketRow>{"latency_bucket", "its distribution: messages in each bucket"};
template <>
inline constexpr auto columns<LatencyBucketRow> = std::tuple{
    Column{"workload", &LatencyBucketRow::workload},
    Column{"upto_ps", &LatencyBucketRow::upto_ps, "the longest time that the bucket takes"},
    Column{"messages", &LatencyBucketRow::messages},
};

}  // namespace weft::store
