// What switches were set to and what happened at them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

#include "base/time.h"
#include "store/columns.h"

namespace weft::store {

struct QueueLimitRow {
  std::string node;
  std::uint32_t class_ = 0;
  std::optional<std::int64_t> xoff_B, xon_B, ecn_min_B, ecn_max_B;
};
template <>
inline constexpr Table table<QueueLimitRow>{"queue_limit", "thresholds of switches, for each class that has any"};
template <>
inline constexpr auto columns<QueueLimitRow> = std::tuple{
    Column{"node", &QueueLimitRow::node},
    Column{"class", &QueueLimitRow::class_},
    Column{"xoff_B", &QueueLimitRow::xoff_B,
           "where XOFF is sent when one priority group fills the shared pool alone (the limit is dynamic: with others "
           "in the pool it is lower)"},
    Column{"xon_B", &QueueLimitRow::xon_B, "where XON follows"},
    Column{"ecn_min_B", &QueueLimitRow::ecn_min_B, "the ECN ramp of the queue"},
    Column{"ecn_max_B", &QueueLimitRow::ecn_max_B},
};

struct HeadroomRow {
  std::string node;
  std::optional<std::string> port;
  std::optional<std::uint32_t> class_;
  std::int64_t size_B = 0;
};
template <>
inline constexpr Table table<HeadroomRow>{"headroom", "headroom of priority groups"};
template <>
inline constexpr auto columns<HeadroomRow> = std::tuple{
    Column{"node", &HeadroomRow::node},
    Column{"port", &HeadroomRow::port, "none: all ports of the switch that have no row of their own"},
    Column{"class", &HeadroomRow::class_, "none: the pool that all groups share"},
    Column{"size_B", &HeadroomRow::size_B, "in whole cells"},
};

struct DropRow {
  std::string node;
  Time_ps time_ps = 0, last_ps = 0;
  std::uint64_t count = 1;
  std::string in_port;
  std::optional<std::string> out_port;
  int queue = -1;
  std::uint64_t occupancy_B = 0;
  std::optional<int> out_queue;
  std::optional<std::uint64_t> out_queue_B;
  std::string reason;
  std::optional<int> wjh_id;
  std::string source, destination, source_address, destination_address;
  std::uint32_t udp_src_port = 0, dest_qp = 0, psn = 0, opcode = 0;
};
template <>
inline constexpr Table table<DropRow>{"drop_record", "packets that switches lost"};
template <>
inline constexpr auto columns<DropRow> = std::tuple{
    Column{"node", &DropRow::node}.table_only(),
    Column{"time_ps", &DropRow::time_ps},
    Column{"last_ps", &DropRow::last_ps, "of several packets"}.json_only(),
    Column{"count", &DropRow::count, "packets of one record"}.json_only(),
    Column{"in_port", &DropRow::in_port}.json("in"),
    Column{"out_port", &DropRow::out_port, "none: not decided yet"}.json("out"),
    Column{"queue", &DropRow::queue}.table_only(),
    Column{"queue", &DropRow::out_queue}.json_only(),
    Column{"occupancy_B", &DropRow::out_queue_B, "what the queue held"}.json_only(),
    Column{"reason", &DropRow::reason},
    Column{"wjh_id", &DropRow::wjh_id, "of What Just Happened"}.null_in_json(),
    Column{"occupancy_B", &DropRow::occupancy_B, "what the queue held"}.table_only(),
    Column{"source", &DropRow::source, "of the first packet"}.json("from"),
    Column{"destination", &DropRow::destination}.json("to"),
    Column{"src_ip", &DropRow::source_address}.json_only(),
    Column{"dst_ip", &DropRow::destination_address}.json_only(),
    Column{"udp_src_port", &DropRow::udp_src_port},
    Column{"dest_qp", &DropRow::dest_qp},
    Column{"psn", &DropRow::psn},
    Column{"opcode", &DropRow::opcode},
    Column{"last_ps", &DropRow::last_ps, "of several packets"}.table_only(),
    Column{"count", &DropRow::count, "packets of one record"}.table_only(),
};

struct PauseEventRow {
  Time_ps time_ps = 0;
  std::string port, peer;
  std::uint32_t classes = 0;
  bool sent = false;
  std::string what, state;
  std::optional<std::string> nic_cause, queue_port;
  std::optional<int> queue;
  std::optional<std::uint64_t> queue_B, group_B, egress_B;
};
template <>
inline constexpr Table table<PauseEventRow>{"pause_event", "pauses, as far as ports logged them"};
template <>
inline constexpr auto columns<PauseEventRow> = std::tuple{
    Column{"time_ps", &PauseEventRow::time_ps},
    Column{"port", &PauseEventRow::port},
    Column{"peer", &PauseEventRow::peer},
    Column{"classes", &PauseEventRow::classes, "one bit for each"},
    Column{"sent", &PauseEventRow::sent},
    Column{"what", &PauseEventRow::what},
    Column{"state", &PauseEventRow::state, "`start`, or how it ended"},
    Column{"nic_cause", &PauseEventRow::nic_cause, "of an XOFF of a NIC: `receive buffer`, `slow memory` or `storm`"},
    Column{"queue_port", &PauseEventRow::queue_port,
           "of an XOFF of a switch: the egress queue that most of what had come in by `port` waited in"},
    Column{"queue", &PauseEventRow::queue},
    Column{"queue_B", &PauseEventRow::queue_B, "how much of it"},
    Column{"group_B", &PauseEventRow::group_B, "what the priority group of `port` held in all"},
    Column{"egress_B", &PauseEventRow::egress_B, "what that queue held, from all ports"},
};

struct EventTotalRow {
  std::string kind;
  std::uint64_t count = 0;
};
template <>
inline constexpr Table table<EventTotalRow>{
    "event_total", "events of each kind in the whole run, by the page's kinds, those without a record included"};
template <>
inline constexpr auto columns<EventTotalRow> = std::tuple{
    Column{"kind", &EventTotalRow::kind},
    Column{"count", &EventTotalRow::count},
};

struct LosslessLossRow {
  std::string place;
  bool by_nic = false;
  std::uint32_t class_ = 0;
  bool is_lossless = false;
  std::uint64_t lost = 0, taken = 0;
  std::optional<std::string> port, switch_;
  std::optional<std::uint32_t> priority, group;
};
template <>
inline constexpr Table table<LosslessLossRow>{"lossless_loss",
                                              "packets of lossless classes that were lost all the same"};
template <>
inline constexpr auto columns<LosslessLossRow> = std::tuple{
    Column{"place", &LosslessLossRow::place, "a switch, or the port of a NIC"}.table_only(),
    Column{"by_nic", &LosslessLossRow::by_nic}.table_only(),
    Column{"class", &LosslessLossRow::class_}.table_only(),
    Column{"port", &LosslessLossRow::port}.json_only(),
    Column{"switch", &LosslessLossRow::switch_}.json_only(),
    Column{"priority", &LosslessLossRow::priority}.json_only(),
    Column{"group", &LosslessLossRow::group}.json_only(),
    Column{"is_lossless", &LosslessLossRow::is_lossless, "there, not for the hosts alone"}.json("lossless_there"),
    Column{"lost", &LosslessLossRow::lost}.json("packets"),
    Column{"taken", &LosslessLossRow::taken, "of so many packets"}.json("of"),
};

struct ForwarderPortRow {
  std::string node, port;
  std::uint64_t rx_ring = 0, max_rx_ring = 0, rx_packets = 0, rx_out_of_buffer = 0, ch_events = 0, ch_poll = 0;
  std::uint64_t tx_queue_stopped = 0;
  std::string qdisc;
  std::uint64_t bytes = 0, packets = 0, drops = 0, overlimits = 0, requeues = 0, backlog = 0, qlen = 0;
  std::uint64_t marked = 0, early = 0, pdrop = 0, max_backlog_B = 0;
};
template <>
inline constexpr Table table<ForwarderPortRow>{"forwarder_port", "ports of software forwarders"};
template <>
inline constexpr auto columns<ForwarderPortRow> = std::tuple{
    Column{"node", &ForwarderPortRow::node},
    Column{"port", &ForwarderPortRow::port},
    Column{"rx_ring", &ForwarderPortRow::rx_ring, "descriptors"},
    Column{"max_rx_ring", &ForwarderPortRow::max_rx_ring, "in use"},
    Column{"rx_packets", &ForwarderPortRow::rx_packets},
    Column{"rx_out_of_buffer", &ForwarderPortRow::rx_out_of_buffer},
    Column{"ch_events", &ForwarderPortRow::ch_events},
    Column{"ch_poll", &ForwarderPortRow::ch_poll},
    Column{"tx_queue_stopped", &ForwarderPortRow::tx_queue_stopped},
    Column{"qdisc", &ForwarderPortRow::qdisc, "as tc(8) prints it"},
    Column{"bytes", &ForwarderPortRow::bytes},
    Column{"packets", &ForwarderPortRow::packets},
    Column{"drops", &ForwarderPortRow::drops},
    Column{"overlimits", &ForwarderPortRow::overlimits},
    Column{"requeues", &ForwarderPortRow::requeues},
    Column{"backlog", &ForwarderPortRow::backlog},
    Column{"qlen", &ForwarderPortRow::qlen},
    Column{"marked", &ForwarderPortRow::marked},
    Column{"early", &ForwarderPortRow::early},
    Column{"pdrop", &ForwarderPortRow::pdrop},
    Column{"max_backlog_B", &ForwarderPortRow::max_backlog_B},
};

}  // namespace weft::store
