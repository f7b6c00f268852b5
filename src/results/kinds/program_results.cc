// What programs leave in the report, in results.json and in results.sqlite.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "results/json_rows.h"
#include "results/kinds/program_output.h"
#include "results/kinds/workload_kind.h"
#include "results/report_text.h"

namespace weft::lab {

namespace {

using Json = nlohmann::ordered_json;
using workload::ProgramOptions;

constexpr const char* kProgramSchema = R"(
CREATE TABLE program(workload TEXT, number INTEGER, node TEXT, command TEXT, end TEXT, exit INTEGER, started_ps INTEGER,
  ended_ps INTEGER, output TEXT);
CREATE TABLE found(workload TEXT, name TEXT, value REAL);
)";

void programs_object(Json& j, const ProgramOptions& options, const ProgramsOutcome& outcome) {
  j["exit"] = outcome.exit_status();
  j["deterministic"] = outcome.deterministic;
  j["found"] = Json::object();
  for (const FoundValue& each : outcome.found)
    j["found"][each.name] = each.value ? Json(places(*each.value, 6)) : Json();
  j["programs"] = Json::array();
  for (std::size_t i = 0; i < outcome.programs.size(); ++i) {
    const workload::ProgramOutcome& each = outcome.programs[i];
    Json p;
    p["node"] = options.programs[i].node;
    p["command"] = options.programs[i].words;
    p["end"] = end_text(each);
    p["exit"] = each.exit_status();
    p["started_ps"] = each.started_ps;
    p["ended_ps"] = each.ended_ps;
    p["output"] = each.output;
    p["output_left_out_B"] = each.left_out_B;
    j["programs"].push_back(std::move(p));
  }
}

}  // namespace

std::string report_section(const ProgramOptions& options, const ProgramsOutcome& outcome, const Lab&,
                           const WorkloadConfig& config) {
  return heading(fmt::format("{}: {} program{}", config.name, outcome.programs.size(),
                             outcome.programs.size() == 1 ? "" : "s")) +
         programs_text(options, outcome);
}

void write_json(const ProgramOptions& options, const ProgramsOutcome& outcome, const Lab&, const WorkloadConfig& config,
                JsonStream& out) {
  Json w;
  w["name"] = config.name;
  programs_object(w, options, outcome);
  out.item(w.dump());
}

const char* table_schema(std::type_identity<ProgramOptions>) {
  return kProgramSchema;
}

void write_tables(std::type_identity<ProgramOptions>, const RunResult& result, SqliteFile& file) {
  SqliteRows programs(file, "INSERT INTO program VALUES(?,?,?,?,?,?,?,?,?)");
  SqliteRows found(file, "INSERT INTO found VALUES(?,?,?)");
  for (const WorkloadOutcome& outcome : result.workloads) {
    const auto* left = outcome.as<ProgramsOutcome>();
    if (left == nullptr) continue;
    for (std::size_t i = 0; i < left->programs.size(); ++i) {
      const workload::ProgramCommand& command = outcome.config->as<ProgramOptions>()->programs[i];
      const workload::ProgramOutcome& each = left->programs[i];
      programs.add(outcome.config->name, i, command.node, command_text(command.words), end_text(each),
                   each.exit_status(), each.started_ps, each.ended_ps, each.output);
    }
    for (const FoundValue& each : left->found) found.add(outcome.config->name, each.name, each.value);
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
