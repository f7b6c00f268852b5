// Flows of the lab: one row for each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/time.h"
#include "store/columns.h"
#include "store/json_row.h"

namespace weft::store {

// Where the bandwidth of the line went.
struct VerdictRow {
  bool healthy = false;
  double line_Gbps = 0, framing_Gbps = 0, best_framing_Gbps = 0;
  NamedValues<double> budget_Gbps;
};
template <>
inline constexpr auto columns<VerdictRow> = std::tuple{
    Column{"healthy", &VerdictRow::healthy},
    Column{"line_Gbps", &VerdictRow::line_Gbps}.rounded(3),
    Column{"framing_Gbps", &VerdictRow::framing_Gbps, "what headers leave at this path MTU"}.rounded(3),
    Column{"best_framing_Gbps", &VerdictRow::best_framing_Gbps, "at a path MTU of 4096"}.rounded(3),
    Column{"budget_Gbps", &VerdictRow::budget_Gbps, "by cause"}.rounded(3).empty_in_json(),
};

// What switches wrote into a flow's packets, the worst of a hop.
struct HopRow {
  std::string port;
  std::uint64_t max_queue_B = 0;
  Time_ps max_stay_ps = 0;
};
template <>
inline constexpr auto columns<HopRow> = std::tuple{
    Column{"port", &HopRow::port, "by which they left"},
    Column{"max_queue_B", &HopRow::max_queue_B},
    Column{"max_stay_ps", &HopRow::max_stay_ps},
};

struct FlowRow {
  std::string workload;
  std::uint64_t number = 0;
  std::uint32_t id = 0;
  std::optional<std::string> name;
  std::string from, to;
  std::uint32_t qpn = 0;
  std::uint64_t size_B = 0;
  std::vector<std::string> after;
  std::optional<Time_ps> ready_ps;
  std::optional<Time_ps> start_ps;
  std::optional<Time_ps> fct_ps;
  std::string state;
  std::optional<double> goodput_bps, slowdown;
  std::optional<std::string> failure;
  std::uint64_t retransmitted_packets = 0, cnps_received = 0;
  std::optional<Time_ps> posted_ps;
  std::optional<VerdictRow> verdict;
  std::vector<HopRow> telemetry;
};
template <>
inline constexpr Table table<FlowRow>{"flow", "all flows"};
template <>
inline constexpr auto columns<FlowRow> = std::tuple{
    Column{"workload", &FlowRow::workload}.table_only(),
    Column{"number", &FlowRow::number, "from 0 in each workload"}.table_only(),
    Column{"id", &FlowRow::id, "of the lab's list; 0: it has none"},
    Column{"name", &FlowRow::name, "of a graph"}.json_only(),
    Column{"source", &FlowRow::from, "port"}.json("from"),
    Column{"destination", &FlowRow::to, "port"}.json("to"),
    Column{"qpn", &FlowRow::qpn, "the sender's"}.json_only(),
    Column{"size_B", &FlowRow::size_B},
    Column{"after", &FlowRow::after, "names of the flows that it waits for"}.json_only(),
    Column{"ready_ps", &FlowRow::ready_ps, "when the last of them had ended"}.json_only(),
    Column{"start_ps", &FlowRow::start_ps, "when it was to start, from the start of the workload"}.null_in_json(),
    Column{"fct_ps", &FlowRow::fct_ps, "completion time, of flows that are done"}.table_only(),
    Column{"state", &FlowRow::state, "waiting, running, done, failed"},
    Column{"fct_ps", &FlowRow::fct_ps, "completion time, of flows that are done"}.json_only(),
    Column{"goodput_bps", &FlowRow::goodput_bps}.json("goodput_Gbps").rounded(6, 1e9),
    Column{"slowdown", &FlowRow::slowdown, "completion time by that of the same flow alone"}.rounded(6),
    Column{"failure", &FlowRow::failure}.json_only(),
    Column{"retransmitted_packets", &FlowRow::retransmitted_packets},
    Column{"cnps_received", &FlowRow::cnps_received},
    Column{"posted_ps", &FlowRow::posted_ps, "when the CPU got to it, of flows that are done"}.table_only(),
    Column{"verdict", &FlowRow::verdict, "with --why"}.json_only(),
    Column{"telemetry", &FlowRow::telemetry, "by hop"}.json_only(),
};

// Flows of a workload together.
struct FlowSummaryRow {
  std::uint64_t done = 0, failed = 0, unfinished = 0, bytes_done_B = 0;
  std::optional<double> goodput_bps, jain;
  std::optional<Time_ps> fct_p50_ps, fct_p99_ps, fct_p999_ps, fct_max_ps;
  std::optional<double> slowdown_p50, slowdown_p99, fair_share_p50, fair_share_min;
};
template <>
inline constexpr auto columns<FlowSummaryRow> = std::tuple{
    Column{"done", &FlowSummaryRow::done},
    Column{"failed", &FlowSummaryRow::failed},
    Column{"unfinished", &FlowSummaryRow::unfinished},
    Column{"bytes_done_B", &FlowSummaryRow::bytes_done_B},
    Column{"goodput_Gbps", &FlowSummaryRow::goodput_bps}.rounded(6, 1e9),
    Column{"jain", &FlowSummaryRow::jain}.rounded(6),
    Column{"fct_p50_ps", &FlowSummaryRow::fct_p50_ps},
    Column{"fct_p99_ps", &FlowSummaryRow::fct_p99_ps},
    Column{"fct_p999_ps", &FlowSummaryRow::fct_p999_ps},
    Column{"fct_max_ps", &FlowSummaryRow::fct_max_ps},
    Column{"slowdown_p50", &FlowSummaryRow::slowdown_p50}.rounded(6),
    Column{"slowdown_p99", &FlowSummaryRow::slowdown_p99}.rounded(6),
    Column{"fair_share_p50", &FlowSummaryRow::fair_share_p50}.rounded(6),
    Column{"fair_share_min", &FlowSummaryRow::fair_share_min}.rounded(6),
};

struct FlowNameRow {
  std::string workload;
  std::uint64_t number = 0;
  std::string name;
  std::optional<Time_ps> ready_ps;
};
template <>
inline constexpr Table table<FlowNameRow>{"flow_name", "only with a graph of flows: their names"};
template <>
inline constexpr auto columns<FlowNameRow> = std::tuple{
    Column{"workload", &FlowNameRow::workload},
    Column{"number", &FlowNameRow::number, "as in `flow`"},
    Column{"name", &FlowNameRow::name},
    Column{"ready_ps", &FlowNameRow::ready_ps, "when the last flow that it waits for had ended"},
};

struct FlowAfterRow {
  std::string workload;
  std::uint64_t number = 0, after = 0;
};
template <>
inline constexpr Table table<FlowAfterRow>{"flow_after", "only with a graph of flows: what each flow waits for"};
template <>
inline constexpr auto columns<FlowAfterRow> = std::tuple{
    Column{"workload", &FlowAfterRow::workload},
    Column{"number", &FlowAfterRow::number},
    Column{"after", &FlowAfterRow::after, "the number of a flow that it waits for"},
};

}  // namespace weft::store
