// What programs leave in the report, in results.json and in results.sqlite.
#include <fmt/format.h>

#include "results/json_rows.h"
#include "results/kinds/program_output.h"
#include "results/kinds/workload_kind.h"
#include "results/report_text.h"
#include "store/rows/workload_rows.h"
#include "store/table.h"

namespace weft::lab {

namespace {

using workload::ProgramOptions;

store::ProgramsObject programs_object(const std::string& name, const ProgramOptions& options,
                                      const ProgramsOutcome& outcome) {
  store::ProgramsObject object{name, outcome.exit_status(), outcome.deterministic, {}, {}};
  for (const FoundValue& each : outcome.found) object.found.emplace_back(each.name, each.value);
  for (std::size_t i = 0; i < outcome.programs.size(); ++i) {
    const workload::ProgramOutcome& each = outcome.programs[i];
    object.programs.push_back({options.programs[i].node, options.programs[i].words, end_text(each), each.exit_status(),
                               each.started_ps, each.ended_ps, each.output, each.left_out_B});
  }
  return object;
}

}  // namespace

std::string report_section(const ProgramOptions& options, const ProgramsOutcome& outcome, const Lab&,
                           const WorkloadConfig& config) {
  return heading(fmt::format("{}: {} program{}", config.name, outcome.programs.size(),
                             outcome.programs.size() == 1 ? "" : "s")) +
         programs_text(options, outcome);
}

void write_json(const ProgramOptions& options, const ProgramsOutcome& outcome, const Lab&, const WorkloadConfig& config,
                store::JsonStream& out) {
  store::JsonText text;
  store::write_row(out, text, programs_object(config.name, options, outcome));
}

void write_tables(std::type_identity<ProgramOptions>, const RunResult& result, store::SqliteFile& file) {
  store::Inserter<store::ProgramRow> programs(file);
  store::Inserter<store::FoundRow> found(file);
  for (const WorkloadOutcome& outcome : result.workloads) {
    const auto* left = outcome.as<ProgramsOutcome>();
    if (left == nullptr) continue;
    for (std::size_t i = 0; i < left->programs.size(); ++i) {
      const workload::ProgramCommand& command = outcome.config->as<ProgramOptions>()->programs[i];
      const workload::ProgramOutcome& each = left->programs[i];
      programs.add({outcome.config->name, i, command.node, command_text(command.words), end_text(each),
                    each.exit_status(), each.started_ps, each.ended_ps, each.output});
    }
    for (const FoundValue& each : left->found) found.add({outcome.config->name, each.name, each.value});
  }
}

std::string failure_text(const ProgramOptions& options, const ProgramsOutcome& outcome, const RunResult&,
                         const Judged& judged) {
  if (judged({workload::kExitMetric}) && outcome.all_ended()) return "";
  for (std::size_t i = 0; i < outcome.programs.size(); ++i) {
    const workload::ProgramOutcome& each = outcome.programs[i];
    if (each.exit_status() == 0) continue;
    return fmt::format("{} on {}: {}", options.programs[i].words.front(), options.programs[i].node, end_text(each));
  }
  return outcome.all_ended() ? "" : "not every program ended";
}

void add_evidence(const workload::ProgramOptions&, const workload::ProgramsOutcome&, const Lab&, const WorkloadConfig&,
                  Evidence& evidence) {
  evidence.workloads.back().kind = "programs";
}

}  // namespace weft::lab
