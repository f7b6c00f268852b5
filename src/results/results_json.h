// The machine-readable result of a run (docs/results.md).
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "results/json_stream.h"
#include "results/run_result.h"

namespace weft::lab {

// Piece by piece: of a large lab it is larger than what it is made from. A counter that is zero is left out.
void results_json(const Lab& lab, const RunResult& result, const TextSink& sink);
std::string results_json(const Lab& lab, const RunResult& result);
// The error names the file and the reason.
tl::expected<void, std::string> write_results_json(const std::string& path, const Lab& lab, const RunResult& result);

}  // namespace weft::lab
