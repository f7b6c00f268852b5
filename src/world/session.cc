#include "world/session.h"

#include <algorithm>

#include "base/check.h"
#include "results/explanation.h"
#include "results/metric_value.h"
#include "world/read_out.h"

namespace weft::lab {
namespace {

constexpr Time_ps kPhaseGap_ps = us(100);  // the two ends talk over TCP before the next size
constexpr int kMostChanges = 1000;         // of one advance

// Of all workloads together.
WorkloadNeeds needs_of_lab(const Lab& lab) {
  WorkloadNeeds all;
  for (const WorkloadConfig& workload : lab.workloads) {
    const WorkloadNeeds needs = std::visit([](const auto& options) { return needs_of(options); }, workload.options);
    all.bytes = all.bytes || needs.bytes;
    all.programs = all.programs || needs.programs;
  }
  return all;
}

WorldOptions world_options(const Lab& lab, const SessionOptions& options) {
  const WorkloadNeeds needs = needs_of_lab(lab);
  WorldOptions world;
  // Programs come in one after the other: the nodes they run on share a thread.
  world.domains = needs.programs || options.open_ended || options.why ? 1 : options.domains;
  world.window_divisor = options.window_divisor;
  world.record = options.record;
  world.live = options.open_ended;
  world.apart = needs.programs || options.open_ended;
  world.carry_payload = needs.bytes || options.open_ended || !options.capture_ports.empty() || !lab.mirrors.empty();
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
  const bool has_programs = !options.open_ended && needs_of_lab(lab).programs;
  if (const HostConfig* vm = first_with_vf(lab); vm != nullptr && (has_programs || options.open_ended))
    return tl::make_unexpected(vm->name +
                               " has a virtual function, which no program can use yet: pass the NIC (function: pf)");
  if (has_programs || options.open_ended) {
    if (const HostConfig* host = first_with_bond(lab))
      return tl::make_unexpected(host->name +
                                 " has a bond, which no program can use yet: leave lag out at its links, "
                                 "and give each port an address");
  }
  if (has_programs && !options.programs)
    return tl::make_unexpected(std::string("this lab runs programs; this command cannot start them"));
  std::unique_ptr<Session> session(new Session(lab, options, world_options(lab, options)));
  auto captures = Captures::open(session->world_, options.capture_ports, options.capture_path, options.mirror_path,
                                 options.capture);
  if (!captures) return tl::make_unexpected(captures.error());
  session->captures_ = std::move(*captures);
  if (has_programs) {
    auto programs = options.programs(session->world_);
    if (!programs) return tl::make_unexpected(programs.error());
    session->programs_ = std::move(*programs);
  }
  if (options.open_ended) {
    session->links_ = std::make_unique<LinkControl>(session->world_, session->changes_);
  } else {
    session->add_workloads();
  }
  return session;
}

void Session::add_workloads() {
  for (const WorkloadConfig& config : lab_.workloads) {
    const WorkloadSetup setup{world_, config, workloads_.size(), programs_.get(), options_.why};
    workloads_.push_back(std::visit([&](const auto& options) { return activate(options, setup); }, config.options));
    world_.claim_queue_pairs(static_cast<std::uint32_t>(workloads_.size() - 1));
  }
  if (lab_.sample_ps) sampler_ = std::make_unique<Sampler>(world_, workloads_, *lab_.sample_ps);
}

SessionState Session::advance_open_ended(Time_ps until_ps) {
  const bool changes = options_.clock_runs && changes_.next_ps() < until_ps;
  if (world_.engine().next_wake_ps() == kNever_ps && !changes) {
    captures_->flush(kNever_ps);
  } else if (!cancel_->load()) {
    for (int made = 0; changes_.next_ps() < until_ps; ++made) {
      // Whoever drives it looks at its sockets in between: a leap of the clock may have any number of them.
      if (made == kMostChanges) {
        report_progress(now_ps());
        return state_;
      }
      const engine::RunEnd end = run_engine(changes_.next_ps());
      if (end == engine::RunEnd::kCancelled) break;
      // Without a clock that runs the moment of a change comes when something is to happen then or later.
      if (!options_.clock_runs && world_.engine().next_wake_ps() >= until_ps) break;
      changed_ps_ = changes_.next_ps();
      changes_.make_due(changed_ps_);
    }
    run_engine(until_ps);
    report_progress(now_ps());
  }
  if (cancel_->load()) state_ = SessionState::kCancelled;
  return state_;
}

SessionState Session::advance_until(Time_ps until_ps) {
  if (options_.open_ended) return advance_open_ended(until_ps);
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
    if (end == engine::RunEnd::kDeadline && until_ps < end_ps) {
      paused_ps_ = until_ps;
      break;
    }
    state_ = end_phase(end);
  }
  return state_;
}

bool Session::take_next_group() {
  if (next_ == workloads_.size()) return false;
  const std::size_t first = next_;
  const bool timed = workloads_[first]->config().start_ps.has_value();
  do {
    active_.push_back(workloads_[next_++].get());
    turns_.emplace_back(phase_start_ps_, kNever_ps);
  } while (timed && next_ < workloads_.size() && workloads_[next_]->config().start_ps);
  group_start_ps_ = phase_start_ps_;
  // What the hosts say holds from the beginning.
  if (!timed || first != 0) world_.load_cpus(active_.front()->config());
  return true;
}

bool Session::start_phase() {
  while (!active_.empty() || take_next_group()) {
    std::erase_if(active_, [&](ActiveWorkload* active) {
      const Time_ps start_ps = group_start_ps_ + active->config().start_ps.value_or(0);
      const auto number =
          std::find_if(workloads_.begin(), workloads_.end(), [&](const auto& each) { return each.get() == active; }) -
          workloads_.begin();
      world_.claim_queue_pairs(nic::kNobody);
      const bool goes_on = active->run().start_phase(std::max(phase_start_ps_, start_ps));
      world_.claim_queue_pairs(static_cast<std::uint32_t>(number));
      if (goes_on) return false;
      turns_[static_cast<std::size_t>(number)].second = phase_start_ps_;
      return true;
    });
    if (active_.empty()) continue;
    in_phase_ = true;
    return true;
  }
  return false;
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
    return all_done && next_ == workloads_.size() ? SessionState::kFinished : SessionState::kCutOff;
  }
  phase_start_ps_ = world_.last_event_ps() + kPhaseGap_ps;
  return SessionState::kPaused;
}

void Session::report_progress(Time_ps now_ps) {
  static const std::string kNoWorkload;
  captures_->flush(now_ps);
  const SessionProgress progress{now_ps, active_.empty() ? kNoWorkload : active_.front()->config().name};
  for (const Subscriber& subscriber : subscribers_) subscriber(progress);
}

// In steps when somebody wants to look in between.
engine::RunEnd Session::run_engine(Time_ps until_ps) {
  const auto look = [this](Time_ps now_ps) { report_progress(now_ps); };
  const std::uint32_t threads = programs_ != nullptr ? 1 : options_.threads;
  const auto run = [&](Time_ps step_ps) { return world_.engine().run(step_ps, threads, cancel_, look); };
  for (;;) {
    const Time_ps step_ps = sampler_ ? std::min(until_ps, sampler_->next_ps()) : until_ps;
    const engine::RunEnd end = programs_ != nullptr ? programs_->advance(step_ps, *cancel_, run) : run(step_ps);
    if (end != engine::RunEnd::kDeadline) return end;
    if (sampler_ && sampler_->next_ps() <= step_ps) sampler_->take();
    if (step_ps == until_ps) return end;
  }
}

RunResult Session::snapshot() {
  RunResult result;
  result.interrupted = state_ == SessionState::kCancelled;
  result.cut_off = state_ == SessionState::kCutOff;
  result.end_ps = world_.last_event_ps();
  if (options_.open_ended) result.end_ps = now_ps();
  if (state_ == SessionState::kPaused && in_phase_) result.end_ps = paused_ps_;
  if (result.cut_off) result.end_ps = *lab_.duration_ps;
  result.events = world_.events();
  for (std::size_t i = 0; i < turns_.size(); ++i) {
    const auto& [from_ps, to_ps] = turns_[i];
    const Time_ps own_ps = from_ps + workloads_[i]->config().start_ps.value_or(0);
    result.workload_times.emplace_back(std::min(own_ps, result.end_ps), std::min(to_ps, result.end_ps));
  }
  read_out(world_, workloads_, result);
  result.latency = message_latency(sender_evidence(lab_, result));
  result.hops = world_.hops();
  // Somebody may ask an open-ended session while a node is at work.
  WEFT_CHECK(options_.open_ended || result.ledger_balances(), "the packet ledger does not balance");
  return result;
}

RunResult Session::finish() {
  RunResult result = snapshot();
  if (sampler_) result.series = sampler_->finish(state_ == SessionState::kFinished);
  if (!options_.open_ended) {
    for (const Expectation& expectation : lab_.expectations) result.expectations.push_back(judge(expectation, result));
  }
  if (auto written = captures_->close(); !written) result.capture_error = written.error();
  result.captured_frames = captures_->frames();
  result.uncaptured_frames = captures_->left_out();
  if (result.capture_error.empty()) result.capture_files = captures_->files();
  return result;
}

}  // namespace weft::lab
