// Programs in a running world.
#include "model/workloads/program_find.h"
#include "results/kinds/program_output.h"
#include "workload/program/run.h"
#include "world/capture_estimate.h"
#include "world/workloads/active_workload.h"

namespace weft::lab {
namespace {

class ProgramsWorkload final : public ActiveWorkload {
 public:
  ProgramsWorkload(const workload::ProgramOptions& options, const WorkloadSetup& setup)
      : ActiveWorkload(setup.config), options_(options), run_(setup.programs->make(options, setup.number)) {}

  workload::Workload& run() override { return *run_; }
  workload::Outcome outcome(World&) override;

 private:
  const workload::ProgramOptions& options_;
  std::unique_ptr<workload::ProgramRun> run_;
};

workload::Outcome ProgramsWorkload::outcome(World&) {
  workload::ProgramsOutcome outcome;
  outcome.programs = run_->outcomes();
  outcome.deterministic = run_->is_deterministic();
  for (std::size_t i = 0; i < outcome.programs.size(); ++i) {
    std::string& output = outcome.programs[i].output;
    output = clean_text(output);
    for (const workload::ProgramFind& find : options_.programs[i].finds)
      outcome.found.push_back({find.name, workload::find_value(find.pattern, output)});
  }
  return outcome;
}

}  // namespace

WorkloadNeeds needs_of(const workload::ProgramOptions&) {
  return {.bytes = true, .programs = true};
}

std::unique_ptr<ActiveWorkload> activate(const workload::ProgramOptions& options, const WorkloadSetup& setup) {
  return std::make_unique<ProgramsWorkload>(options, setup);
}

void add_traffic(const workload::ProgramOptions& /*options*/, const WorkloadConfig& /*config*/,
                 CaptureTraffic& traffic) {
  traffic.add_unknown();
}

}  // namespace weft::lab
