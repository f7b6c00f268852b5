// Objects of results.json that have no table of their own.
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

struct CommandRow {
  Time_ps at_ps = 0;
  std::string state, command;
  std::optional<std::string> problem;
};
template <>
inline constexpr auto columns<CommandRow> = std::tuple{
    Column{"at_ps", &CommandRow::at_ps},
    Column{"state", &CommandRow::state, "done, failed, waits"},
    Column{"command", &CommandRow::command, "as a line that can be run again"},
    Column{"problem", &CommandRow::problem, "of one that failed"},
};

struct LedgerRow {
  std::string from, to;
  std::uint64_t sent = 0, copies = 0, replicas = 0;
  NamedValues<std::uint64_t> fates;
  std::uint64_t in_flight = 0;
};
template <>
inline constexpr auto columns<LedgerRow> = std::tuple{
    Column{"from", &LedgerRow::from},
    Column{"to", &LedgerRow::to},
    Column{"sent", &LedgerRow::sent},
    Column{"copies", &LedgerRow::copies},
    Column{"replicas", &LedgerRow::replicas, "of packets to multicast groups, made by the switch at its end"},
    Column{"fates", &LedgerRow::fates},
    Column{"in_flight", &LedgerRow::in_flight},
};

// A pause in results.json: without the queue behind it.
struct PauseObject {
  Time_ps time_ps = 0;
  std::string port, peer;
  std::vector<std::uint32_t> classes;
  std::string direction, what;
};
template <>
inline constexpr auto columns<PauseObject> = std::tuple{
    Column{"time_ps", &PauseObject::time_ps},
    Column{"port", &PauseObject::port},
    Column{"peer", &PauseObject::peer},
    Column{"classes", &PauseObject::classes}.empty_in_json(),
    Column{"direction", &PauseObject::direction, "sent, received"},
    Column{"what", &PauseObject::what, "`start`, or how it ended"},
};

struct FaultHitsRow {
  std::string name, link;
  std::uint64_t hits = 0;
};
template <>
inline constexpr auto columns<FaultHitsRow> = std::tuple{
    Column{"name", &FaultHitsRow::name},
    Column{"link", &FaultHitsRow::link},
    Column{"hits", &FaultHitsRow::hits},
};

struct LagMemberRow {
  std::string port;
  std::uint64_t packets = 0, bytes = 0;
};
template <>
inline constexpr auto columns<LagMemberRow> = std::tuple{
    Column{"port", &LagMemberRow::port},
    Column{"packets", &LagMemberRow::packets},
    Column{"bytes", &LagMemberRow::bytes},
};
struct LagRow {
  std::string name, from, to;
  std::int64_t rate_bps = 0;
  std::vector<LagMemberRow> members;
};
template <>
inline constexpr auto columns<LagRow> = std::tuple{
    Column{"name", &LagRow::name},         Column{"from", &LagRow::from},       Column{"to", &LagRow::to},
    Column{"rate_bps", &LagRow::rate_bps}, Column{"members", &LagRow::members},
};

struct SoftnetRow {
  std::uint64_t processed = 0, time_squeeze = 0;
  std::int64_t busy_ns = 0;
};
template <>
inline constexpr auto columns<SoftnetRow> = std::tuple{
    Column{"processed", &SoftnetRow::processed},
    Column{"time_squeeze", &SoftnetRow::time_squeeze},
    Column{"busy_ns", &SoftnetRow::busy_ns},
};
// Its ports and drops follow in the same object.
struct SwitchRow {
  std::string name, model;
  std::int64_t tier = 0;
  bool has_wjh = false;
  std::uint64_t pool_B = 0, max_buffer_B = 0, held_packets = 0;
  std::vector<SoftnetRow> softnet;
};
template <>
inline constexpr auto columns<SwitchRow> = std::tuple{
    Column{"name", &SwitchRow::name},
    Column{"model", &SwitchRow::model},
    Column{"tier", &SwitchRow::tier},
    Column{"has_wjh", &SwitchRow::has_wjh},
    Column{"pool_B", &SwitchRow::pool_B},
    Column{"max_buffer_B", &SwitchRow::max_buffer_B},
    Column{"held_packets", &SwitchRow::held_packets},
    Column{"softnet", &SwitchRow::softnet, "of a software forwarder, by CPU"},
};

struct FunctionRow {
  std::string port, function;
  std::optional<std::uint32_t> number;
  std::optional<std::string> of;
  std::optional<std::int64_t> max_tx_rate_bps;
};
template <>
inline constexpr auto columns<FunctionRow> = std::tuple{
    Column{"port", &FunctionRow::port},
    Column{"function", &FunctionRow::function, "pf, vf"},
    Column{"number", &FunctionRow::number, "of a VF"},
    Column{"of", &FunctionRow::of, "the port that carries a VF"},
    Column{"max_tx_rate_bps", &FunctionRow::max_tx_rate_bps},
};
struct VmRow {
  std::string name, host;
  std::vector<std::uint32_t> vcpus;
  std::optional<std::int64_t> memory_B;
  std::int64_t page_B = 0;
  std::vector<std::uint32_t> numatune;
  std::vector<FunctionRow> functions;
};
template <>
inline constexpr auto columns<VmRow> = std::tuple{
    Column{"name", &VmRow::name},
    Column{"host", &VmRow::host},
    Column{"vcpus", &VmRow::vcpus, "CPUs of the host"}.empty_in_json(),
    Column{"memory_B", &VmRow::memory_B},
    Column{"page_B", &VmRow::page_B},
    Column{"numatune", &VmRow::numatune, "nodes that its memory is on"},
    Column{"functions", &VmRow::functions},
};

struct QueueRow {
  std::string port;
  std::uint32_t class_ = 0;
  std::uint64_t queue_B = 0;
};
template <>
inline constexpr auto columns<QueueRow> = std::tuple{
    Column{"port", &QueueRow::port},
    Column{"class", &QueueRow::class_},
    Column{"queue_B", &QueueRow::queue_B, "what waits at the moment"},
};

}  // namespace weft::store
