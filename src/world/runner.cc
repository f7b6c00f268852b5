#include "world/runner.h"

#include <algorithm>
#include <memory>

#include "base/check.h"
#include "results/metric_value.h"
#include "results/metrics.h"
#include "world/captures.h"
#include "world/read_out.h"
#include "world/sampler.h"
#include "world/world.h"

namespace weft::lab {

namespace {

constexpr Time_ps kPhaseGap_ps = us(100);  // the two ends talk over TCP before the next size

// Plays the acts: those with a start time together, the others in turn.
class Stage {
 public:
  Stage(World& world, const RunOptions& options, Captures& captures, ProgramSession* session)
      : world_(world), options_(options), captures_(captures), session_(session) {
    for (const WorkloadConfig& config : world.lab().workloads) {
      Act act;
      act.config = &config;
      if (config.flows) {
        std::vector<workload::Endpoint> endpoints;
        for (const PortRef& port : config.flow_ports) endpoints.push_back(world.endpoint(port, 0, config));
        act.flows = std::make_unique<workload::FlowRun>(*config.flows, std::move(endpoints));
        acts_.push_back(std::move(act));
        continue;
      }
      if (config.programs) {
        act.programs = session->make(*config.programs, acts_.size());
        acts_.push_back(std::move(act));
        continue;
      }
      workload::Endpoint client = world.endpoint(config.client, config.client_function, config);
      workload::Endpoint server = world.endpoint(config.server, config.server_function, config);
      if (config.perftest) {
        act.perftest = std::make_unique<workload::PerftestRun>(*config.perftest, client, server);
      } else {
        act.transfer = std::make_unique<workload::TransferRun>(*config.transfer, client, server, world.lab().seed);
      }
      acts_.push_back(std::move(act));
    }
    if (auto interval_ps = world.lab().sample_ps) sampler_ = std::make_unique<Sampler>(world, acts_, *interval_ps);
  }

  // True when everything was played, false when it was cancelled.
  bool play() {
    std::vector<Act*> on_stage;
    std::vector<Act*> in_turn;
    for (Act& act : acts_) (act.config->start_ps ? on_stage : in_turn).push_back(&act);
    auto next = in_turn.begin();
    Time_ps at_ps = 0;
    for (;;) {
      if (next != in_turn.end() &&
          std::none_of(on_stage.begin(), on_stage.end(), [](Act* a) { return !a->config->start_ps; })) {
        on_stage.push_back(*next++);
      }
      if (on_stage.empty()) return true;
      std::erase_if(on_stage, [&](Act* act) {
        act->running = act->run().start_phase(std::max(at_ps, act->config->start_ps.value_or(0)));
        return !act->running;
      });
      if (on_stage.empty()) continue;
      Time_ps deadline_ps = world_.lab().duration_ps.value_or(kNever_ps);
      engine::RunEnd end = advance(deadline_ps, on_stage.front()->config->name);
      for (Act* act : on_stage) act->run().finish_phase(end != engine::RunEnd::kIdle);
      cut_off_ = end == engine::RunEnd::kDeadline &&
                 !std::all_of(on_stage.begin(), on_stage.end(), [](Act* act) { return act->run().is_finished(); });
      if (end == engine::RunEnd::kCancelled) return false;
      if (end == engine::RunEnd::kDeadline) return true;
      at_ps = world_.last_event_ps() + kPhaseGap_ps;
    }
  }

  std::vector<Act>& acts() { return acts_; }
  SeriesSet series(bool at_rest) { return sampler_ ? sampler_->finish(at_rest) : SeriesSet{}; }
  bool cut_off() const { return cut_off_; }

 private:
  // Up to the deadline, in steps when somebody wants to look in between.
  engine::RunEnd advance(Time_ps deadline_ps, const std::string& playing) {
    for (;;) {
      Time_ps step_ps = sampler_ ? std::min(deadline_ps, sampler_->next_ps()) : deadline_ps;
      const auto look = [&](Time_ps now_ps) {
        captures_.flush(now_ps);
        if (options_.progress) options_.progress(now_ps, playing);
      };
      engine::RunEnd end = session_ != nullptr ? session_->advance(step_ps, options_.cancel, look)
                                               : world_.engine().run(step_ps, options_.threads, options_.cancel, look);
      if (end != engine::RunEnd::kDeadline) return end;
      if (sampler_ && sampler_->next_ps() <= step_ps) sampler_->take();
      if (step_ps == deadline_ps) return end;
    }
  }

  World& world_;
  const RunOptions& options_;
  Captures& captures_;
  ProgramSession* session_;  // null: no workload is a program
  std::vector<Act> acts_;
  std::unique_ptr<Sampler> sampler_;
  bool cut_off_ = false;
};

}  // namespace

tl::expected<RunResult, std::string> run_lab(const Lab& lab, const RunOptions& options) {
  check_context().seed = lab.seed;
  WorldOptions world_options;
  const bool with_programs = std::any_of(lab.workloads.begin(), lab.workloads.end(),
                                         [](const WorkloadConfig& w) { return w.programs.has_value(); });
  if (with_programs && !options.programs)
    return tl::make_unexpected(std::string("this lab runs programs, and there is nobody here to start them"));
  // Programs come in one after the other: the nodes they run on share a thread.
  world_options.domains = with_programs ? 1 : options.domains;
  world_options.window_divisor = options.window_divisor;
  world_options.carry_payload = with_programs || !options.capture_ports.empty() || !lab.mirrors.empty() ||
                                std::any_of(lab.workloads.begin(), lab.workloads.end(),
                                            [](const WorkloadConfig& w) { return w.transfer.has_value(); });
  World world(lab, world_options);
  auto captures =
      Captures::open(world, options.capture_ports, options.capture_path, options.mirror_path, options.capture);
  if (!captures) return tl::make_unexpected(captures.error());
  std::unique_ptr<ProgramSession> session;
  if (with_programs) {
    auto opened = options.programs(world);
    if (!opened) return tl::make_unexpected(opened.error());
    session = std::move(*opened);
  }
  Stage stage(world, options, **captures, session.get());
  RunResult result;
  result.interrupted = !stage.play();
  result.end_ps = world.last_event_ps();
  result.events = world.events();
  result.cut_off = stage.cut_off();
  if (result.cut_off) result.end_ps = *lab.duration_ps;
  read_out(world, stage.acts(), result);
  result.series = stage.series(!result.interrupted && !result.cut_off);
  result.hops = world.hops();
  WEFT_CHECK(result.ledger_balances(), "the packet ledger does not balance");
  for (const Expectation& expectation : lab.expectations) result.expectations.push_back(judge(expectation, result));
  if (auto written = (*captures)->close(); !written) result.capture_error = written.error();
  result.captured_frames = (*captures)->frames();
  result.uncaptured_frames = (*captures)->left_out();
  if (result.capture_error.empty()) result.capture_files = (*captures)->files();
  return result;
}

}  // namespace weft::lab
