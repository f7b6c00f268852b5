// What each host port did with its time, for `--why` of labs whose workloads are not perftests: flows, transfers,
// programs.
#pragma once

#include <string>

#include "results/run_result.h"

namespace weft::lab {

// A row for each port that sent something: how long it sent, and how long it was idle, by what the next packet had
// waited for (spec/wait.h); the busiest 32. Empty when none did. What a receiver holds back is not followed there.
std::string port_accounts_text(const RunResult& result);

}  // namespace weft::lab
