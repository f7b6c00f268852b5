// What workloads of one kind leave: nccl-tests, iperf3, jobs, programs. Their tables are there only with such a
// workload, but for those of programs.
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

struct NcclRow {
  std::string workload;
  std::uint64_t size_B = 0, count = 0;
  std::string type, redop;
  std::int64_t root = 0;
  bool in_place = false;
  double time_us = 0, algbw_GBps = 0, busbw_GBps = 0;
  std::uint64_t wrong = 0, simulated_iterations = 0;
  std::string choice;
};
template <>
inline constexpr Table table<NcclRow>{"nccl_row",
                                      "only with nccl-tests: the rows of their tables ([nccl.md](nccl.md))"};
template <>
inline constexpr auto columns<NcclRow> = std::tuple{
    Column{"workload", &NcclRow::workload},
    Column{"size_B", &NcclRow::size_B},
    Column{"count", &NcclRow::count, "elements"},
    Column{"type", &NcclRow::type},
    Column{"redop", &NcclRow::redop},
    Column{"root", &NcclRow::root},
    Column{"in_place", &NcclRow::in_place},
    Column{"time_us", &NcclRow::time_us},
    Column{"algbw_GBps", &NcclRow::algbw_GBps},
    Column{"busbw_GBps", &NcclRow::busbw_GBps},
    Column{"wrong", &NcclRow::wrong},
    Column{"simulated_iterations", &NcclRow::simulated_iterations},
    Column{"choice", &NcclRow::choice, "algorithm and protocol"},
};

struct Iperf3StreamRow {
  std::string workload;
  std::int64_t stream = 0;
  std::uint64_t sent_B = 0, received_B = 0;
  double sent_bps = 0, received_bps = 0;
  std::uint64_t retransmits = 0, timeouts = 0, rx_out_of_buffer = 0;
  Time_ps sender_program_ps = 0, sender_interrupt_ps = 0, receiver_program_ps = 0, receiver_interrupt_ps = 0;
};
template <>
inline constexpr Table table<Iperf3StreamRow>{"iperf3_stream", "only with iperf3: its streams"};
template <>
inline constexpr auto columns<Iperf3StreamRow> = std::tuple{
    Column{"workload", &Iperf3StreamRow::workload},
    Column{"stream", &Iperf3StreamRow::stream},
    Column{"sent_B", &Iperf3StreamRow::sent_B},
    Column{"received_B", &Iperf3StreamRow::received_B},
    Column{"sent_bps", &Iperf3StreamRow::sent_bps},
    Column{"received_bps", &Iperf3StreamRow::received_bps},
    Column{"retransmits", &Iperf3StreamRow::retransmits},
    Column{"timeouts", &Iperf3StreamRow::timeouts},
    Column{"rx_out_of_buffer", &Iperf3StreamRow::rx_out_of_buffer, "of both ends"},
    Column{"sender_program_ps", &Iperf3StreamRow::sender_program_ps, "CPU time"},
    Column{"sender_interrupt_ps", &Iperf3StreamRow::sender_interrupt_ps},
    Column{"receiver_program_ps", &Iperf3StreamRow::receiver_program_ps},
    Column{"receiver_interrupt_ps", &Iperf3StreamRow::receiver_interrupt_ps},
};

struct Iperf3IntervalRow {
  std::string workload;
  std::int64_t stream = 0;
  std::string side;
  Time_ps start_ps = 0, end_ps = 0;
  std::uint64_t bytes = 0;
  double bits_per_second = 0;
  std::uint64_t retransmits = 0, snd_cwnd_B = 0;
  Time_ps rtt_ps = 0;
};
template <>
inline constexpr Table table<Iperf3IntervalRow>{"iperf3_interval", "their intervals, of both sides"};
template <>
inline constexpr auto columns<Iperf3IntervalRow> = std::tuple{
    Column{"workload", &Iperf3IntervalRow::workload},
    Column{"stream", &Iperf3IntervalRow::stream},
    Column{"side", &Iperf3IntervalRow::side, "sender, receiver"},
    Column{"start_ps", &Iperf3IntervalRow::start_ps},
    Column{"end_ps", &Iperf3IntervalRow::end_ps},
    Column{"bytes", &Iperf3IntervalRow::bytes},
    Column{"bits_per_second", &Iperf3IntervalRow::bits_per_second},
    Column{"retransmits", &Iperf3IntervalRow::retransmits},
    Column{"snd_cwnd_B", &Iperf3IntervalRow::snd_cwnd_B},
    Column{"rtt_ps", &Iperf3IntervalRow::rtt_ps},
};

struct JobStepRow {
  std::string workload;
  std::uint64_t step = 0;
  Time_ps step_ps = 0;
};
template <>
inline constexpr Table table<JobStepRow>{"job_step", "only with a job ([jobs.md](jobs.md)): its steps"};
template <>
inline constexpr auto columns<JobStepRow> = std::tuple{
    Column{"workload", &JobStepRow::workload},
    Column{"step", &JobStepRow::step},
    Column{"step_ps", &JobStepRow::step_ps},
};

struct JobRankRow {
  std::string workload;
  std::uint64_t rank = 0;
  std::string host;
  std::uint64_t gpu = 0, steps = 0;
  Time_ps compute_ps = 0, slowed_ps = 0, exposed_ps = 0, receive_ps = 0, late_ps = 0;
};
template <>
inline constexpr Table table<JobRankRow>{"job_rank", "how its ranks spent their time"};
template <>
inline constexpr auto columns<JobRankRow> = std::tuple{
    Column{"workload", &JobRankRow::workload}.table_only(),
    Column{"rank", &JobRankRow::rank},
    Column{"host", &JobRankRow::host},
    Column{"gpu", &JobRankRow::gpu},
    Column{"steps", &JobRankRow::steps}.table_only(),
    Column{"compute_ps", &JobRankRow::compute_ps},
    Column{"slowed_ps", &JobRankRow::slowed_ps, "of that, what blocks of collectives cost"},
    Column{"exposed_ps", &JobRankRow::exposed_ps, "communication that compute did not hide"},
    Column{"receive_ps", &JobRankRow::receive_ps, "waiting for a receive"},
    Column{"late_ps", &JobRankRow::late_ps, "that others waited for it"},
};

struct JobCollectiveRow {
  std::string workload, name, kind, collective;
  std::uint64_t size_B = 0, ranks = 0, count = 0;
  double mean_us = 0, max_us = 0, busbw_Bps = 0, min_busbw_Bps = 0;
  std::string slowest;
};
template <>
inline constexpr Table table<JobCollectiveRow>{"job_collective", "its collectives, those of a name and size as one"};
template <>
inline constexpr auto columns<JobCollectiveRow> = std::tuple{
    Column{"workload", &JobCollectiveRow::workload}.table_only(),
    Column{"name", &JobCollectiveRow::name},
    Column{"kind", &JobCollectiveRow::kind, "the groups of ranks"},
    Column{"collective", &JobCollectiveRow::collective},
    Column{"size_B", &JobCollectiveRow::size_B},
    Column{"ranks", &JobCollectiveRow::ranks},
    Column{"count", &JobCollectiveRow::count},
    Column{"mean_us", &JobCollectiveRow::mean_us}.rounded(3),
    Column{"max_us", &JobCollectiveRow::max_us}.rounded(3),
    Column{"busbw_Bps", &JobCollectiveRow::busbw_Bps}.json("busbw_GBps").rounded(6, 1e9),
    Column{"min_busbw_Bps", &JobCollectiveRow::min_busbw_Bps}.json("min_busbw_GBps").rounded(6, 1e9),
    Column{"slowest", &JobCollectiveRow::slowest},
};

struct JobStragglerRow {
  std::string workload, who, reason;
  double lost_us = 0;
};
template <>
inline constexpr Table table<JobStragglerRow>{"job_straggler", "ranks and groups that the others waited for"};
template <>
inline constexpr auto columns<JobStragglerRow> = std::tuple{
    Column{"workload", &JobStragglerRow::workload}.table_only(),
    Column{"who", &JobStragglerRow::who},
    Column{"reason", &JobStragglerRow::reason},
    Column{"lost_us", &JobStragglerRow::lost_us, "in a step"}.rounded(3),
};

// A job in results.json.
struct JobObject {
  std::string summary;
  std::uint64_t ranks = 0, steps = 0;
  std::vector<Time_ps> step_ps;
  std::uint64_t unfinished = 0;
  std::optional<std::string> failure;
  std::optional<Time_ps> jct_ps, roofline_ps;
  std::optional<std::string> roofline, roofline_of;
  std::optional<double> roofline_ratio, compute_percent, slowed_percent, exposed_percent;
  std::vector<JobCollectiveRow> collectives;
  std::vector<JobStragglerRow> stragglers;
};
template <>
inline constexpr auto columns<JobObject> = std::tuple{
    Column{"summary", &JobObject::summary},
    Column{"ranks", &JobObject::ranks},
    Column{"steps", &JobObject::steps},
    Column{"step_ps", &JobObject::step_ps}.empty_in_json(),
    Column{"unfinished", &JobObject::unfinished, "ranks"},
    Column{"failure", &JobObject::failure},
    Column{"jct_ps", &JobObject::jct_ps},
    Column{"roofline_ps", &JobObject::roofline_ps},
    Column{"roofline", &JobObject::roofline, "network, compute"},
    Column{"roofline_of", &JobObject::roofline_of},
    Column{"roofline_ratio", &JobObject::roofline_ratio}.rounded(6),
    Column{"compute_percent", &JobObject::compute_percent}.rounded(4),
    Column{"slowed_percent", &JobObject::slowed_percent}.rounded(4),
    Column{"exposed_percent", &JobObject::exposed_percent}.rounded(4),
    Column{"collectives", &JobObject::collectives}.empty_in_json(),
    Column{"stragglers", &JobObject::stragglers}.empty_in_json(),
};

// A verified transfer in results.json.
struct TransferObject {
  std::uint64_t posted = 0, completed = 0, failed = 0, verified = 0, bytes_ok = 0, received = 0, out_of_order = 0;
  std::int64_t wc_status = 0, vendor_error = 0;
  bool stalled = false;
  std::int64_t elapsed_ns = 0;
};
template <>
inline constexpr auto columns<TransferObject> = std::tuple{
    Column{"posted", &TransferObject::posted},
    Column{"completed", &TransferObject::completed},
    Column{"failed", &TransferObject::failed},
    Column{"verified", &TransferObject::verified},
    Column{"bytes_ok", &TransferObject::bytes_ok},
    Column{"received", &TransferObject::received},
    Column{"out_of_order", &TransferObject::out_of_order},
    Column{"wc_status", &TransferObject::wc_status},
    Column{"vendor_error", &TransferObject::vendor_error},
    Column{"stalled", &TransferObject::stalled},
    Column{"elapsed_ns", &TransferObject::elapsed_ns},
};

// A program in results.json, with its words one by one.
struct ProgramObject {
  std::string node;
  std::vector<std::string> command;
  std::string end;
  std::int64_t exit = 0;
  Time_ps started_ps = 0, ended_ps = 0;
  std::string output;
  std::uint64_t output_left_out_B = 0;
};
template <>
inline constexpr auto columns<ProgramObject> = std::tuple{
    Column{"node", &ProgramObject::node},
    Column{"command", &ProgramObject::command}.empty_in_json(),
    Column{"end", &ProgramObject::end, "in words"},
    Column{"exit", &ProgramObject::exit},
    Column{"started_ps", &ProgramObject::started_ps},
    Column{"ended_ps", &ProgramObject::ended_ps},
    Column{"output", &ProgramObject::output},
    Column{"output_left_out_B", &ProgramObject::output_left_out_B},
};
struct ProgramsObject {
  std::string name;
  std::int64_t exit = 0;
  bool deterministic = false;
  NamedValues<std::optional<double>> found;
  std::vector<ProgramObject> programs;
};
template <>
inline constexpr auto columns<ProgramsObject> = std::tuple{
    Column{"name", &ProgramsObject::name},
    Column{"exit", &ProgramsObject::exit, "of the first that failed"},
    Column{"deterministic", &ProgramsObject::deterministic},
    Column{"found", &ProgramsObject::found}.null_in_json().empty_in_json().rounded(6),
    Column{"programs", &ProgramsObject::programs}.empty_in_json(),
};

struct ProgramRow {
  std::string workload;
  std::uint64_t number = 0;
  std::string node, command, end;
  std::int64_t exit = 0;
  Time_ps started_ps = 0, ended_ps = 0;
  std::string output;
};
template <>
inline constexpr Table table<ProgramRow>{"program", "programs of workloads"};
template <>
inline constexpr auto columns<ProgramRow> = std::tuple{
    Column{"workload", &ProgramRow::workload},
    Column{"number", &ProgramRow::number, "from 0 in each workload"},
    Column{"node", &ProgramRow::node},
    Column{"command", &ProgramRow::command},
    Column{"end", &ProgramRow::end, "in words"},
    Column{"exit", &ProgramRow::exit},
    Column{"started_ps", &ProgramRow::started_ps},
    Column{"ended_ps", &ProgramRow::ended_ps},
    Column{"output", &ProgramRow::output},
};

struct FoundRow {
  std::string workload, name;
  std::optional<double> value;
};
template <>
inline constexpr Table table<FoundRow>{"found", "what `find` found in their output"};
template <>
inline constexpr auto columns<FoundRow> = std::tuple{
    Column{"workload", &FoundRow::workload},
    Column{"name", &FoundRow::name},
    Column{"value", &FoundRow::value},
};

}  // namespace weft::store
