#include "world/workloads/collective_roofline.h"

#include <algorithm>

#include "spec/job_result.h"
#include "workload/collective/nccl_run.h"
#include "workload/job/engine.h"
#include "workload/job/summary.h"
#include "world/workloads/nccl_setup.h"

namespace weft::lab {

std::vector<workload::Roofline> nccl_rooflines(const Lab& lab, const WorkloadConfig& config) {
  const auto& options = *config.as<workload::NcclOptions>();
  World world(lab, {});
  const NcclMachines machines = nccl_machines(lab, options.hosts);
  const nccl::Environment environment = nccl_environment(options).environment;
  auto communicator = std::make_shared<nccl::Communicator>(
      machines.cluster, nccl_ranks(lab, options.hosts, options.gpus_per_host), environment);
  if (!communicator->error().empty()) return {};
  workload::NcclRun run(options, collective_setup(world, config, machines, environment), std::move(communicator), {});
  return run.rooflines();
}

JobRooflines::JobRooflines(const Lab& lab, const WorkloadConfig& config)
    : options_(*config.as<workload::JobOptions>()),
      world_(lab, {}),
      machines_(nccl_machines(lab, options_.hosts)),
      engine_(collective_setup(world_, config, machines_, options_.nccl)) {}

JobRooflines::~JobRooflines() = default;

std::uint32_t JobRooflines::communicator_of(std::uint32_t group) {
  const auto known = communicators_.find(group);
  if (known != communicators_.end()) return known->second;
  std::vector<nccl::RankPlace> places;
  for (std::uint32_t rank : options_.graph->groups[group].ranks) places.push_back(options_.ranks[rank]);
  const std::uint32_t number = engine_.add_communicator(
      std::make_shared<const nccl::Communicator>(machines_.cluster, std::move(places), options_.nccl));
  return communicators_.emplace(group, number).first->second;
}

std::vector<workload::RooflineBound> JobRooflines::bounds(std::string_view name, std::string_view kind,
                                                          std::size_t members, std::uint64_t size_B) {
  const workload::JobGraph& graph = *options_.graph;
  engine_.clear_counts();
  const workload::JobNode* found = nullptr;
  for (std::uint32_t group = 0; group < graph.groups.size(); ++group) {
    const std::vector<std::uint32_t>& ranks = graph.groups[group].ranks;
    if (ranks.size() != members || workload::group_kind(graph.groups[group].name) != kind) continue;
    const auto& slots = graph.ranks[ranks.front()].groups;
    const auto slot = static_cast<std::uint32_t>(std::find(slots.begin(), slots.end(), group) - slots.begin());
    const std::vector<workload::JobNode>& nodes = graph.program_of(ranks.front()).nodes;
    const auto node = std::find_if(nodes.begin(), nodes.end(), [&](const workload::JobNode& each) {
      return each.kind == workload::JobNodeKind::kCollective && each.target == slot && each.size_B == size_B &&
             graph.names[each.name] == name;
    });
    if (node == nodes.end()) continue;
    found = &*node;
    const std::uint32_t number = communicator_of(group);
    if (!engine_.communicator(number).error().empty()) return {};
    const nccl::Operation operation = workload::job_operation(*node, members);
    engine_.prepare(number, operation);
    if (!engine_.unconnectable().empty()) return {};
    for (std::uint32_t rank = 0; rank < members; ++rank) engine_.count(number, rank, operation);
  }
  std::vector<workload::RooflineBound> out;
  if (found == nullptr) return out;
  const double bus_B = static_cast<double>(size_B) * workload::busbw_factor(found->collective, members);
  for (const workload::CollectiveBound& bound : engine_.bounds())
    out.push_back({bound.name, bound.where, bus_B * 1e12 / bound.busy_ps});
  return out;
}

}  // namespace weft::lab
