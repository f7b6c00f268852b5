#include "live/program_session.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "live/os/place.h"
#include "workload/program/run.h"

namespace weft::live {

namespace {

using workload::ProgramEnd;
using Clock = std::chrono::steady_clock;

constexpr Time_ps kProgramSlice_ps = ms(1);  // of virtual time between two looks at the sockets and the programs
constexpr int kLook_ms = 5;
constexpr int kEndLooks = 200;
// Real time for a program that makes no call: one that has no thread in the world, or computes while it is at rest.
constexpr std::chrono::seconds kOutsidePatience{10};
// Every thread waits for the world, and nothing will happen there. A child that is not attached yet may still come.
constexpr std::chrono::milliseconds kParkedPatience{1000};

constexpr const char* kWorldName = "w";

bool is_set(const std::atomic<bool>& flag) {
  return flag.load(std::memory_order_relaxed);
}

}  // namespace

// The programs of one workload: one phase, in which all of them run.
class ProgramSession::Run final : public workload::ProgramRun {
 public:
  Run(ProgramSession& session, const workload::ProgramOptions& options, std::size_t number)
      : session_(session), options_(options), number_(number), outcomes_(options.programs.size()) {}

  bool start_phase(Time_ps at_ps) override {
    if (started_) return false;
    started_ = true;
    for (std::size_t i = 0; i < outcomes_.size(); ++i) {
      const workload::ProgramCommand& command = options_.programs[i];
      const Time_ps start_ps = at_ps + command.start_ps;
      const std::uint64_t seed = session_.world_.lab().seed * 1'000'003 + number_ * 1'009 + i;
      session_.begin({&command, &outcomes_[i], seed, start_ps, start_ps + command.timeout_ps});
    }
    return true;
  }
  void finish_phase(bool) override {
    session_.stop(outcomes_);
    deterministic_ = session_.is_deterministic();
  }
  bool is_finished() const override {
    return std::all_of(outcomes_.begin(), outcomes_.end(), [](const workload::ProgramOutcome& each) {
      return each.end != ProgramEnd::kNotStarted && each.end != ProgramEnd::kRunning;
    });
  }
  const std::vector<workload::ProgramOutcome>& outcomes() const override { return outcomes_; }
  bool is_deterministic() const override { return deterministic_; }

 private:
  ProgramSession& session_;
  const workload::ProgramOptions& options_;
  std::size_t number_;
  std::vector<workload::ProgramOutcome> outcomes_;
  bool started_ = false;
  bool deterministic_ = true;
};

tl::expected<std::unique_ptr<lab::ProgramSession>, std::string> open_programs(lab::World& world) {
  if (!can_trap_counter())
    return tl::unexpected(
        std::string("this kernel cannot trap reads of the CPU's counter (arm64: before Linux 6.12): "
                    "programs would see real time; see 'weft up --clock wall'"));
  auto libraries = library_directory();
  if (!libraries) return tl::unexpected(libraries.error());
  const char* given = std::getenv("XDG_RUNTIME_DIR");
  std::string directory = std::string(given != nullptr && *given != 0 ? given : "/tmp") + "/weft-run-XXXXXX";
  if (mkdtemp(directory.data()) == nullptr)
    return tl::unexpected(fmt::format("cannot make {}: {}", directory, std::strerror(errno)));
  auto place = listen_at(directory, kWorldName);
  if (!place) {
    std::error_code ignored;
    std::filesystem::remove_all(directory, ignored);
    return tl::unexpected(place.error());
  }
  return std::make_unique<ProgramSession>(world, place->listener, directory, *libraries);
}

ProgramSession::ProgramSession(lab::World& world, int listener, std::string directory, std::string libraries)
    : world_(world), directory_(std::move(directory)), libraries_(std::move(libraries)), server_(world, listener) {
  server_.set_sysfs(
      [this](std::uint32_t host) { return sysfs_path(directory_, kWorldName, world_.lab().hosts[host].name); });
}

ProgramSession::~ProgramSession() {
  entries_.clear();
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

std::unique_ptr<workload::ProgramRun> ProgramSession::make(const workload::ProgramOptions& options,
                                                           std::size_t number) {
  return std::make_unique<Run>(*this, options, number);
}

void ProgramSession::begin(Entry entry) {
  entries_.push_back(std::move(entry));
}

engine::RunEnd ProgramSession::advance(Time_ps deadline_ps, const std::atomic<bool>& cancel,
                                       const std::function<void(Time_ps)>& run) {
  const engine::Engine& engine = world_.engine();
  server_.set_stop(cancel);
  while (!is_set(cancel)) {
    hold(cancel);
    const Time_ps next_ps = engine.next_wake_ps(), start_ps = next_start_ps(), timeout_ps = next_timeout_ps();
    if (std::min(next_ps, start_ps) == kNever_ps) {
      if (!any_runs()) return engine::RunEnd::kIdle;
      wait_at_rest(cancel);
    } else if (std::min(next_ps, start_ps) >= deadline_ps) {
      return engine::RunEnd::kDeadline;
    } else if (timeout_ps <= std::min(next_ps, start_ps)) {
      for (Entry& entry : entries_) {
        if (!entry.child || entry.timeout_ps > timeout_ps) continue;
        end_by_force(entry, ProgramEnd::kTimedOut);
        entry.outcome->ended_ps = entry.timeout_ps;
      }
    } else if (start_ps <= next_ps) {
      start_due(start_ps);
    } else if (!server_.wait_before_leap(next_ps - engine.horizon_ps())) {
      run(std::min({deadline_ps, start_ps, timeout_ps, next_ps + kProgramSlice_ps}));
      server_.poll_clients(0);
      reap();
    }
  }
  return engine::RunEnd::kCancelled;
}

bool ProgramSession::any_runs() const {
  return std::any_of(entries_.begin(), entries_.end(), [](const Entry& entry) { return entry.child != nullptr; });
}

Time_ps ProgramSession::next_start_ps() const {
  Time_ps next_ps = kNever_ps;
  for (const Entry& entry : entries_) {
    if (entry.outcome->end == ProgramEnd::kNotStarted) next_ps = std::min(next_ps, entry.start_ps);
  }
  return next_ps;
}

Time_ps ProgramSession::next_timeout_ps() const {
  Time_ps next_ps = kNever_ps;
  for (const Entry& entry : entries_) {
    if (entry.child) next_ps = std::min(next_ps, entry.timeout_ps);
  }
  return next_ps;
}

// One after the other, in the order of the file: each has arrived before the next is started.
void ProgramSession::start_due(Time_ps now_ps) {
  server_.set_arrivals_ps(now_ps);
  for (Entry& entry : entries_) {
    if (entry.outcome->end != ProgramEnd::kNotStarted || entry.start_ps > now_ps) continue;
    start(entry);
    return;
  }
}

void ProgramSession::start(Entry& entry) {
  const workload::ProgramCommand& command = *entry.command;
  server_.show_node(command.node);
  Variables variables =
      program_variables(libraries_, socket_path(directory_, kWorldName),
                        sysfs_path(directory_, kWorldName, command.node), command.node, verbs::Clock::kVirtual);
  variables.emplace_back(verbs::kSeedVariable, fmt::format("{}", entry.seed));
  entry.outcome->started_ps = entry.outcome->ended_ps = entry.start_ps;
  auto child = Child::start(command.words, variables);
  if (!child) {
    entry.outcome->end = ProgramEnd::kNotExecuted;
    entry.outcome->status = child.error();
    return;
  }
  entry.outcome->end = ProgramEnd::kRunning;
  entry.child = std::move(*child);
}

void ProgramSession::hold(const std::atomic<bool>& cancel) {
  const auto since = Clock::now();
  for (;;) {
    reap();
    const auto on_its_way = [&](const Entry& entry) {
      return entry.child && !entry.let_be && server_.group(entry.child->pid()).threads == 0;
    };
    if (std::none_of(entries_.begin(), entries_.end(), on_its_way) || is_set(cancel)) return;
    if (Clock::now() - since > kOutsidePatience) {
      for (Entry& entry : entries_) entry.let_be = entry.let_be || on_its_way(entry);
      deterministic_ = false;
      return;
    }
    server_.poll_clients(kLook_ms);
  }
}

void ProgramSession::wait_at_rest(const std::atomic<bool>& cancel) {
  // Programs that look around meanwhile, and find nothing, do not end the rest.
  if (world_.engine().now_ps() != rested_ps_) {
    rested_ps_ = world_.engine().now_ps();
    rest_began_ = Clock::now();
  }
  const auto since = rest_began_;
  while (!is_set(cancel)) {
    server_.take_stray_posts();
    server_.poll_clients(kLook_ms);
    if (reap() || world_.engine().next_wake_ps() != kNever_ps) return;
    const bool parked = std::all_of(entries_.begin(), entries_.end(), [&](const Entry& entry) {
      return !entry.child || server_.group(entry.child->pid()).all_parked;
    });
    if (Clock::now() - since < (parked ? Clock::duration(kParkedPatience) : Clock::duration(kOutsidePatience)))
      continue;
    for (Entry& entry : entries_) {
      if (entry.child) end_by_force(entry, ProgramEnd::kStuck);
    }
    return;
  }
}

bool ProgramSession::reap() {
  bool any = false;
  for (Entry& entry : entries_) {
    if (!entry.child || !entry.child->has_ended()) continue;
    const int status = entry.child->wait_status();
    end(entry, WIFEXITED(status) ? ProgramEnd::kExited : ProgramEnd::kSignalled,
        WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    any = true;
  }
  return any;
}

void ProgramSession::end(Entry& entry, ProgramEnd how, int status) {
  // Connections that closed with it are there to be seen; what has left its process group ends now.
  for (int i = 0; i < kEndLooks && server_.group(entry.child->pid()).threads > 0; ++i) {
    if (i == kEndLooks / 2) server_.kill_group(entry.child->pid());
    server_.poll_clients(kLook_ms);
  }
  entry.outcome->end = how;
  entry.outcome->status = status;
  entry.outcome->ended_ps = std::max(entry.start_ps, server_.group(entry.child->pid()).ended_ps);
  entry.outcome->output = entry.child->output();
  entry.outcome->left_out_B = entry.child->left_out_B();
  entry.child = nullptr;
}

void ProgramSession::end_by_force(Entry& entry, ProgramEnd how) {
  entry.child->kill();
  while (!entry.child->has_ended()) usleep(1000);
  end(entry, how, 0);
}

void ProgramSession::stop(const std::vector<workload::ProgramOutcome>& outcomes) {
  const auto is_of_run = [&](const Entry& entry) {
    return std::any_of(outcomes.begin(), outcomes.end(), [&](const auto& each) { return &each == entry.outcome; });
  };
  for (Entry& entry : entries_) {
    if (entry.child && is_of_run(entry)) end_by_force(entry, ProgramEnd::kStopped);
  }
  std::erase_if(entries_, is_of_run);
}

}  // namespace weft::live
