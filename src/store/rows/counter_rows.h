// Counters of ports, as far as they moved.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>

#include "store/columns.h"

namespace weft::store {

struct CounterRow {
  std::string node, port, device, group, name;
  std::uint64_t value = 0;
};
template <>
inline constexpr Table table<CounterRow>{"counter",
                                         "counters of NIC ports under the names of mlx5, where anything was counted"};
template <>
inline constexpr auto columns<CounterRow> = std::tuple{
    Column{"node", &CounterRow::node},
    Column{"port", &CounterRow::port},
    Column{"device", &CounterRow::device},
    Column{"group", &CounterRow::group, "`hw_counters`, `ethtool`, `weft`"}.quoted(),
    Column{"name", &CounterRow::name},
    Column{"value", &CounterRow::value},
};

struct PortDropRow {
  std::string node, port, reason;
  std::uint64_t packets = 0;
};
template <>
inline constexpr Table table<PortDropRow>{"port_drop",
                                          "packets that switch ports lost, by reason, those without a record included"};
template <>
inline constexpr auto columns<PortDropRow> = std::tuple{
    Column{"node", &PortDropRow::node},
    Column{"port", &PortDropRow::port},
    Column{"reason", &PortDropRow::reason, "by the name of the metric"},
    Column{"packets", &PortDropRow::packets},
};

}  // namespace weft::store
