// The tables of results.sqlite that `weft explain` reads (docs/results.md), beyond those of flows and events
// (store/rows): where a struct of the evidence is a row, its columns; rows of their own for what is nested there.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>

#include "results/evidence.h"
#include "store/columns.h"

namespace weft::store {

using lab::CollectiveEvidence;
using lab::EventEvidence;
using lab::FaultEvidence;
using lab::FaultTime;
using lab::ForwarderCpuEvidence;
using lab::LinkEvidence;
using lab::LossyClassEvidence;
using lab::PoolEvidence;
using lab::ReceiveEvidence;
using lab::RxRingEvidence;
using lab::SenderEvidence;
using lab::StragglerEvidence;
using lab::WorkloadEvidence;

template <>
inline constexpr Table table<WorkloadEvidence>{"workload", "workloads, with the time of their turn"};
template <>
inline constexpr auto columns<WorkloadEvidence> = std::tuple{
    Column{"name", &WorkloadEvidence::name},
    Column{"kind", &WorkloadEvidence::kind},
    Column{"client", &WorkloadEvidence::client, "of those with two ends"},
    Column{"server", &WorkloadEvidence::server},
    Column{"failure", &WorkloadEvidence::failure, "in one line"},
    Column{"from_ps", &WorkloadEvidence::from_ps},
    Column{"to_ps", &WorkloadEvidence::to_ps},
};

template <>
inline constexpr Table table<SenderEvidence>{"sender",
                                             "queue pairs that sent requests, or READ data ([explain.md](explain.md))"};
template <>
inline constexpr auto columns<SenderEvidence> = std::tuple{
    Column{"id", &SenderEvidence::id}.key(),
    Column{"port", &SenderEvidence::from},
    Column{"peer", &SenderEvidence::to},
    Column{"qpn", &SenderEvidence::qpn},
    Column{"peer_qpn", &SenderEvidence::peer_qpn},
    Column{"replies", &SenderEvidence::replies, "READ data"},
    Column{"only_asks", &SenderEvidence::only_asks, "nothing but READ and atomic requests"},
    Column{"first_ps", &SenderEvidence::first_ps},
    Column{"last_ps", &SenderEvidence::last_ps},
    Column{"packets", &SenderEvidence::packets},
    Column{"again", &SenderEvidence::again, "of its packets, those sent before"},
    Column{"workload", &SenderEvidence::workload, "that created it, if it is known"},
};

struct SenderHeldRow {
  std::int64_t sender = 0;
  std::string cause;
  Time_ps time_ps = 0;
};
template <>
inline constexpr Table table<SenderHeldRow>{"sender_held", "what each did with its time"};
template <>
inline constexpr auto columns<SenderHeldRow> = std::tuple{
    Column{"sender", &SenderHeldRow::sender},
    Column{"cause", &SenderHeldRow::cause},
    Column{"time_ps", &SenderHeldRow::time_ps},
};

struct SenderPathRow {
  std::int64_t sender = 0;
  std::uint64_t hop = 0;
  std::string port;
};
template <>
inline constexpr Table table<SenderPathRow>{"sender_path",
                                            "the ports by which its packets leave, unless that depends on the moment"};
template <>
inline constexpr auto columns<SenderPathRow> = std::tuple{
    Column{"sender", &SenderPathRow::sender},
    Column{"hop", &SenderPathRow::hop},
    Column{"port", &SenderPathRow::port},
};

struct EarlierPathRow {
  std::int64_t sender = 0;
  Time_ps until_ps = 0;
  std::uint64_t hop = 0;
  std::string port;
};
template <>
inline constexpr Table table<EarlierPathRow>{
    "sender_path_before", "the same until routes changed; one row without a port where that depends on the moment"};
template <>
inline constexpr auto columns<EarlierPathRow> = std::tuple{
    Column{"sender", &EarlierPathRow::sender},
    Column{"until_ps", &EarlierPathRow::until_ps},
    Column{"hop", &EarlierPathRow::hop},
    Column{"port", &EarlierPathRow::port},
};

struct FlowSenderRow {
  std::string workload;
  std::uint64_t number = 0;
  std::int64_t sender = 0;
};
template <>
inline constexpr Table table<FlowSenderRow>{"flow_sender", "the sender of each flow"};
template <>
inline constexpr auto columns<FlowSenderRow> = std::tuple{
    Column{"workload", &FlowSenderRow::workload},
    Column{"number", &FlowSenderRow::number},
    Column{"sender", &FlowSenderRow::sender},
};

template <>
inline constexpr Table table<EventEvidence>{
    "event",
    "`ce_mark`, `cnp`, `rate_cut`, `nak`, `rnr`, `timeout`, `retransmission`, `pfc_storm`, `pfc_storm_over`, "
    "`link_down`, `link_up`; those of a kind and place that follow each other within 100 us are one"};
template <>
inline constexpr auto columns<EventEvidence> = std::tuple{
    Column{"first_ps", &EventEvidence::first_ps},
    Column{"last_ps", &EventEvidence::last_ps},
    Column{"count", &EventEvidence::count, "of retransmissions packets"},
    Column{"kind", &EventEvidence::kind},
    Column{"port", &EventEvidence::port},
    Column{"peer", &EventEvidence::peer, "of a queue pair: the port at its other end"},
    Column{"queue", &EventEvidence::queue},
    Column{"queue_B", &EventEvidence::queue_B},
    Column{"source", &EventEvidence::source, "of the first packet that was marked"},
    Column{"destination", &EventEvidence::destination},
    Column{"qpn", &EventEvidence::qpn},
    Column{"psn", &EventEvidence::psn, "of retransmissions the first"},
    Column{"before_bps", &EventEvidence::before_bps, "of a rate cut"},
    Column{"to_bps", &EventEvidence::to_bps, "the lowest"},
};

template <>
inline constexpr Table table<LinkEvidence>{"link", "each direction of a cable, by the port that sends"};
template <>
inline constexpr auto columns<LinkEvidence> = std::tuple{
    Column{"port", &LinkEvidence::from},
    Column{"peer", &LinkEvidence::to},
    Column{"rate_bps", &LinkEvidence::rate_bps},
    Column{"packets", &LinkEvidence::packets},
    Column{"line_B", &LinkEvidence::line_B, "with preamble, FCS and gap"},
    Column{"paused_ps", &LinkEvidence::paused_ps, "of the class that was stopped longest"},
    Column{"marked", &LinkEvidence::marked},
    Column{"max_queue_B", &LinkEvidence::max_queue_B},
};

struct LinkLostRow {
  std::string port, reason;
  std::uint64_t packets = 0;
};
template <>
inline constexpr Table table<LinkLostRow>{"link_lost", "what was lost on it or at its end"};
template <>
inline constexpr auto columns<LinkLostRow> = std::tuple{
    Column{"port", &LinkLostRow::port},
    Column{"reason", &LinkLostRow::reason},
    Column{"packets", &LinkLostRow::packets},
};

template <>
inline constexpr Table table<ReceiveEvidence>{
    "receive_wait", "what the writes of a receiving NIC port waited for, beyond what its line takes"};
template <>
inline constexpr auto columns<ReceiveEvidence> = std::tuple{
    Column{"port", &ReceiveEvidence::port},
    Column{"cause", &ReceiveEvidence::cause},
    Column{"time_ps", &ReceiveEvidence::time_ps},
};

template <>
inline constexpr Table table<FaultEvidence>{"fault", "faults of the lab"};
template <>
inline constexpr auto columns<FaultEvidence> = std::tuple{
    Column{"name", &FaultEvidence::name},
    Column{"port", &FaultEvidence::port},
    Column{"hits", &FaultEvidence::hits, "frames"},
};

template <>
inline constexpr Table table<FaultTime>{
    "fault_time",
    "faults that took effect, those that were removed from a world that was up included: a cut, a flap, a pause storm "
    "and a slow receiver for as long as they hold, others from the first frame that they hit to the last"};
template <>
inline constexpr auto columns<FaultTime> = std::tuple{
    Column{"name", &FaultTime::name},           Column{"action", &FaultTime::action},
    Column{"port", &FaultTime::port},           Column{"peer", &FaultTime::peer},
    Column{"from_ps", &FaultTime::from_ps},     Column{"to_ps", &FaultTime::to_ps},
    Column{"hits", &FaultTime::hits, "frames"},
};

template <>
inline constexpr Table table<ForwarderCpuEvidence>{"forwarder_cpu", "CPUs of software forwarders"};
template <>
inline constexpr auto columns<ForwarderCpuEvidence> = std::tuple{
    Column{"node", &ForwarderCpuEvidence::node},
    Column{"cpu", &ForwarderCpuEvidence::cpu},
    Column{"packets", &ForwarderCpuEvidence::packets},
    Column{"busy_ps", &ForwarderCpuEvidence::busy_ps},
};

template <>
inline constexpr Table table<RxRingEvidence>{"rx_ring", "RX rings of software forwarders"};
template <>
inline constexpr auto columns<RxRingEvidence> = std::tuple{
    Column{"port", &RxRingEvidence::port},
    Column{"size", &RxRingEvidence::size, "descriptors"},
    Column{"most", &RxRingEvidence::most, "in use"},
    Column{"lost", &RxRingEvidence::lost, "packets that found none"},
};

template <>
inline constexpr Table table<LossyClassEvidence>{
    "lossy_class", "switches that take what is lossless to the hosts into a class that is not"};
template <>
inline constexpr auto columns<LossyClassEvidence> = std::tuple{
    Column{"node", &LossyClassEvidence::node},
    Column{"queue", &LossyClassEvidence::queue},
    Column{"dscp", &LossyClassEvidence::dscp},
    Column{"priority", &LossyClassEvidence::priority, "the switch's"},
    Column{"host_priority", &LossyClassEvidence::host_priority},
};

template <>
inline constexpr Table table<CollectiveEvidence>{"collective_use",
                                                 "collectives with ends in host memory or over kernel TCP"};
template <>
inline constexpr auto columns<CollectiveEvidence> = std::tuple{
    Column{"workload", &CollectiveEvidence::workload},
    Column{"connections", &CollectiveEvidence::connections, "between machines"},
    Column{"staged", &CollectiveEvidence::staged, "of them: through host memory"},
    Column{"sockets", &CollectiveEvidence::sockets, "of them: over kernel TCP"},
    Column{"blocks_ps", &CollectiveEvidence::blocks_ps, "what blocks worked"},
    Column{"host_memory_ps", &CollectiveEvidence::host_memory_ps, "of that, on such ends"},
    Column{"working_ps", &CollectiveEvidence::working_ps, "the time in which collectives ran"},
    Column{"proxy_ps", &CollectiveEvidence::proxy_ps, "what the busiest proxy of sockets copied"},
    Column{"why", &CollectiveEvidence::why},
};

struct SettingDifferenceRow {
  std::string key, value, usual, reference, effect;
  std::uint64_t number = 0;
  std::string node;
};
template <>
inline constexpr Table table<SettingDifferenceRow>{
    "setting_difference",
    "devices that are set to something else than the lab's contract, a row for each device "
    "([explain.md](explain.md#settings-that-differ))"};
template <>
inline constexpr auto columns<SettingDifferenceRow> = std::tuple{
    Column{"key", &SettingDifferenceRow::key, "in the words of the lab file"},
    Column{"value", &SettingDifferenceRow::value},
    Column{"usual", &SettingDifferenceRow::usual},
    Column{"reference", &SettingDifferenceRow::reference, "where the usual is"},
    Column{"effect", &SettingDifferenceRow::effect},
    Column{"number", &SettingDifferenceRow::number, "those of one number differ alike"},
    Column{"node", &SettingDifferenceRow::node},
};

struct LabWarningRow {
  std::string message;
};
template <>
inline constexpr Table table<LabWarningRow>{"lab_warning", "what `weft validate` warns of"};
template <>
inline constexpr auto columns<LabWarningRow> = std::tuple{Column{"message", &LabWarningRow::message}};

struct RouteGroupRow {
  std::uint64_t number = 0;
  std::string port, lag;
};
template <>
inline constexpr Table table<RouteGroupRow>{
    "route_group",
    "equal ports that a switch spreads flows over by a hash, at the start: routes, or the members of the LAG of that "
    "name"};
template <>
inline constexpr auto columns<RouteGroupRow> = std::tuple{
    Column{"number", &RouteGroupRow::number},
    Column{"port", &RouteGroupRow::port},
    Column{"lag", &RouteGroupRow::lag},
};

template <>
inline constexpr Table table<PoolEvidence>{
    "buffer_pool", "of switches: what is shared, and the exponent that bounds RoCE's part of it"};
template <>
inline constexpr auto columns<PoolEvidence> = std::tuple{
    Column{"node", &PoolEvidence::node},
    Column{"pool_B", &PoolEvidence::pool_B},
    Column{"alpha", &PoolEvidence::alpha, "2^n of what is free"},
};

struct CircularWaitRow {
  std::uint64_t number = 0, place = 0;
  std::string port;
};
template <>
inline constexpr Table table<CircularWaitRow>{"circular_wait", "ports that stopped each other at the end"};
template <>
inline constexpr auto columns<CircularWaitRow> = std::tuple{
    Column{"number", &CircularWaitRow::number},
    Column{"place", &CircularWaitRow::place, "each by the next, the last by the first"},
    Column{"port", &CircularWaitRow::port},
};

}  // namespace weft::store
