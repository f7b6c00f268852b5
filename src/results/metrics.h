// The names that `expect:` may use: what workloads measure, what ports count, and the completion
// statuses by name. One place, so that the reader, the report and the documentation agree.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace weft::lab {

enum class MetricGroup : unsigned char {
  kBandwidth,
  kLatency,
  kTransfer,
  kFlows,
  kSwitchPort,
  kSwitch,
  kFabric,
  kDeadlock
};

// kBandwidth and kLatency are perftest's columns; kTransfer is what a verified transfer reports,
// kFlows the summary of a run of flows (workload/flow_result.h). The rest is what switches counted; "fabric" is the
// subject of kFabric, "deadlock" that of kDeadlock.
std::span<const std::string_view> metrics_of(MetricGroup group);

// Of every workload of programs, beside the names under `find`.
inline constexpr std::string_view kExitMetric = "exit";

// mlx5 hw_counters and counters (as `rdma statistic` prints them), mlx5 ethtool -S, and irdma's three
// (facts PROTOCOL 4). "rx_prio3_pause" and its seven sisters are all in the list.
std::span<const std::string_view> known_counters();
bool is_known_counter(std::string_view name);
// Those that this simulator counts (results/port_counters.h); the others are real names of things not modelled.
std::span<const std::string> counted_counters();

// IBV_WC_SUCCESS .. IBV_WC_TM_RNDV_INCOMPLETE -> enum ibv_wc_status of libibverbs.
std::optional<int> wc_status_value(std::string_view name);

}  // namespace weft::lab
