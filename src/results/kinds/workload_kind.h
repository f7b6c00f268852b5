// The functions of results/ that each kind of workload (workload/kinds.h) has, in a file of its own: what it says in
// the report, in results.json and in results.sqlite, and what went wrong.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

#include "results/run_result.h"
#include "store/json_stream.h"
#include "store/sqlite_file.h"

namespace weft::lab {

// Whether the lab expects one of these metrics of the workload: then the expectation judges how it ended.
using Judged = std::function<bool(std::initializer_list<std::string_view>)>;

// For each kind: its section of the report; an element of the list of workloads in JSON; its tables, or
// nothing; what it did not do, in one line, or nothing; and what it tells about time (results/evidence.h): its kind and
// ends in the last of Evidence::workloads, its flows.
#define WEFT_DECLARE(Options, Outcome)                                                                           \
  std::string report_section(const workload::Options& options, const workload::Outcome& outcome, const Lab& lab, \
                             const WorkloadConfig& config);                                                      \
  void write_json(const workload::Options& options, const workload::Outcome& outcome, const Lab& lab,            \
                  const WorkloadConfig& config, store::JsonStream& out);                                         \
  void write_tables(std::type_identity<workload::Options>, const RunResult& result, store::SqliteFile& file);    \
  std::string failure_text(const workload::Options& options, const workload::Outcome& outcome,                   \
                           const RunResult& result, const Judged& judged);                                       \
  void add_evidence(const workload::Options& options, const workload::Outcome& outcome, const Lab& lab,          \
                    const WorkloadConfig& config, Evidence& evidence);
WEFT_WORKLOAD_KINDS(WEFT_DECLARE)
#undef WEFT_DECLARE

// Kind and both ends, of the last of Evidence::workloads.
void add_ends(const Lab& lab, const WorkloadConfig& config, const char* kind, Evidence& evidence);

// Of collectives, where they did not go by RDMA from GPU memory. `sockets`: the variable that asks for TCP, or nothing.
void add_collective_use(const Lab& lab, const std::vector<std::uint32_t>& hosts, const WorkloadConfig& config,
                        const workload::CollectiveUse& use, const std::string& sockets, Evidence& evidence);

// "3 of 8 flows"
std::string count_text(std::uint64_t count, std::uint64_t all, std::string_view what);

}  // namespace weft::lab
