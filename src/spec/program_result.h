// What became of a workload's programs. Times are virtual.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "spec/program_options.h"

namespace weft::workload {

enum class ProgramEnd : std::uint8_t {
  kNotStarted,
  kRunning,
  kExited,       // status: what it returned
  kSignalled,    // status: the signal that ended it
  kNotExecuted,  // status: errno
  kTimedOut,     // its time was over
  kStuck,        // it waited for something that could never happen
  kStopped,      // the run ended before it did
};

struct ProgramOutcome {
  ProgramEnd end = ProgramEnd::kNotStarted;
  int status = 0;
  Time_ps started_ps = 0, ended_ps = 0;
  std::string output;            // standard output and standard error, as they came
  std::uint64_t left_out_B = 0;  // beyond what is kept

  // As a shell and timeout(1) would give it.
  int exit_status() const {
    constexpr int kNoSuchFile = 2;
    switch (end) {
      case ProgramEnd::kExited:
        return status;
      case ProgramEnd::kSignalled:
        return 128 + status;
      case ProgramEnd::kNotExecuted:
        return status == kNoSuchFile ? 127 : 126;
      case ProgramEnd::kTimedOut:
      case ProgramEnd::kStuck:
        return 124;
      case ProgramEnd::kNotStarted:
      case ProgramEnd::kRunning:
      case ProgramEnd::kStopped:
        break;
    }
    return 130;
  }
};

// Of every workload of programs, beside the names under `find`.
inline constexpr std::string_view kExitMetric = "exit";

struct FoundValue {
  std::string name;
  std::optional<double> value;  // nothing: no line matches, or its group is not a number
};

// What became of a workload's programs, in the order of its commands.
struct ProgramsOutcome {
  using Options = ProgramOptions;

  std::vector<ProgramOutcome> programs;
  std::vector<FoundValue> found;
  bool deterministic = true;

  // Of all: 0, or that of the first that did not end with 0.
  int exit_status() const;
  // Every program was run and ended by itself, with whatever status.
  bool all_ended() const;
};

}  // namespace weft::workload
