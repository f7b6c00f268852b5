// Chakra traces of all ranks -> the graph of the job.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <unordered_map>

#include "model/workloads/job_chakra.h"

namespace weft::workload {
namespace {

using nccl::Collective;

// CollectiveCommType. A barrier is an all-reduce of one element, as in PyTorch's NCCL process group.
std::optional<Collective> collective_of(std::int64_t type) {
  constexpr Collective kTypes[] = {Collective::kAllReduce, Collective::kReduce,        Collective::kAllGather,
                                   Collective::kGather,    Collective::kScatter,       Collective::kBroadcast,
                                   Collective::kAlltoAll,  Collective::kReduceScatter, Collective::kReduceScatter,
                                   Collective::kAllReduce};
  if (type < 0 || type >= static_cast<std::int64_t>(std::size(kTypes))) return std::nullopt;
  return kTypes[type];
}
constexpr std::int64_t kChakraBarrier = 9;
constexpr std::uint64_t kMostJobBytes = std::uint64_t{1} << 40;

class ChakraJob {
 public:
  ChakraJob(std::span<const ChakraTrace> traces, std::span<const ChakraGroup> groups, double flops_per_s)
      : traces_(traces), flops_per_s_(flops_per_s) {
    for (const ChakraGroup& group : groups) add_group(group.name, group.ranks);
  }

  tl::expected<JobGraph, ChakraProblem> make() {
    const auto ranks = static_cast<std::uint32_t>(traces_.size());
    graph_.ranks.resize(ranks);
    for (std::uint32_t rank = 0; rank < ranks && !problem_; ++rank) find_groups(rank);
    for (auto& [name, members] : found_) {
      if (!group_numbers_.contains(name)) add_group(name.empty() ? "all" : name, members, name);
    }
    for (std::uint32_t rank = 0; rank < ranks && !problem_; ++rank) make_rank(rank);
    if (problem_) return tl::unexpected(std::move(*problem_));
    return std::move(graph_);
  }

 private:
  void add_group(const std::string& name, std::vector<std::uint32_t> ranks, const std::string& key) {
    group_numbers_.emplace(key, static_cast<std::uint32_t>(graph_.groups.size()));
    graph_.groups.push_back({name, std::move(ranks)});
  }
  void add_group(const std::string& name, std::vector<std::uint32_t> ranks) { add_group(name, std::move(ranks), name); }

  void problem(std::uint32_t rank, const ChakraNode& node, std::string message, std::string remedy) {
    if (!problem_)
      problem_ = {rank, node.offset_B, fmt::format("node {} ({}): {}", node.id, node.name, message), std::move(remedy)};
  }

  void find_groups(std::uint32_t rank) {
    for (const ChakraNode& node : traces_[rank].nodes) {
      if (node.type != ChakraType::kCollective) continue;
      std::vector<std::uint32_t>& members = found_[node.group];
      if (node.group.empty() && members.empty()) {
        for (std::uint32_t each = 0; each < traces_.size(); ++each) members.push_back(each);
      }
      if (!node.group.empty() && (members.empty() || members.back() != rank)) members.push_back(rank);
    }
  }

  std::uint32_t slot(std::vector<std::uint32_t>& list, std::uint32_t value) {
    const auto found = std::find(list.begin(), list.end(), value);
    if (found != list.end()) return static_cast<std::uint32_t>(found - list.begin());
    list.push_back(value);
    return static_cast<std::uint32_t>(list.size() - 1);
  }

  void make_rank(std::uint32_t rank) {
    const std::vector<ChakraNode>& nodes = traces_[rank].nodes;
    std::unordered_map<std::uint64_t, std::uint32_t> numbers;
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
      if (!numbers.emplace(nodes[i].id, i).second)
        return problem(rank, nodes[i], "its id is used twice", "give each node an id of its own");
    }
    JobProgram program;
    std::vector<std::uint32_t> before;
    for (const ChakraNode& node : nodes) {
      before.clear();
      for (std::uint64_t id : node.before) {
        const auto found = numbers.find(id);
        if (found == numbers.end())
          return problem(rank, node, fmt::format("it waits for node {}, which is not in the trace", id),
                         "a trace has every node that others wait for");
        before.push_back(found->second);
      }
      std::sort(before.begin(), before.end());
      before.erase(std::unique(before.begin(), before.end()), before.end());
      program.add(make_node(rank, node), before);
      if (problem_) return;
    }
    share(rank, std::move(program));
  }

  JobNode make_node(std::uint32_t rank, const ChakraNode& node) {
    JobNode made;
    made.name = graph_.name_of(node.name.empty() ? "node" : node.name);
    if (node.size_B > kMostJobBytes) problem(rank, node, fmt::format("comm_size {}", node.size_B), "at most 1 TiB");
    made.size_B = node.size_B;
    switch (node.type) {
      case ChakraType::kSend:
      case ChakraType::kReceive:
        make_pair(rank, node, made);
        break;
      case ChakraType::kCollective:
        make_collective(rank, node, made);
        break;
      default:
        make_compute(rank, node, made);
    }
    return made;
  }

  void make_compute(std::uint32_t rank, const ChakraNode& node, JobNode& made) {
    // What loads and stores memory, and what is only there to be waited for, does not hold up the GPU.
    made.on_cpu = node.on_cpu || node.type != ChakraType::kCompute;
    constexpr std::uint64_t kLongest_us = 86'400'000'000;
    if (node.duration_us > kLongest_us)
      problem(rank, node, fmt::format("it takes {} us", node.duration_us), "at most a day");
    made.duration_ps = static_cast<Time_ps>(std::min(node.duration_us, kLongest_us)) * kMicrosecond_ps;
    if (node.duration_us > 0 || node.operations == 0 || node.type != ChakraType::kCompute) return;
    if (flops_per_s_ <= 0)
      return problem(rank, node, "it has num_ops and no duration", "write tflops: 400, the rate of the GPUs");
    const double seconds = static_cast<double>(node.operations) / flops_per_s_;
    if (seconds > 86'400) return problem(rank, node, fmt::format("it takes {:.0f} s", seconds), "at most a day");
    made.duration_ps = static_cast<Time_ps>(std::llround(seconds * 1e12));
  }

  void make_pair(std::uint32_t rank, const ChakraNode& node, JobNode& made) {
    const bool sends = node.type == ChakraType::kSend;
    made.kind = sends ? JobNodeKind::kSend : JobNodeKind::kReceive;
    const std::int64_t peer = sends ? node.destination : node.source;
    if (peer < 0 || peer >= static_cast<std::int64_t>(traces_.size()) || peer == rank)
      return problem(rank, node, fmt::format("its {} is rank {}", sends ? "comm_dst" : "comm_src", peer),
                     fmt::format("another rank of the {} that there are", traces_.size()));
    if (node.size_B == 0) return problem(rank, node, "its comm_size is 0", "a message has at least one byte");
    made.target = slot(graph_.ranks[rank].peers, static_cast<std::uint32_t>(peer));
    made.tag = static_cast<std::uint32_t>(node.tag);
  }

  void make_collective(std::uint32_t rank, const ChakraNode& node, JobNode& made) {
    made.kind = JobNodeKind::kCollective;
    const auto collective = collective_of(node.collective);
    if (!collective)
      return problem(rank, node, fmt::format("its comm_type is {}", node.collective), "0 (all-reduce) to 9 (barrier)");
    made.collective = *collective;
    const std::uint32_t number = group_numbers_.at(node.group);
    const std::vector<std::uint32_t>& members = graph_.groups[number].ranks;
    if (std::find(members.begin(), members.end(), rank) == members.end())
      return problem(rank, node, fmt::format("rank {} is not in its group {}", rank, node.group),
                     "add the rank to the group in the lab");
    made.target = slot(graph_.ranks[rank].groups, number);
    if (node.collective == kChakraBarrier) made.size_B = 4;
    if (made.size_B == 0) return problem(rank, node, "its comm_size is 0", "a collective has at least one byte");
    // Chakra counts what a rank gives to an all-gather; nccl-tests what it ends up with.
    if (*collective == Collective::kAllGather) made.size_B *= members.size();
    if (node.root < 0 || node.root >= static_cast<std::int64_t>(members.size()))
      return problem(rank, node, fmt::format("its root_rank is {}", node.root), "a place in its group");
    made.root = static_cast<std::uint32_t>(node.root);
  }

  // Ranks whose programs are the same share one.
  void share(std::uint32_t rank, JobProgram program) {
    std::uint64_t hash = program.nodes.size();
    for (const JobNode& node : program.nodes)
      hash = (hash ^ node.size_B ^ static_cast<std::uint64_t>(node.duration_ps) << 20 ^ node.name) * 0x9e3779b97f4a7c15;
    for (std::uint32_t number : by_hash_[hash]) {
      if (same(graph_.programs[number], program)) {
        graph_.ranks[rank].program = number;
        return;
      }
    }
    const auto number = static_cast<std::uint32_t>(graph_.programs.size());
    by_hash_[hash].push_back(number);
    graph_.ranks[rank].program = number;
    graph_.programs.push_back(std::move(program));
  }
  static bool same(const JobProgram& a, const JobProgram& b) {
    return a.before == b.before &&
           std::equal(
               a.nodes.begin(), a.nodes.end(), b.nodes.begin(), b.nodes.end(), [](const JobNode& x, const JobNode& y) {
                 return x.kind == y.kind && x.on_cpu == y.on_cpu && x.collective == y.collective &&
                        x.target == y.target && x.root == y.root && x.tag == y.tag && x.name == y.name &&
                        x.before_count == y.before_count && x.size_B == y.size_B && x.duration_ps == y.duration_ps;
               });
  }

  std::span<const ChakraTrace> traces_;
  double flops_per_s_;
  JobGraph graph_;
  std::map<std::string, std::uint32_t> group_numbers_;       // by pg_name
  std::map<std::string, std::vector<std::uint32_t>> found_;  // who names which group
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> by_hash_;
  std::optional<ChakraProblem> problem_;
};

}  // namespace

tl::expected<JobGraph, ChakraProblem> make_chakra_job(std::span<const ChakraTrace> traces,
                                                      std::span<const ChakraGroup> groups, double flops_per_s) {
  return ChakraJob(traces, groups, flops_per_s).make();
}

}  // namespace weft::workload
