// What the ranks of a job do: for each rank a graph of compute, collectives, sends and receives, in which a node waits
// for others of its rank. Made by the generator (job_training.h) and by the readers of traces (job_chakra.h,
// job_simai.h); checked here; run by JobRun.
// Ranks that do the same share a program. What differs from rank to rank is behind numbers: a collective names a slot
// of the rank's list of groups, a send or receive a slot of its list of peers. On a rank, nodes of one stream are
// issued in the program's order: compute runs one at a time on the GPU, collectives of one group in the order of their
// communicator.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "spec/collective.h"

namespace weft::workload {

enum class JobNodeKind : std::uint8_t { kCompute, kCollective, kSend, kReceive };

struct JobNode {
  JobNodeKind kind = JobNodeKind::kCompute;
  bool on_cpu = false;  // compute beside the GPU
  nccl::Collective collective = nccl::Collective::kAllReduce;
  std::uint16_t layer = 0, micro_batch = 0;  // for the timeline, from 1 on; 0: none
  std::uint32_t target = 0;                  // slot of a group, or of a peer
  std::uint32_t root = 0;                    // of a collective that has one: place in its group
  std::uint32_t tag = 0;                     // of sends and receives
  std::uint32_t name = 0;                    // in JobGraph::names
  std::uint32_t first_before = 0, before_count = 0;
  std::uint64_t size_B = 0;  // of a collective as nccl-tests counts it
  Time_ps duration_ps = 0;   // of compute
};

struct JobProgram {
  std::vector<JobNode> nodes;
  std::vector<std::uint32_t> before;  // of all nodes, one after the other

  std::span<const std::uint32_t> before_of(std::uint32_t node) const {
    return std::span(before).subspan(nodes[node].first_before, nodes[node].before_count);
  }
  std::uint32_t add(JobNode node, std::span<const std::uint32_t> waits_for);
};

struct JobGroup {
  std::string name;
  std::vector<std::uint32_t> ranks;
};

struct JobRank {
  std::uint32_t program = 0;
  std::vector<std::uint32_t> groups;  // by slot, of JobGraph::groups
  std::vector<std::uint32_t> peers;   // by slot, ranks
  double compute_factor = 1;          // its compute takes so much longer than the program says
};

struct JobGraph {
  std::vector<JobProgram> programs;
  std::vector<JobGroup> groups;
  std::vector<JobRank> ranks;
  std::vector<std::string> names;

  const JobProgram& program_of(std::uint32_t rank) const { return programs[ranks[rank].program]; }
  std::uint32_t name_of(std::string_view name);  // added when it is new
  // "rank 3: all-reduce grad"
  std::string describe(std::uint32_t rank, std::uint32_t node) const;
  Time_ps duration_ps(std::uint32_t rank, const JobNode& node) const;

 private:
  std::vector<std::pair<std::string, std::uint32_t>> sorted_names_;
};

// The streams of a rank: the GPU, its CPU, one for each group, and two for each peer.
struct JobStreams {
  std::uint32_t groups = 0, peers = 0;

  explicit JobStreams(const JobRank& rank)
      : groups(static_cast<std::uint32_t>(rank.groups.size())), peers(static_cast<std::uint32_t>(rank.peers.size())) {}
  std::uint32_t count() const { return 2 + groups + 2 * peers; }
  std::uint32_t of(const JobNode& node) const;
};

// "all-reduce"
std::string_view collective_name(nccl::Collective collective);
// "data" of "data12": what groups of one kind have in common.
std::string group_kind(std::string_view name);

}  // namespace weft::workload
