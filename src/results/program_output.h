// What programs said: made fit for a report, and searched for the values that expectations name.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "workload/program_options.h"
#include "workload/program_result.h"

namespace weft::lab {

struct FoundValue {
  std::string name;
  std::optional<double> value;  // nothing: no line matches, or its group is not a number
};

// What became of a workload's programs, in the order of its commands.
struct ProgramsOutcome {
  std::vector<workload::ProgramOutcome> programs;
  std::vector<FoundValue> found;
  bool deterministic = true;

  // Of all: 0, or that of the first that did not end with 0.
  int exit_status() const;
  // Every program was run and ended by itself, with whatever status.
  bool all_ended() const;
};

// The error says what is wrong with the pattern.
tl::expected<void, std::string> check_pattern(const std::string& pattern);
std::optional<double> find_value(const std::string& pattern, std::string_view output);

// Lines of valid UTF-8 without control characters; each line ends.
std::string clean_text(std::string_view output);
// "ib_write_bw -F 'a b'": as one would type it.
std::string command_text(const std::vector<std::string>& words);
// "ended with status 0", "cannot be run: No such file or directory".
std::string end_text(const workload::ProgramOutcome& outcome);
// One section of the report, without its heading.
std::string programs_text(const workload::ProgramOptions& options, const ProgramsOutcome& outcome);

}  // namespace weft::lab
