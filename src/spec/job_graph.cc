#include "spec/job_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace weft::workload {

std::uint32_t JobProgram::add(JobNode node, std::span<const std::uint32_t> waits_for) {
  node.first_before = static_cast<std::uint32_t>(before.size());
  node.before_count = static_cast<std::uint32_t>(waits_for.size());
  before.insert(before.end(), waits_for.begin(), waits_for.end());
  nodes.push_back(node);
  return static_cast<std::uint32_t>(nodes.size() - 1);
}

std::uint32_t JobGraph::name_of(std::string_view name) {
  const auto at = std::lower_bound(sorted_names_.begin(), sorted_names_.end(), name,
                                   [](const auto& entry, std::string_view text) { return entry.first < text; });
  if (at != sorted_names_.end() && at->first == name) return at->second;
  const auto number = static_cast<std::uint32_t>(names.size());
  names.emplace_back(name);
  sorted_names_.emplace(at, std::string(name), number);
  return number;
}

std::string JobGraph::describe(std::uint32_t rank, std::uint32_t node) const {
  const JobNode& own = program_of(rank).nodes[node];
  std::string what;
  switch (own.kind) {
    case JobNodeKind::kCompute:
      what = "compute";
      break;
    case JobNodeKind::kCollective:
      what = fmt::format("{} of {} B in {}", collective_name(own.collective), own.size_B,
                         groups[ranks[rank].groups[own.target]].name);
      break;
    case JobNodeKind::kSend:
      what = fmt::format("send of {} B to rank {}", own.size_B, ranks[rank].peers[own.target]);
      break;
    case JobNodeKind::kReceive:
      what = fmt::format("receive of {} B from rank {}", own.size_B, ranks[rank].peers[own.target]);
      break;
  }
  return fmt::format("rank {}: {} ({})", rank, names[own.name], what);
}

Time_ps JobGraph::duration_ps(std::uint32_t rank, const JobNode& node) const {
  const double factor = ranks[rank].compute_factor;
  if (factor == 1) return node.duration_ps;
  return static_cast<Time_ps>(std::llround(static_cast<double>(node.duration_ps) * factor));
}

std::uint32_t JobStreams::of(const JobNode& node) const {
  switch (node.kind) {
    case JobNodeKind::kCompute:
      return node.on_cpu ? 1 : 0;
    case JobNodeKind::kCollective:
      return 2 + node.target;
    case JobNodeKind::kSend:
      return 2 + groups + 2 * node.target;
    case JobNodeKind::kReceive:
      return 2 + groups + 2 * node.target + 1;
  }
  return 0;
}

std::string_view collective_name(nccl::Collective collective) {
  constexpr std::string_view kCollectiveNames[] = {"all-reduce", "all-gather", "reduce-scatter", "all-to-all",
                                                   "broadcast",  "reduce",     "gather",         "scatter",
                                                   "sendrecv",   "hypercube"};
  return kCollectiveNames[static_cast<std::size_t>(collective)];
}

std::string group_kind(std::string_view name) {
  while (!name.empty() && name.back() >= '0' && name.back() <= '9') name.remove_suffix(1);
  return name.empty() ? "group" : std::string(name);
}

}  // namespace weft::workload
