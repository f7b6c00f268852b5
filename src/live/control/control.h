// The control side of a world that is up: takes commands on connections of their own, does what they say at once or at
// their moment of the world's time, keeps a record of them, and feeds those who watch. Called by live/server.cc between
// two slices of the world: every node has run up to now and none beyond it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "live/control/command.h"
#include "live/control/output_stream.h"
#include "live/control/tracer.h"
#include "live/control/watchers.h"
#include "live/protocol/connection.h"
#include "results/run_result.h"
#include "verbs/control_protocol.h"

namespace weft::live {

class Control {
 public:
  Control(lab::Session& session, lab::LiveReader reader) : context_{session, std::move(reader), {}, {}} {}
  ~Control() { end_streams(); }

  static bool is_mine(verbs::Op op) { return op == verbs::Op::kCommand || op == verbs::Op::kWatch; }
  // Takes over the connection.
  void take(int fd, const Request& request, Time_ps now_ps);
  // Writes what watchers can take now, and forgets those that are gone.
  void poll();
  // Connections of those that watch.
  std::vector<int> fds() const;
  void end_streams();
  // A command of a program on a node (live/view/node_changes.h), which changes its own host alone.
  tl::expected<void, CommandProblem> run(CommandWords words, Time_ps now_ps);
  // Commands taken so far, in that order.
  std::vector<lab::TakenCommand> commands() const;
  Tracer& tracer() { return tracer_; }
  const Tracer& tracer() const { return tracer_; }

 private:
  // One who watches, until either side has enough.
  struct Watch {
    std::shared_ptr<OutputStream> stream;
    std::function<std::string()> end;        // called once; returns what is to be said last
    bool over = false;                       // by a limit of its own
    std::optional<std::string> notice = {};  // it has ended, and only waits for its reader
  };
  enum class State : std::uint8_t { kWaits, kDone, kFailed };
  struct Record {
    Time_ps at_ps;
    std::string words;
    State state;
    std::string problem;
  };
  struct Answer {
    int status = 0;
    std::string text, remedy;
    bool waits = false;
    Time_ps at_ps = 0;
  };
  Answer execute(CommandWords words, const verbs::Command& command, Time_ps now_ps);
  CommandText log() const;
  void trace(const std::string& line, bool done, Time_ps now_ps);
  tl::expected<std::shared_ptr<Watch>, CommandProblem> begin_watch(CommandWords words, const verbs::Command& command,
                                                                   Time_ps now_ps);
  // True: nothing of it is left.
  static bool serve(Watch& watch);
  void end_later(const std::shared_ptr<Watch>& watch, Time_ps for_ps, Time_ps now_ps);
  CommandPlan plan(CommandWords words);
  static void send(Connection& connection, const Answer& answer);

  CommandContext context_;
  Tracer tracer_;
  std::vector<std::shared_ptr<Watch>> watches_;
  std::deque<Record> records_;
  std::uint64_t forgotten_ = 0;  // of the records, the oldest
};

}  // namespace weft::live
