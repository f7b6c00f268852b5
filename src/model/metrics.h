// The names that `expect:` may use of ports, switches and the fabric, and the completion statuses by name. One place,
// so that the reader, the report and the documentation agree.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "spec/switch_config.h"

namespace weft::lab {

enum class MetricGroup : unsigned char { kSwitchPort, kSwitch, kForwarder, kFabric, kDeadlock };

// What switches counted; "fabric" is the subject of kFabric, "deadlock" that of kDeadlock. What workloads measure is in
// workload/kinds.h.
std::span<const std::string_view> metrics_of(MetricGroup group);

// mlx5 hw_counters and counters (as `rdma statistic` prints them), mlx5 ethtool -S, and irdma's three
// ([linux] mlx5 counters.rst, [lumina]). "rx_prio3_pause" and its seven sisters are all in the list.
std::span<const std::string_view> known_counters();
bool is_known_counter(std::string_view name);
// Those that this simulator counts; the others are real names of things not modelled.
std::span<const std::string> counted_counters();

// What a port counts of pauses, by priority: "rx_prio3_pause" and so on.
struct PauseCounterNames {
  std::string rx, rx_duration, tx, tx_duration, rx_transition;
};
const std::array<PauseCounterNames, fabric::kClasses>& pause_counter_names();

// IBV_WC_SUCCESS .. IBV_WC_TM_RNDV_INCOMPLETE -> enum ibv_wc_status of libibverbs.
std::optional<int> wc_status_value(std::string_view name);

}  // namespace weft::lab
