// Any text is a workload of SimAI for so many ranks as its first byte says, or an error with its line.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "fuzz/targets.h"
#include "model/workloads/job_check.h"
#include "model/workloads/job_simai.h"

int weft::fuzz::simai_fuzz(const std::uint8_t* data, std::size_t size) {
  using namespace weft::workload;
  if (size == 0) return 0;
  const std::uint32_t ranks = 1 + data[0] % 16;
  auto graph = read_simai({reinterpret_cast<const char*>(data + 1), size - 1}, ranks);
  if (!graph) {
    if (graph.error().message.empty()) std::abort();
    return 0;
  }
  for (const JobProblem& problem : settle_job(*graph)) {
    if (problem.rank >= ranks || problem.message.empty()) std::abort();
  }
  return 0;
}
