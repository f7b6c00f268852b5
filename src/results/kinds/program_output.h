// What programs said, made fit for a report.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "spec/program_options.h"
#include "spec/program_result.h"

namespace weft::lab {

using workload::FoundValue;
using workload::ProgramsOutcome;

// Lines of valid UTF-8 without control characters; each line ends.
std::string clean_text(std::string_view output);
// "ib_write_bw -F 'a b'": as one would type it.
std::string command_text(const std::vector<std::string>& words);
// "ended with status 0", "cannot be run: No such file or directory".
std::string end_text(const workload::ProgramOutcome& outcome);
// One section of the report, without its heading.
std::string programs_text(const workload::ProgramOptions& options, const ProgramsOutcome& outcome);

}  // namespace weft::lab
