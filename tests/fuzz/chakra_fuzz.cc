// Any bytes are Chakra traces of up to four ranks or an error; what they describe is a job or a list of problems. The
// first byte says how many ranks the rest is cut into.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "fuzz/targets.h"
#include "model/workloads/job_chakra.h"
#include "model/workloads/job_check.h"

int weft::fuzz::chakra_fuzz(const std::uint8_t* data, std::size_t size) {
  using namespace weft::workload;
  if (size == 0) return 0;
  const std::size_t ranks = 1 + data[0] % 4;
  const std::span<const std::uint8_t> rest(data + 1, size - 1);
  std::vector<ChakraTrace> traces;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const auto part =
        rest.subspan(rest.size() * rank / ranks, rest.size() * (rank + 1) / ranks - rest.size() * rank / ranks);
    auto trace = read_chakra(part);
    if (!trace) {
      if (trace.error().offset_B > part.size() || trace.error().message.empty()) std::abort();
      trace = ChakraTrace{};
    }
    traces.push_back(std::move(*trace));
  }
  auto graph = make_chakra_job(traces, {}, 1e12);
  if (!graph) {
    if (graph.error().rank >= ranks) std::abort();
    return 0;
  }
  for (const JobProblem& problem : settle_job(*graph)) {
    if (problem.rank >= ranks || problem.message.empty()) std::abort();
  }
  return 0;
}
