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

#include "workload/collective/nccl_options.h"
#include "workload/collective/nccl_result.h"
#include "workload/flow/options.h"
#include "workload/flow/result.h"
#include "workload/job/options.h"
#include "workload/job/result.h"
#include "workload/perftest/options.h"
#include "workload/perftest/result.h"
#include "workload/program/options.h"
#include "workload/program/result.h"
#include "workload/tcp/options.h"
#include "workload/tcp/result.h"
#include "workload/transfer/options.h"
#include "workload/transfer/result.h"

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

// Metrics that a workload with these options measures; that any workload of the kind may measure; and the value of one,
// or nothing where the run has none.
#define WEFT_DECLARE(Options, Outcome)                                      \
  std::vector<std::string_view> metric_names(const Options& options);       \
  std::vector<std::string_view> known_metrics(std::type_identity<Options>); \
  std::optional<double> metric_value(const Options& options, const Outcome& outcome, std::string_view metric);
WEFT_WORKLOAD_KINDS(WEFT_DECLARE)
#undef WEFT_DECLARE

}  // namespace weft::workload
