// One run of a lab, driven by its caller: advance it, look at it in between, cancel it, take what it leaves behind.
// `weft run`, `weft up`, the tests and everything that shows a run while it goes use this. Pauses change nothing: a run
// that is advanced in steps has the results of one that is not.
// An open-ended session runs none of the lab's workloads: programs attach to its world and go (live/server.h), whoever
// serves them advances it, and it goes on until it is cancelled.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "engine/engine.h"
#include "model/lab.h"
#include "observe/capture.h"
#include "results/run_result.h"
#include "world/captures.h"
#include "world/changes.h"
#include "world/link_control.h"
#include "world/sampler.h"
#include "world/workloads/active_workload.h"
#include "world/workloads/program_session.h"
#include "world/world.h"

namespace weft::lab {

struct SessionOptions {
  std::vector<PortRef> capture_ports;
  std::string capture_path;  // used when capture_ports is not empty
  std::string mirror_path;   // used when the lab has mirrors; empty: they are not written
  observe::CaptureOptions capture;
  bool open_ended = false;  // in one domain, with the bytes of packets
  bool clock_runs = false;  // open-ended: time passes by itself, whether or not something happens
  std::uint32_t domains = 1;
  std::uint32_t threads = 1;
  std::int64_t window_divisor = 1;
  bool record = true;                   // what held packets back, for the report and `weft explain`
  bool why = false;                     // perftests follow their messages; in one domain, whatever is asked for
  std::atomic<bool>* cancel = nullptr;  // a flag of the caller's, for signal handlers; null: the session's own
  ProgramSessionMaker programs;         // needed for labs with programs, which run in one domain
};

enum class SessionState : std::uint8_t {
  kPaused,    // at the time that advance_until was given
  kFinished,  // every workload has run, or the lab's duration is over and nothing was cut short
  kCutOff,    // the lab's duration was over before the world came to rest
  kCancelled,
};

struct SessionProgress {
  Time_ps now_ps = 0;
  const std::string& workload;  // the first of those that run; empty in an open-ended session
};

class Session {
 public:
  using Subscriber = std::function<void(const SessionProgress&)>;

  // `lab` outlives the session. The error says what could not be started or made.
  static tl::expected<std::unique_ptr<Session>, std::string> open(const Lab& lab, const SessionOptions& options);

  // Runs the world until it has handled everything before `until_ps`, or the run is over. Called again, it goes on. An
  // open-ended session that is at rest writes its captures out.
  SessionState advance_until(Time_ps until_ps);
  // Now and then, between two windows, on the thread that advances.
  void subscribe(Subscriber subscriber) { subscribers_.push_back(std::move(subscriber)); }
  // From any thread or from a subscriber; advance_until returns soon after.
  void cancel() { cancel_->store(true); }

  // Of an open-ended session: made when a node is about to do something at or after their times.
  ScheduledChanges& changes() { return changes_; }
  Time_ps changed_ps() const { return changed_ps_; }  // of the last: another cannot be made before it
  LinkControl& links() { return *links_; }
  Captures& captures() { return *captures_; }

  World& world() { return world_; }
  Time_ps now_ps() const { return world_.engine().now_ps(); }
  // What a run that ends now leaves behind, without expectations, series and captures. It may go on afterwards.
  RunResult snapshot();
  // Ends the run: closes captures and judges the expectations. Once, at the end.
  RunResult finish();

 private:
  Session(const Lab& lab, const SessionOptions& options, const WorldOptions& world_options);
  void add_workloads();
  // False when none is left.
  bool take_next_group();
  bool start_phase();
  SessionState end_phase(engine::RunEnd end);
  SessionState advance_open_ended(Time_ps until_ps);
  engine::RunEnd run_engine(Time_ps until_ps);
  // The engine has come so far: captures are written, subscribers called.
  void report_progress(Time_ps now_ps);

  const Lab& lab_;
  SessionOptions options_;
  World world_;
  std::atomic<bool> own_cancel_{false};
  std::atomic<bool>* cancel_ = nullptr;
  ScheduledChanges changes_;
  Time_ps changed_ps_ = 0;
  std::unique_ptr<LinkControl> links_;  // of an open-ended session
  std::unique_ptr<Captures> captures_;
  std::unique_ptr<ProgramSession> programs_;  // null: no workload is a program
  std::vector<std::unique_ptr<ActiveWorkload>> workloads_;
  std::unique_ptr<Sampler> sampler_;
  std::vector<Subscriber> subscribers_;

  // Groups of workloads run in turn, in the order of the lab: the next starts when the one before it has ended. A
  // workload without a start time is a group; so are those with one that follow each other, which run together.
  std::vector<ActiveWorkload*> active_;  // what is left of the group
  std::size_t next_ = 0;                 // the first of the next one
  Time_ps group_start_ps_ = 0;           // start times count from here
  Time_ps phase_start_ps_ = 0;
  bool in_phase_ = false;
  std::vector<std::pair<Time_ps, Time_ps>> turns_;  // of workloads that have begun; kNever_ps: not over
  Time_ps paused_ps_ = 0;                           // in a phase: where advance_until has stopped
  SessionState state_ = SessionState::kPaused;
};

}  // namespace weft::lab
