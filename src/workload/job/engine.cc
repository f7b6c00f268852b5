#include "workload/job/engine.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace weft::workload {

namespace {

std::size_t slot_of(const JobRank& rank, std::uint32_t group) {
  return static_cast<std::size_t>(std::find(rank.groups.begin(), rank.groups.end(), group) - rank.groups.begin());
}

void count(const nccl::Operation& operation, std::vector<JobOperation>& operations) {
  const auto is_same = [&](const JobOperation& each) {
    return each.operation.collective == operation.collective && each.operation.count == operation.count &&
           each.operation.root == operation.root;
  };
  const auto found = std::find_if(operations.begin(), operations.end(), is_same);
  if (found == operations.end()) {
    operations.push_back({operation, 1});
  } else {
    ++found->times;
  }
}

}  // namespace

// What the last of its members issues, all do.
std::vector<JobOperation> collectives_of(const JobGraph& graph, std::uint32_t group) {
  const std::vector<std::uint32_t>& members = graph.groups[group].ranks;
  const std::size_t slot = slot_of(graph.ranks[members.back()], group);
  std::vector<JobOperation> operations;
  for (const JobNode& node : graph.program_of(members.back()).nodes) {
    if (node.kind == JobNodeKind::kCollective && node.target == slot)
      count(job_operation(node, members.size()), operations);
  }
  return operations;
}

std::vector<JobOperation> sends_of(const JobGraph& graph, std::uint32_t rank, std::uint32_t peer) {
  std::vector<JobOperation> operations;
  for (const JobNode& node : graph.program_of(rank).nodes) {
    if (node.kind == JobNodeKind::kSend && graph.ranks[rank].peers[node.target] == peer)
      count(pair_operation(rank, peer, node), operations);
  }
  return operations;
}

JobEngine::JobEngine(const JobOptions& options, CollectiveEngine& engine, const MakeCommunicator& make)
    : options_(options), engine_(engine) {
  const JobGraph& graph = *options.graph;
  own_rank_.resize(graph.ranks.size());
  for (std::uint32_t rank = 0; rank < graph.ranks.size(); ++rank)
    own_rank_[rank].resize(graph.ranks[rank].groups.size());
  for (std::uint32_t group = 0; group < graph.groups.size(); ++group) {
    const std::vector<std::uint32_t>& members = graph.groups[group].ranks;
    std::vector<nccl::RankPlace> places;
    for (std::uint32_t rank : members) places.push_back(options.ranks[rank]);
    const std::uint32_t number = engine.add_communicator(make(places));
    communicators_.push_back(number);
    for (std::uint32_t i = 0; i < members.size(); ++i) {
      const std::size_t slot = slot_of(graph.ranks[members[i]], group);
      if (slot < graph.ranks[members[i]].groups.size()) own_rank_[members[i]][slot] = i;
    }
    for (const JobOperation& each : collectives_of(graph, group)) engine.prepare(number, each.operation);
  }
  for (std::uint32_t rank = 0; rank < graph.ranks.size(); ++rank) {
    for (std::uint32_t peer : graph.ranks[rank].peers) {
      const auto pair = std::minmax(rank, peer);
      if (pairs_.contains(pair)) continue;
      const std::uint32_t number =
          engine.add_communicator(make({options.ranks[pair.first], options.ranks[pair.second]}));
      pairs_.emplace(pair, number);
    }
  }
  // Both ends of each size that is sent; a send in either direction makes its own connection.
  std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>> prepared;
  for (std::uint32_t rank = 0; rank < graph.ranks.size(); ++rank) {
    for (const JobNode& node : graph.program_of(rank).nodes) {
      if (node.kind != JobNodeKind::kSend && node.kind != JobNodeKind::kReceive) continue;
      const std::uint32_t peer = graph.ranks[rank].peers[node.target];
      const bool sends = node.kind == JobNodeKind::kSend;
      if (!prepared.emplace(rank, sends ? peer : peer + 0x80000000, node.size_B).second) continue;
      engine.prepare(pairs_.at(std::minmax(rank, peer)), pair_operation(rank, peer, node), rank < peer ? 0 : 1);
    }
  }
}

nccl::Operation job_operation(const JobNode& node, std::size_t members) {
  nccl::Operation operation;
  operation.collective = node.collective;
  operation.element_B = 1;
  operation.root = node.root;
  operation.in_place = true;
  operation.count = 1;
  // A size that is not a multiple of the ranks is rounded up, as frameworks pad their buffers.
  const std::uint64_t parts = nccl::size_of(operation, members);
  operation.count = (node.size_B + parts - 1) / parts;
  return operation;
}

nccl::Operation pair_operation(std::uint32_t rank, std::uint32_t peer, const JobNode& node) {
  nccl::Operation operation;
  operation.collective = nccl::Collective::kSendRecv;
  operation.element_B = 1;
  operation.count = node.size_B;
  const std::int32_t other = rank < peer ? 1 : 0;
  (node.kind == JobNodeKind::kSend ? operation.send_to : operation.receive_from) = other;
  return operation;
}

void JobEngine::compute(const Item& item, Time_ps duration_ps) {
  const nccl::RankPlace& place = options_.ranks[item.rank];
  engine_.compute({place.machine, place.gpu, item.stream}, duration_ps, item.earliest_ps, item.tag, item.on_cpu);
}

void JobEngine::collective(const Item& item, std::uint32_t group, const JobNode& node) {
  engine_.enqueue(communicators_[group], own_rank_[item.rank][node.target],
                  job_operation(node, options_.graph->groups[group].ranks.size()), item.earliest_ps, item.tag,
                  item.stream);
}

void JobEngine::point_to_point(const Item& item, std::uint32_t peer, const JobNode& node) {
  engine_.enqueue(pairs_.at(std::minmax(item.rank, peer)), item.rank < peer ? 0 : 1,
                  pair_operation(item.rank, peer, node), item.earliest_ps, item.tag, item.stream);
}

}  // namespace weft::workload
