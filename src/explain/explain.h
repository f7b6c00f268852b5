// `weft explain DIR`: why a run of Weft took as long as it did, as text and as JSON (docs/explain.md). The judgement is
// results/explanation.h, which also ends each report; here is what reads a directory and prints.
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "explain/read_evidence.h"
#include "results/explanation.h"

namespace weft::explain {

struct Request {
  std::string directory;
  std::string flow;     // "incast/3", "3", a name of a graph, "h0:p0>h1:p0", "h0:p0", "h0"; empty: all
  std::string between;  // "1.2ms,1.4ms"; empty: the whole run
};

tl::expected<lab::Explanation, ExplainProblem> explain_run(const Request& request);

std::string explanation_text(const lab::Explanation& explanation, bool one_flow);
std::string explanation_json(const lab::Explanation& explanation);

}  // namespace weft::explain
