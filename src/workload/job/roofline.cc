// What a step must take at least, from the graph alone.
#include <algorithm>
#include <map>

#include "workload/job/summary.h"

namespace weft::workload {
namespace {

using nccl::Collective;

// What machines with so many members of a group must send and receive at least.
struct MachineBytes {
  double send_B = 0, receive_B = 0;
};
MachineBytes least_bytes(Collective collective, double size_B, double ranks, double here, double machines,
                         bool has_root, bool even) {
  if (machines < 2) return {};
  const double elsewhere = ranks - here;
  switch (collective) {
    case Collective::kAllReduce: {
      // Its own sum leaves once and the whole comes in, each split over machines.
      const double each = 2 * size_B * (machines - 1) / machines;
      return {each, each};
    }
    case Collective::kAllGather:
    case Collective::kReduceScatter:
      // All that is received was sent by somebody: where machines are alike, each sends as much as it receives.
      if (even) return {size_B * elsewhere / ranks, size_B * elsewhere / ranks};
      if (collective == Collective::kReduceScatter) return {size_B * elsewhere / ranks, size_B * here / ranks};
      return {size_B * here / ranks, size_B * elsewhere / ranks};
    case Collective::kAlltoAll:
      return {size_B * here * elsewhere / ranks, size_B * here * elsewhere / ranks};
    case Collective::kBroadcast:
      return has_root ? MachineBytes{size_B, 0} : MachineBytes{0, size_B};
    case Collective::kReduce:
      return has_root ? MachineBytes{0, size_B} : MachineBytes{size_B, 0};
    case Collective::kGather:
      return has_root ? MachineBytes{0, size_B * elsewhere / ranks} : MachineBytes{size_B * here / ranks, 0};
    case Collective::kScatter:
      return has_root ? MachineBytes{size_B * elsewhere / ranks, 0} : MachineBytes{0, size_B * here / ranks};
    case Collective::kSendRecv:
    case Collective::kHypercube:
      return {};
  }
  return {};
}

}  // namespace

JobRoofline job_roofline(const JobGraph& graph, std::span<const nccl::RankPlace> places,
                         std::span<const double> machine_Bps) {
  JobRoofline roofline;
  std::vector<MachineBytes> bytes(machine_Bps.size());
  for (std::uint32_t rank = 0; rank < graph.ranks.size(); ++rank) {
    Time_ps compute_ps = 0;
    for (const JobNode& node : graph.program_of(rank).nodes) {
      if (node.kind == JobNodeKind::kCompute && !node.on_cpu) compute_ps += graph.duration_ps(rank, node);
      if (node.kind != JobNodeKind::kSend) continue;
      const std::uint32_t from = places[rank].machine, to = places[graph.ranks[rank].peers[node.target]].machine;
      if (from == to) continue;
      bytes[from].send_B += static_cast<double>(node.size_B);
      bytes[to].receive_B += static_cast<double>(node.size_B);
    }
    if (compute_ps > roofline.compute_ps) roofline.compute_ps = compute_ps, roofline.rank = rank;
  }
  for (std::uint32_t group = 0; group < graph.groups.size(); ++group) {
    const std::vector<std::uint32_t>& members = graph.groups[group].ranks;
    std::map<std::uint32_t, std::uint32_t> here;  // members by machine
    for (std::uint32_t rank : members) ++here[places[rank].machine];
    const bool even = std::all_of(here.begin(), here.end(),
                                  [&](const auto& machine) { return machine.second == here.begin()->second; });
    const auto& slots = graph.ranks[members.front()].groups;
    const auto slot = static_cast<std::uint32_t>(std::find(slots.begin(), slots.end(), group) - slots.begin());
    for (const JobNode& node : graph.program_of(members.front()).nodes) {
      if (node.kind != JobNodeKind::kCollective || node.target != slot) continue;
      const std::uint32_t root = places[members[node.root]].machine;
      for (const auto& [machine, count] : here) {
        const MachineBytes least =
            least_bytes(node.collective, static_cast<double>(node.size_B), static_cast<double>(members.size()), count,
                        static_cast<double>(here.size()), machine == root, even);
        bytes[machine].send_B += least.send_B;
        bytes[machine].receive_B += least.receive_B;
      }
    }
  }
  for (std::uint32_t machine = 0; machine < bytes.size(); ++machine) {
    if (machine_Bps[machine] <= 0) continue;
    const double most_B = std::max(bytes[machine].send_B, bytes[machine].receive_B);
    const auto network_ps = static_cast<Time_ps>(most_B / machine_Bps[machine] * 1e12);
    if (network_ps > roofline.network_ps) roofline.network_ps = network_ps, roofline.machine = machine;
  }
  return roofline;
}

double busbw_factor(Collective collective, std::size_t ranks) {
  const auto n = static_cast<double>(ranks);
  switch (collective) {
    case Collective::kAllReduce:
      return 2 * (n - 1) / n;
    case Collective::kAllGather:
    case Collective::kReduceScatter:
    case Collective::kAlltoAll:
    case Collective::kGather:
    case Collective::kScatter:
    case Collective::kHypercube:
      return (n - 1) / n;
    default:
      return 1;
  }
}

}  // namespace weft::workload
