#include "world/workloads/nccl_traffic.h"

#include <memory>

#include "workload/collective/engine.h"
#include "workload/collective/nccl_rows.h"
#include "workload/job/engine.h"

namespace weft::lab {

// The receiver of each message has told its sender before that there is room.
void add_net_messages(const nccl::NetMessages& messages, const NcclMachines& machines, CaptureTraffic& traffic) {
  for (const auto& [message, count] : messages.counts()) {
    const PortRef& from = machines.ports[message.from_machine][message.from_nic];
    const PortRef& to = machines.ports[message.to_machine][message.to_nic];
    const auto times = static_cast<double>(count);
    if (message.socket) {
      traffic.add_stream(from, to, times * static_cast<double>(message.size_B), 0);
      continue;
    }
    traffic.add_messages(from, to, times, message.size_B, 0, true);
    traffic.add_messages(to, from, times, workload::kCollectiveOffer_B, 0, true);
  }
}

void add_traffic(const workload::NcclOptions& options, const WorkloadConfig& /*config*/, CaptureTraffic& traffic) {
  const Lab& lab = traffic.lab();
  const NcclMachines machines = nccl_machines(lab, options.hosts);
  const auto communicator = std::make_shared<const nccl::Communicator>(
      machines.cluster, nccl_ranks(lab, options.hosts, options.gpus_per_host), nccl_environment(options).environment);
  if (!communicator->error().empty()) return traffic.add_unknown();
  const workload::NcclRows rows(options, communicator);
  nccl::NetMessages messages;
  for (const workload::NcclRows::Phase& phase : rows.phases()) {
    for (std::uint32_t rank = 0; rank < communicator->ranks().size(); ++rank) {
      nccl::Operation operation = rows.operation_of(rows.all()[phase.row], phase.in_place, rank);
      for (operation.step = 0; operation.step < rows.kernels_of_iteration(); ++operation.step)
        messages.add(*communicator, rank, operation, phase.iterations);
    }
  }
  add_net_messages(messages, machines, traffic);
}

void add_traffic(const workload::JobOptions& options, const WorkloadConfig& /*config*/, CaptureTraffic& traffic) {
  const NcclMachines machines = nccl_machines(traffic.lab(), options.hosts);
  const workload::JobGraph& graph = *options.graph;
  const auto communicator_of = [&](const std::vector<std::uint32_t>& ranks) {
    std::vector<nccl::RankPlace> places;
    for (const std::uint32_t rank : ranks) places.push_back(options.ranks[rank]);
    return nccl::Communicator(machines.cluster, places, options.nccl);
  };
  nccl::NetMessages messages;
  for (std::uint32_t group = 0; group < graph.groups.size(); ++group) {
    const nccl::Communicator communicator = communicator_of(graph.groups[group].ranks);
    for (const workload::JobOperation& each : workload::collectives_of(graph, group)) {
      for (std::uint32_t rank = 0; rank < graph.groups[group].ranks.size(); ++rank)
        messages.add(communicator, rank, each.operation, each.times * options.steps);
    }
  }
  for (std::uint32_t rank = 0; rank < graph.ranks.size(); ++rank) {
    for (const std::uint32_t peer : graph.ranks[rank].peers) {
      const nccl::Communicator communicator = communicator_of({std::min(rank, peer), std::max(rank, peer)});
      for (const workload::JobOperation& each : workload::sends_of(graph, rank, peer))
        messages.add(communicator, rank < peer ? 0 : 1, each.operation, each.times * options.steps);
    }
  }
  add_net_messages(messages, machines, traffic);
}

}  // namespace weft::lab
