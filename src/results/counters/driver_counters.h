// The counters of a NIC port under the names that its own driver gives them: mlx5's are those of port_counters.h; irdma
// and ice have fewer, and other words. Only what is modelled is listed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "results/run_result.h"

namespace weft::lab {

struct DriverCounter {
  nic::CounterGroup group;
  std::string name;
  std::uint64_t value;
};
// `driver` is that of the catalog: "mlx5", "irdma". In the order in which the driver prints them.
std::vector<DriverCounter> driver_counters(const PortOutcome& port, std::string_view driver, bool ipv4);

}  // namespace weft::lab
