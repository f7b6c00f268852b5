// Runs a lab: builds the world, runs its workloads, reads out what happened, checks the expectations.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "model/lab.h"
#include "observe/capture.h"
#include "results/run_result.h"
#include "world/program_session.h"

namespace weft::lab {

struct RunOptions {
  std::vector<PortRef> capture_ports;
  std::string capture_path;  // used when capture_ports is not empty
  std::string mirror_path;   // used when the lab has mirrors; empty: they are not written
  observe::CaptureOptions capture;
  std::uint32_t domains = 1;
  std::uint32_t threads = 1;
  std::int64_t window_divisor = 1;
  const std::atomic<bool>* cancel = nullptr;
  // Now and then, with simulated time and the name of the workload that runs.
  std::function<void(Time_ps, const std::string&)> progress;
  ProgramSessionMaker programs;  // needed for labs with programs, which run in one domain
};

// The error says what could not be started or made; what fails later is in the result.
tl::expected<RunResult, std::string> run_lab(const Lab& lab, const RunOptions& options);

}  // namespace weft::lab
