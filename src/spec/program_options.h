// Unmodified programs as a workload: which command on which host, when, for how long, and what to look for in
// what it says. lab/ reads these from a lab file, live/ runs them on the simulated NICs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace weft::workload {

// A POSIX extended regular expression, held against each line of the output.
struct ProgramFind {
  std::string name;     // of the metric
  std::string pattern;  // with one group: its first match is the value; without: how many lines match
};

struct ProgramCommand {
  std::uint32_t host = 0;                // of the lab
  std::string node;                      // its name
  std::vector<std::string> words;        // program and arguments
  Time_ps start_ps = 0;                  // from the start of the workload
  Time_ps timeout_ps = 60 * kSecond_ps;  // of virtual time, from its start
  std::vector<ProgramFind> finds;
};

struct ProgramOptions {
  static constexpr std::string_view kKey = "program";  // in the lab file
  static constexpr std::string_view kExample = "[…]";

  std::vector<ProgramCommand> programs;
};

}  // namespace weft::workload
