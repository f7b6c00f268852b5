// Rows of the API's answers (docs/api.md); web/src/lib/rows.ts is made from them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/time.h"
#include "store/columns.h"

namespace weft::serve {

struct FabricNode {
  std::string name, kind, model;
  std::int64_t tier = 0;
  std::optional<std::uint64_t> pool_B;
  std::optional<std::int64_t> headroom_pool_B;
};
struct FabricLink {
  std::string a, b;
  std::int64_t rate_bps = 0;
  double length_m = 0;
};
struct FabricQueue {
  std::string port;
  std::uint32_t class_ = 0;
  std::int64_t ecn_min_B = 0, ecn_max_B = 0;
};
struct FabricGroup {
  std::string port;
  std::uint32_t class_ = 0;
  std::int64_t xoff_B = 0, xon_B = 0;
  std::optional<std::int64_t> headroom_B;
};
struct SeriesEntry {
  std::string id, node, port;
  std::int64_t class_ = -1;
  std::string metric, unit;
  std::int64_t most = 0, last = 0;
};
struct NodeDrop {
  Time_ps time_ps = 0;
  std::string in_port, out_port;
  int queue = -1;
  std::string reason;
  std::uint64_t occupancy_B = 0;
  std::string source, destination;
  std::uint32_t qp = 0, psn = 0;
};
struct FlowEntry {
  std::string id, name, workload, source, destination;
  std::optional<std::uint64_t> size_B;
  std::optional<Time_ps> start_ps, fct_ps;
  std::optional<double> goodput_bps, slowdown;
  std::optional<Time_ps> latency_p50_ps, latency_p99_ps;
  std::uint64_t retransmitted = 0;
  std::optional<std::uint64_t> cnps;
  std::string state, bottleneck;
};
struct JobStepTime {
  Time_ps from_ps = 0, to_ps = 0;
};
struct JobRank {
  std::uint64_t rank = 0;
  std::string host;
  std::uint64_t gpu = 0;
  Time_ps compute_ps = 0, slowed_ps = 0, exposed_ps = 0, receive_ps = 0, late_ps = 0;
  std::vector<std::string> ports;
};
struct RooflineEntry {
  std::string name, where;
  double Bps = 0;
};
struct BusBandwidth {
  std::string collective, groups;
  std::uint64_t size_B = 0, count = 1;
  double busbw_Bps = 0, least_Bps = 0;
  std::optional<double> roofline_Bps;
  std::vector<RooflineEntry> roofline;
  std::string choice;
};
struct JobDelay {
  std::string who, reason;
  double lost_us = 0;
};

}  // namespace weft::serve

namespace weft::store {

using serve::BusBandwidth;
using serve::FabricGroup;
using serve::FabricLink;
using serve::FabricNode;
using serve::FabricQueue;
using serve::FlowEntry;
using serve::JobDelay;
using serve::JobRank;
using serve::JobStepTime;
using serve::NodeDrop;
using serve::RooflineEntry;
using serve::SeriesEntry;

template <>
inline constexpr auto columns<FabricNode> = std::tuple{
    Column{"name", &FabricNode::name},
    Column{"kind", &FabricNode::kind}.page("'host' | 'switch' | 'forwarder'"),
    Column{"model", &FabricNode::model},
    Column{"tier", &FabricNode::tier, "0: hosts"},
    Column{"pool_B", &FabricNode::pool_B, "of a switch: the shared pool"}.null_in_json().page(
        "number | null | undefined"),
    Column{"headroom_pool_B", &FabricNode::headroom_pool_B, "where groups share one"}.null_in_json().page(
        "number | null | undefined"),
};
template <>
inline constexpr auto columns<FabricLink> = std::tuple{
    Column{"a", &FabricLink::a},
    Column{"b", &FabricLink::b},
    Column{"rate_bps", &FabricLink::rate_bps},
    Column{"length_m", &FabricLink::length_m}.page("number | null"),
};
template <>
inline constexpr auto columns<FabricQueue> = std::tuple{
    Column{"port", &FabricQueue::port},
    Column{"class", &FabricQueue::class_, "the queue that packets leave by"},
    Column{"ecn_min_B", &FabricQueue::ecn_min_B},
    Column{"ecn_max_B", &FabricQueue::ecn_max_B},
};
template <>
inline constexpr auto columns<FabricGroup> = std::tuple{
    Column{"port", &FabricGroup::port},
    Column{"class", &FabricGroup::class_, "the priority group that packets come in by"},
    Column{"xoff_B", &FabricGroup::xoff_B, "of one that fills the pool alone"},
    Column{"xon_B", &FabricGroup::xon_B},
    Column{"headroom_B", &FabricGroup::headroom_B}.null_in_json(),
};
template <>
inline constexpr auto columns<SeriesEntry> = std::tuple{
    Column{"id", &SeriesEntry::id},        Column{"node", &SeriesEntry::node},     Column{"port", &SeriesEntry::port},
    Column{"class", &SeriesEntry::class_}, Column{"metric", &SeriesEntry::metric}, Column{"unit", &SeriesEntry::unit},
    Column{"most", &SeriesEntry::most},    Column{"last", &SeriesEntry::last},
};
template <>
inline constexpr auto columns<NodeDrop> = std::tuple{
    Column{"time_ps", &NodeDrop::time_ps},
    Column{"in_port", &NodeDrop::in_port},
    Column{"out_port", &NodeDrop::out_port},
    Column{"queue", &NodeDrop::queue},
    Column{"reason", &NodeDrop::reason},
    Column{"occupancy_B", &NodeDrop::occupancy_B},
    Column{"source", &NodeDrop::source},
    Column{"destination", &NodeDrop::destination},
    Column{"qp", &NodeDrop::qp},
    Column{"psn", &NodeDrop::psn},
};
template <>
inline constexpr auto columns<FlowEntry> = std::tuple{
    Column{"id", &FlowEntry::id},
    Column{"name", &FlowEntry::name, "of a graph"},
    Column{"workload", &FlowEntry::workload},
    Column{"source", &FlowEntry::source},
    Column{"destination", &FlowEntry::destination},
    Column{"size_B", &FlowEntry::size_B}.null_in_json(),
    Column{"start_ps", &FlowEntry::start_ps}.null_in_json(),
    Column{"fct_ps", &FlowEntry::fct_ps}.null_in_json(),
    Column{"goodput_bps", &FlowEntry::goodput_bps}.null_in_json(),
    Column{"slowdown", &FlowEntry::slowdown}.null_in_json(),
    Column{"latency_p50_ps", &FlowEntry::latency_p50_ps, "of single messages"}.null_in_json(),
    Column{"latency_p99_ps", &FlowEntry::latency_p99_ps}.null_in_json(),
    Column{"retransmitted", &FlowEntry::retransmitted, "packets"},
    Column{"cnps", &FlowEntry::cnps, "received"}.null_in_json().page("number"),
    Column{"state", &FlowEntry::state},
    Column{"bottleneck", &FlowEntry::bottleneck},
};
template <>
inline constexpr auto columns<JobStepTime> = std::tuple{
    Column{"from_ps", &JobStepTime::from_ps},
    Column{"to_ps", &JobStepTime::to_ps},
};
template <>
inline constexpr auto columns<JobRank> = std::tuple{
    Column{"rank", &JobRank::rank},
    Column{"host", &JobRank::host},
    Column{"gpu", &JobRank::gpu},
    Column{"compute_ps", &JobRank::compute_ps},
    Column{"slowed_ps", &JobRank::slowed_ps},
    Column{"exposed_ps", &JobRank::exposed_ps},
    Column{"receive_ps", &JobRank::receive_ps},
    Column{"late_ps", &JobRank::late_ps},
    Column{"ports", &JobRank::ports}.empty_in_json(),
};
template <>
inline constexpr auto columns<RooflineEntry> = std::tuple{
    Column{"name", &RooflineEntry::name},
    Column{"where", &RooflineEntry::where},
    Column{"Bps", &RooflineEntry::Bps},
};
template <>
inline constexpr auto columns<BusBandwidth> = std::tuple{
    Column{"collective", &BusBandwidth::collective},
    Column{"groups", &BusBandwidth::groups},
    Column{"size_B", &BusBandwidth::size_B},
    Column{"count", &BusBandwidth::count},
    Column{"busbw_Bps", &BusBandwidth::busbw_Bps},
    Column{"least_Bps", &BusBandwidth::least_Bps},
    Column{"roofline_Bps", &BusBandwidth::roofline_Bps}.null_in_json(),
    Column{"roofline", &BusBandwidth::roofline}.empty_in_json(),
    Column{"choice", &BusBandwidth::choice},
};
template <>
inline constexpr auto columns<JobDelay> = std::tuple{
    Column{"who", &JobDelay::who},
    Column{"reason", &JobDelay::reason},
    Column{"lost_us", &JobDelay::lost_us, "in a step"},
};

}  // namespace weft::store
