// The programs of a lab file in a run: starts them at their virtual times, advances the world while they run, and knows
// when none of them can go on. The world waits, in real time, for a program that is on its way in or out: between its
// start and its first call, and between its last and its end.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "live/os/child.h"
#include "live/server.h"
#include "workload/program/run.h"
#include "world/workloads/program_session.h"

namespace weft::live {

// A session on this world, with a socket of its own that nobody else finds.
tl::expected<std::unique_ptr<lab::ProgramSession>, std::string> open_programs(lab::World& world);

class ProgramSession final : public lab::ProgramSession {
 public:
  // `directory` holds the socket and what stands for the nodes' sysfs; it is removed at the end.
  ProgramSession(lab::World& world, int listener, std::string directory, std::string libraries);
  ~ProgramSession() override;

  std::unique_ptr<workload::ProgramRun> make(const workload::ProgramOptions& options, std::size_t number) override;
  engine::RunEnd advance(Time_ps deadline_ps, const std::atomic<bool>& cancel,
                         const std::function<void(Time_ps)>& run) override;

 private:
  // One program, from the moment its workload begins.
  struct Entry {
    const workload::ProgramCommand* command;
    workload::ProgramOutcome* outcome;
    std::uint64_t seed;
    Time_ps start_ps, timeout_ps;
    std::unique_ptr<Child> child = nullptr;  // while it runs
    bool let_be = false;                     // it has run outside of the world for long: nobody waits for it any more
  };
  class Run;

  void begin(Entry entry);
  // Those of a workload that ends with the run.
  void stop(const std::vector<workload::ProgramOutcome>& outcomes);
  bool is_deterministic() const { return deterministic_ && server_.is_deterministic(); }
  bool any_runs() const;
  Time_ps next_start_ps() const;
  Time_ps next_timeout_ps() const;
  void start_due(Time_ps now_ps);
  void start(Entry& entry);
  // Waits for those that are on their way in or out.
  void hold(const std::atomic<bool>& cancel);
  // Nothing is left to happen in the world: waits for programs that compute, and gives up in the end.
  void wait_at_rest(const std::atomic<bool>& cancel);
  // True when one has ended.
  bool reap();
  void end(Entry& entry, workload::ProgramEnd end, int status);
  void end_by_force(Entry& entry, workload::ProgramEnd end);

  lab::World& world_;
  std::string directory_, libraries_;
  Server server_;
  std::vector<Entry> entries_;
  bool deterministic_ = true;
  Time_ps rested_ps_ = -1;  // how far the world was when it came to rest
  std::chrono::steady_clock::time_point rest_began_;
};

}  // namespace weft::live
