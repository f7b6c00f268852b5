// Hostile connection matrices: flows between nodes that are there, or a list of problems, never anything else.
//   cm_fuzz CORPUS
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "fuzz/targets.h"
#include "model/workloads/flow_matrix.h"

namespace {

using namespace weft::workload;

// What FlowRun relies on without asking again.
void check_matrix(const FlowMatrix& matrix) {
  WEFT_CHECK(matrix.nodes > 0 && matrix.nodes <= kMostMatrixNodes, "nodes that can be");
  weft::Time_ps start_ps = 0;
  for (const Flow& flow : matrix.flows) {
    WEFT_CHECK(flow.source < matrix.nodes && flow.destination < matrix.nodes, "nodes that are there");
    WEFT_CHECK(flow.source != flow.destination, "a flow goes to another node");
    WEFT_CHECK(flow.size_B > 0, "a flow of something");
    WEFT_CHECK(flow.start_ps >= start_ps && flow.start_ps < weft::kNever_ps / 2, "flows are in order of start");
    start_ps = flow.start_ps;
  }
}

void check_problems(const std::vector<MatrixProblem>& problems) {
  WEFT_CHECK(!problems.empty() && problems.size() <= kMostMatrixProblems, "a refusal has a few reasons");
  int line = 1;
  for (const MatrixProblem& problem : problems) {
    WEFT_CHECK(problem.line >= line, "problems are in line order");
    line = problem.line;
    WEFT_CHECK(!problem.message.empty() && !problem.remedy.empty(), "a problem says what is wrong and what to do");
    WEFT_CHECK(problem.message.size() < 200, "a message is short");
    // UTF-8 of our own is fine, control characters of the input are not.
    for (char c : problem.message) WEFT_CHECK(static_cast<unsigned char>(c) >= ' ' && c != 0x7f, "printable");
  }
}

}  // namespace

int weft::fuzz::cm_fuzz(const std::uint8_t* data, std::size_t size) {
  const auto matrix = read_flow_matrix(std::string_view(reinterpret_cast<const char*>(data), size));
  if (matrix) {
    check_matrix(*matrix);
  } else {
    check_problems(matrix.error());
  }
  return 0;
}
