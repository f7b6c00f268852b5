// Runs a job: issues each rank's nodes when what they wait for has ended and their streams have come to them, step
// after step, and writes down when they ran. What runs them is behind JobBackend: CollectiveEngine in a world. A rank's
// state changes only on the machine that it is on; ranks meet by what they communicate.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "spec/job_options.h"
#include "spec/job_result.h"
#include "workload/workload.h"

namespace weft::workload {

// Runs single items on the streams of ranks, those of one stream one after the other.
class JobBackend {
 public:
  struct Item {
    std::uint32_t rank = 0;
    std::uint32_t stream = 0;
    Time_ps earliest_ps = 0;
    std::uint64_t tag = 0;  // for JobRun::ended()
    bool on_cpu = false;    // of compute: no SM of the GPU is used
  };
  virtual ~JobBackend() = default;
  // False where connections cannot be made: nothing is started then.
  virtual bool can_start() const { return true; }
  virtual void start(Time_ps at_ps) = 0;
  virtual void compute(const Item& item, Time_ps duration_ps) = 0;
  virtual void collective(const Item& item, std::uint32_t group, const JobNode& node) = 0;
  // A send to that rank, or a receive from it.
  virtual void point_to_point(const Item& item, std::uint32_t peer, const JobNode& node) = 0;
};

class JobRun final : public Workload {
 public:
  JobRun(const JobOptions& options, JobBackend& backend);

  bool start_phase(Time_ps at_ps) override;
  void finish_phase(bool) override {}
  bool is_finished() const override;
  // From the backend: an item has run, and ends now.
  void ended(std::uint64_t tag, Time_ps start_ps, Time_ps end_ps);
  // From its start; what never ran stays at kNever_ps.
  std::shared_ptr<const JobTimes> times() const;

 private:
  // What all ranks of a program share.
  struct Plan {
    std::vector<std::uint32_t> stream_first, stream_nodes;  // by stream
    std::vector<std::uint32_t> after_first, after;          // who waits for a node
  };
  struct RankState {
    std::vector<std::uint32_t> left;  // by node: what it still waits for
    std::vector<std::uint32_t> next;  // by stream, in Plan::stream_nodes
    std::uint32_t nodes_left = 0;     // of this step
    std::uint32_t step = 0;
  };

  static Plan plan(const JobProgram& program, const JobStreams& streams);
  void begin_step(std::uint32_t rank, Time_ps now_ps);
  void issue(std::uint32_t rank, Time_ps now_ps);
  void end_node(std::uint32_t rank, std::uint32_t node, Time_ps start_ps, Time_ps end_ps);
  JobSpan& span(std::uint32_t rank, std::uint32_t node) {
    return times_->ranks[rank][std::size_t{ranks_[rank].step} * graph_.program_of(rank).nodes.size() + node];
  }

  const JobOptions& options_;
  const JobGraph& graph_;
  JobBackend& backend_;
  std::vector<Plan> plans_;  // by program
  std::vector<RankState> ranks_;
  std::shared_ptr<JobTimes> times_;
  Time_ps started_ps_ = 0;
  bool started_ = false;
};

}  // namespace weft::workload
