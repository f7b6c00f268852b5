#include "world/session.h"

#include <algorithm>

#include "base/check.h"
#include "results/metric_value.h"
#include "results/metrics.h"
#include "world/read_out.h"

namespace weft::lab {
namespace {

constexpr Time_ps kPhaseGap_ps = us(100);  // the two ends talk over TCP before the next size

bool has_programs(const Lab& lab) {
  return std::any_of(lab.workloads.begin(), lab.workloads.end(),
                     [](const WorkloadConfig& workload) { return workload.programs.has_value(); });
}

WorldOptions world_options(const Lab& lab, const SessionOptions& options) {
  WorldOptions world;
  // Programs come in one after the other: the nodes they run on share a thread.
  world.domains = has_programs(lab) ? 1 : options.domains;
  world.window_divisor = options.window_divisor;
  world.carry_payload = has_programs(lab) || !options.capture_ports.empty() || !lab.mirrors.empty() ||
                        std::any_of(lab.workloads.begin(), lab.workloads.end(),
                                    [](const WorkloadConfig& workload) { return workload.transfer.has_value(); });
  return world;
}

}  // namespace

Session::Session(const Lab& lab, const SessionOptions& options, const WorldOptions& world_options)
    : lab_(lab),
      options_(options),
      world_(lab, world_options),
      cancel_(options.cancel == nullptr ? &own_cancel_ : options.cancel) {}

tl::expected<std::unique_ptr<Session>, std::string> Session::open(const Lab& lab, const SessionOptions& options) {
  check_context().seed = lab.seed;
  if (has_programs(lab) && !options.programs)
    return tl::make_unexpected(std::string("this lab runs programs; this command cannot start them"));
  std::unique_ptr<Session> session(new Session(lab, options, world_options(lab, options)));
  auto captures = Captures::open(session->world_, options.capture_ports, options.capture_path, options.mirror_path,
                                 options.capture);
  if (!captures) return tl::make_unexpected(captures.error());
  session->captures_ = std::move(*captures);
  if (has_programs(lab)) {
    auto programs = options.programs(session->world_);
    if (!programs) return tl::make_unexpected(programs.error());
    session->programs_ = std::move(*programs);
  }
  session->add_workloads();
  return session;
}

void Session::add_workloads() {
  for (const WorkloadConfig& config : lab_.workloads) {
    ActiveWorkload& active = workloads_.emplace_back();
    active.config = &config;
    if (config.flows) {
      std::vector<workload::Endpoint> endpoints;
      for (const PortRef& port : config.flow_ports) endpoints.push_back(world_.endpoint(port, 0, config));
      active.flows = std::make_unique<workload::FlowRun>(*config.flows, std::move(endpoints));
    } else if (config.programs) {
      active.programs = programs_->make(*config.programs, workloads_.size() - 1);
    } else {
      workload::Endpoint client = world_.endpoint(config.client, config.client_function, config);
      workload::Endpoint server = world_.endpoint(config.server, config.server_function, config);
      if (config.perftest) {
        active.perftest = std::make_unique<workload::PerftestRun>(*config.perftest, client, server);
      } else {
        active.transfer = std::make_unique<workload::TransferRun>(*config.transfer, client, server, lab_.seed);
      }
    }
  }
  for (ActiveWorkload& active : workloads_) {
    if (active.config->start_ps) active_.push_back(&active);
  }
  if (lab_.sample_ps) sampler_ = std::make_unique<Sampler>(world_, workloads_, *lab_.sample_ps);
}

SessionState Session::advance_until(Time_ps until_ps) {
  const Time_ps end_ps = lab_.duration_ps.value_or(kNever_ps);
  while (state_ == SessionState::kPaused) {
    if (cancel_->load()) {  // the engine looks at it only now and then
      state_ = end_phase(engine::RunEnd::kCancelled);
      break;
    }
    if (!in_phase_ && !start_phase()) {
      state_ = SessionState::kFinished;
      break;
    }
    const engine::RunEnd end = run_engine(std::min(until_ps, end_ps));
    if (end == engine::RunEnd::kDeadline && until_ps < end_ps) break;
    state_ = end_phase(end);
  }
  return state_;
}

bool Session::start_phase() {
  for (;;) {
    const auto is_in_turn = [](const ActiveWorkload* active) { return !active->config->start_ps; };
    while (next_in_turn_ < workloads_.size() && std::none_of(active_.begin(), active_.end(), is_in_turn)) {
      ActiveWorkload& next = workloads_[next_in_turn_++];
      if (is_in_turn(&next)) active_.push_back(&next);
    }
    if (active_.empty()) return false;
    std::erase_if(active_, [&](ActiveWorkload* active) {
      active->running = active->run().start_phase(std::max(phase_start_ps_, active->config->start_ps.value_or(0)));
      return !active->running;
    });
    if (active_.empty()) continue;
    in_phase_ = true;
    return true;
  }
}

SessionState Session::end_phase(engine::RunEnd end) {
  if (in_phase_) {
    for (ActiveWorkload* active : active_) active->run().finish_phase(end != engine::RunEnd::kIdle);
  }
  in_phase_ = false;
  if (end == engine::RunEnd::kCancelled) return SessionState::kCancelled;
  if (end == engine::RunEnd::kDeadline) {
    const bool all_done =
        std::all_of(active_.begin(), active_.end(), [](ActiveWorkload* active) { return active->run().is_finished(); });
    return all_done ? SessionState::kFinished : SessionState::kCutOff;
  }
  phase_start_ps_ = world_.last_event_ps() + kPhaseGap_ps;
  return SessionState::kPaused;
}

// In steps when somebody wants to look in between.
engine::RunEnd Session::run_engine(Time_ps until_ps) {
  const auto look = [this](Time_ps now_ps) {
    captures_->flush(now_ps);
    const SessionProgress progress{now_ps, active_.front()->config->name};
    for (const Subscriber& subscriber : subscribers_) subscriber(progress);
  };
  for (;;) {
    const Time_ps step_ps = sampler_ ? std::min(until_ps, sampler_->next_ps()) : until_ps;
    const engine::RunEnd end = programs_ != nullptr ? programs_->advance(step_ps, cancel_, look)
                                                    : world_.engine().run(step_ps, options_.threads, cancel_, look);
    if (end != engine::RunEnd::kDeadline) return end;
    if (sampler_ && sampler_->next_ps() <= step_ps) sampler_->take();
    if (step_ps == until_ps) return end;
  }
}

RunResult Session::snapshot() {
  RunResult result;
  result.interrupted = state_ == SessionState::kCancelled;
  result.cut_off = state_ == SessionState::kCutOff;
  result.end_ps = result.cut_off ? *lab_.duration_ps : world_.last_event_ps();
  result.events = world_.events();
  read_out(world_, workloads_, result);
  result.hops = world_.hops();
  WEFT_CHECK(result.ledger_balances(), "the packet ledger does not balance");
  return result;
}

RunResult Session::finish() {
  RunResult result = snapshot();
  if (sampler_) result.series = sampler_->finish(state_ == SessionState::kFinished);
  for (const Expectation& expectation : lab_.expectations) result.expectations.push_back(judge(expectation, result));
  if (auto written = captures_->close(); !written) result.capture_error = written.error();
  result.captured_frames = captures_->frames();
  result.uncaptured_frames = captures_->left_out();
  if (result.capture_error.empty()) result.capture_files = captures_->files();
  return result;
}

}  // namespace weft::lab
