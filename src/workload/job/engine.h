// A job's streams on the engine that runs collectives: a communicator for each group, one for each pair of ranks that
// send to each other.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "workload/collective/engine.h"
#include "workload/job/run.h"

namespace weft::workload {

class JobEngine final : public JobBackend {
 public:
  // Makes a communicator of these places.
  using MakeCommunicator =
      std::function<std::shared_ptr<const nccl::Communicator>(const std::vector<nccl::RankPlace>&)>;
  JobEngine(const JobOptions& options, CollectiveEngine& engine, const MakeCommunicator& make);

  bool can_start() const override { return engine_.unconnectable().empty(); }
  void start(Time_ps at_ps) override { engine_.start(at_ps); }
  void compute(const Item& item, Time_ps duration_ps) override;
  void collective(const Item& item, std::uint32_t group, const JobNode& node) override;
  void point_to_point(const Item& item, std::uint32_t peer, const JobNode& node) override;

 private:
  struct Membership {
    std::uint32_t communicator = 0, rank = 0;
  };
  const JobOptions& options_;
  CollectiveEngine& engine_;
  std::vector<std::uint32_t> communicators_;          // by group
  std::vector<std::vector<std::uint32_t>> own_rank_;  // by rank and slot: its rank in that communicator
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> pairs_;
};

// A collective of a group of so many members.
nccl::Operation job_operation(const JobNode& node, std::size_t members);
// A send or receive of `rank` in the communicator of the two, where the lower rank comes first.
nccl::Operation pair_operation(std::uint32_t rank, std::uint32_t peer, const JobNode& node);

// An operation of a communicator, and how often a step has it.
struct JobOperation {
  nccl::Operation operation;
  std::uint64_t times = 0;
};
// Different ones, in the order in which they come first.
std::vector<JobOperation> collectives_of(const JobGraph& graph, std::uint32_t group);
std::vector<JobOperation> sends_of(const JobGraph& graph, std::uint32_t rank, std::uint32_t peer);

}  // namespace weft::workload
