// The kinds of workloads: the one list. A kind is what a lab asks for (its options) and what a run of it leaves behind
// (its outcome), each in a header of its own here. Where kinds differ, a module declares a function for each kind from
// this list, and each kind defines it in a file of its own:
//   workload/          metric_names, known_metrics, metric_value     what `expect:` may ask of it
//   labfile/           read_kind, kind_keys, metric_problem          labfile/workloads/workload_kind.h
//   world/             needs_of, activate                            world/workloads/active_workload.h
//   results/           report, JSON, SQLite, what went wrong         results/kinds/workload_kind.h
// A kind that lacks one does not link.
#pragma once

#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "spec/flow_options.h"
#include "spec/flow_result.h"
#include "spec/iperf3_options.h"
#include "spec/job_options.h"
#include "spec/job_result.h"
#include "spec/nccl_options.h"
#include "spec/nccl_result.h"
#include "spec/perftest_options.h"
#include "spec/perftest_result.h"
#include "spec/program_options.h"
#include "spec/program_result.h"
#include "spec/tcp_result.h"
#include "spec/transfer_options.h"
#include "spec/transfer_result.h"

// In the order in which results.sqlite has their tables.
#define WEFT_WORKLOAD_KINDS(kind)                                                                             \
  kind(PerftestOptions, PerftestResult) kind(TransferOptions, TransferResult) kind(FlowOptions, FlowsOutcome) \
      kind(ProgramOptions, ProgramsOutcome) kind(Iperf3Options, Iperf3Result) kind(NcclOptions, NcclResult)   \
          kind(JobOptions, JobOutcome)

namespace weft::workload {

template <class Begin, class... Types>
using VariantOf = std::variant<Types...>;
#define WEFT_OPTIONS(Options, Outcome) , Options
#define WEFT_OUTCOME(Options, Outcome) , Outcome
using Options = VariantOf<void WEFT_WORKLOAD_KINDS(WEFT_OPTIONS)>;
using Outcome = VariantOf<void WEFT_WORKLOAD_KINDS(WEFT_OUTCOME)>;
#undef WEFT_OPTIONS
#undef WEFT_OUTCOME

// `call` with the options and the outcome of a workload, which are of one kind.
template <class Call>
decltype(auto) visit(const Options& options, const Outcome& outcome, Call&& call) {
  return std::visit(
      [&]<class Kind>(const Kind& left) -> decltype(auto) {
        return call(std::get<typename Kind::Options>(options), left);
      },
      outcome);
}
// `call` with std::type_identity of each kind's options.
template <class Call>
void for_each_kind(Call&& call) {
#define WEFT_CALL(Options, Outcome) call(std::type_identity<Options>());
  WEFT_WORKLOAD_KINDS(WEFT_CALL)
#undef WEFT_CALL
}

}  // namespace weft::workload
