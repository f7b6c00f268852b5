// The machine-readable result of a run (docs/results.md).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <tl/expected.hpp>

#include "results/run_result.h"
#include "store/json_stream.h"

namespace weft::lab {

// What waits in a switch at the moment: of a world that is up. A run has the longest of each queue.
struct QueueNow {
  std::string port;  // "leaf0:swp1"
  std::uint32_t queue = 0;
  std::uint64_t queue_B = 0;
};

// Piece by piece: of a large lab it is larger than what it is made from. A counter that is zero is left out.
void results_json(const Lab& lab, const RunResult& result, const store::TextSink& sink,
                  std::span<const QueueNow> queues = {});
std::string results_json(const Lab& lab, const RunResult& result, std::span<const QueueNow> queues = {});
// The error names the file and the reason.
tl::expected<void, std::string> write_results_json(const std::string& path, const Lab& lab, const RunResult& result);

}  // namespace weft::lab
