// What was run: the run itself, its nodes, ports and cables, what it expected, its time series.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/time.h"
#include "store/columns.h"

namespace weft::store {

struct RunRow {
  std::string key, value;
};
template <>
inline constexpr Table table<RunRow>{
    "run",
    "`lab`, `seed`, `set` (a list in JSON), `end_ps`, `interrupted`, `cut_off`, `circular_waits`, "
    "`sample_interval_ps`, `samples`, `recorded`, `left_out`, `pauses_left_out`; `headline` (one sentence), `why` (the "
    "last three lines of the report), `failures` (what workloads did not do, a line each)",
    false};
template <>
inline constexpr auto columns<RunRow> = std::tuple{
    Column{"key", &RunRow::key}.key(),
    Column{"value", &RunRow::value},
};

struct NodeRow {
  std::string name, kind, model;
  std::optional<std::int64_t> tier;
  std::optional<std::uint64_t> pool_B, max_buffer_B, held_packets;
};
template <>
inline constexpr Table table<NodeRow>{"node", "hosts and switches"};
template <>
inline constexpr auto columns<NodeRow> = std::tuple{
    Column{"name", &NodeRow::name}.key(),
    Column{"kind", &NodeRow::kind, "host, vm, switch, forwarder"},
    Column{"model", &NodeRow::model, "of the catalog"},
    Column{"tier", &NodeRow::tier, "of a switch: 0 at the hosts"},
    Column{"pool_B", &NodeRow::pool_B, "of a switch: the shared buffer"},
    Column{"max_buffer_B", &NodeRow::max_buffer_B, "the most that all of its queues held"},
    Column{"held_packets", &NodeRow::held_packets, "still in its queues at the end"},
};

struct PortRow {
  std::string node, name;
  std::optional<std::string> device;
  std::string peer;
  std::optional<std::string> address;
  std::int64_t rate_bps = 0;
};
template <>
inline constexpr Table table<PortRow>{"port", "those with a cable"};
template <>
inline constexpr auto columns<PortRow> = std::tuple{
    Column{"node", &PortRow::node},
    Column{"name", &PortRow::name},
    Column{"device", &PortRow::device, "of a NIC: mlx5_0"},
    Column{"peer", &PortRow::peer, "the port at the other end"},
    Column{"address", &PortRow::address, "of a NIC"},
    Column{"rate_bps", &PortRow::rate_bps},
};

struct CableRow {
  std::string a, b;
  std::int64_t rate_bps = 0, length_mm = 0;
};
template <>
inline constexpr Table table<CableRow>{"cable", "cables, by the ports at their ends"};
template <>
inline constexpr auto columns<CableRow> = std::tuple{
    Column{"a", &CableRow::a},
    Column{"b", &CableRow::b},
    Column{"rate_bps", &CableRow::rate_bps},
    Column{"length_mm", &CableRow::length_mm},
};

struct ExpectationRow {
  std::string what;
  std::optional<double> min, max, value;
  bool met = false;
};
template <>
inline constexpr Table table<ExpectationRow>{"expectation", "expectations of the lab"};
template <>
inline constexpr auto columns<ExpectationRow> = std::tuple{
    Column{"what", &ExpectationRow::what, "subject and metric"},
    Column{"min", &ExpectationRow::min},
    Column{"max", &ExpectationRow::max},
    Column{"value", &ExpectationRow::value, "none: the run has no such value"}.null_in_json().rounded(6),
    Column{"met", &ExpectationRow::met},
};

struct SeriesRow {
  std::int64_t id = 0;
  std::string node, port;
  std::int64_t class_ = -1;
  std::string metric, unit;
  Time_ps interval_ps = 0;
  std::int64_t most = 0, last = 0;
};
template <>
inline constexpr Table table<SeriesRow>{"series", "time series that are not zero throughout"};
template <>
inline constexpr auto columns<SeriesRow> = std::tuple{
    Column{"id", &SeriesRow::id}.key(),
    Column{"node", &SeriesRow::node, "of a flow: its workload"},
    Column{"port", &SeriesRow::port, "empty: of the whole node; of a flow: its number"},
    Column{"class", &SeriesRow::class_, "-1: of all"},
    Column{"metric", &SeriesRow::metric},
    Column{"unit", &SeriesRow::unit},
    Column{"interval_ps", &SeriesRow::interval_ps},
    Column{"most", &SeriesRow::most, "the largest sample"},
    Column{"last", &SeriesRow::last, "the last sample"},
};

struct BlockRow {
  std::int64_t series_id = 0;
  std::uint64_t first_sample = 0, count = 0;
  std::string encoding;
  std::vector<std::uint8_t> data;
};
template <>
inline constexpr Table table<BlockRow>{"block", "their samples"};
template <>
inline constexpr auto columns<BlockRow> = std::tuple{
    Column{"series_id", &BlockRow::series_id}, Column{"first_sample", &BlockRow::first_sample},
    Column{"count", &BlockRow::count},         Column{"encoding", &BlockRow::encoding},
    Column{"data", &BlockRow::data},
};

}  // namespace weft::store
