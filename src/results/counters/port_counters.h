// Counters of a NIC port under the names of the drivers: what the device counted (spec/nic_counters.h) and what its
// port saw of pauses.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "results/run_result.h"

namespace weft::lab {

// Groups by their names in both files of results.
inline constexpr std::pair<nic::CounterGroup, const char*> kCounterGroups[] = {
    {nic::CounterGroup::kHardware, "hw_counters"}, {nic::CounterGroup::kEthtool, "ethtool"}};
// Counters that no driver has.
inline constexpr const char* kOwnCounters = "weft";
std::array<std::pair<std::string_view, std::uint64_t>, 3> own_counters(const PortOutcome& port);

std::vector<nic::NamedCounter> port_counters(const PortOutcome& port);

}  // namespace weft::lab
