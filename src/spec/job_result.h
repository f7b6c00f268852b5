// What a job measured. Times are from its start.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/time.h"
#include "spec/collective_use.h"
#include "spec/job_options.h"

namespace weft::workload {

// One node of one rank in one step; kNever_ps: it did not come to that.
struct JobSpan {
  Time_ps ready_ps = kNever_ps;  // what it waits for on its rank had ended
  Time_ps start_ps = kNever_ps;  // its kernel
  Time_ps end_ps = kNever_ps;
};
// By rank: the nodes of its program, step after step.
struct JobTimes {
  std::vector<std::vector<JobSpan>> ranks;
};

// What communicates alike: one row for all collectives of a name, size and kind of group.
struct JobTraffic {
  std::string name;  // "tensor all-reduce"
  std::string kind;  // of its groups: "tensor"
  std::string what;  // "all-reduce"
  std::uint64_t size_B = 0;
  std::uint32_t ranks = 0;         // in each group
  std::uint64_t count = 0;         // that ended, over all groups and steps
  double mean_us = 0, max_us = 0;  // from the last rank's start to the last rank's end
  double busbw_Bps = 0;            // of the mean time
  double min_busbw_Bps = 0;        // of the slowest one
  std::string slowest;             // its group
};

struct JobStraggler {
  std::string what;    // "rank 5 (h0 GPU 5)", "group data3"
  std::string reason;  // "its compute takes 20 % longer than that of others"
  double lost_us = 0;  // in a step
};

struct JobRankTime {
  Time_ps compute_ps = 0;  // its GPU computes
  Time_ps slowed_ps = 0;   // of it: because blocks of collectives had SMs
  Time_ps exposed_ps = 0;  // it does not, and a collective or a send of it runs
  Time_ps receive_ps = 0;  // neither, and it waits for a receive
  Time_ps late_ps = 0;     // others waited for it in collectives, together
  std::uint32_t steps = 0;
};

struct JobOutcome {
  using Options = JobOptions;

  std::vector<Time_ps> step_ps;       // of steps that all ranks ended
  Time_ps jct_ps = 0;                 // of all of them; 0: not finished
  Time_ps roofline_ps = 0;            // of all steps: the larger of compute and of bytes over line rate
  bool network_bound = false;         // the roofline is that of the network
  std::string roofline_of;            // "rank 0", "h3"
  std::vector<std::string> machines;  // names of the hosts
  std::vector<JobRankTime> ranks;
  std::vector<JobTraffic> traffic;
  std::vector<JobStraggler> stragglers;
  std::uint64_t unfinished = 0;  // ranks
  std::string failure;
  CollectiveUse use;
  std::shared_ptr<const JobTimes> times;

  double mean_step_us() const;
  double exposed_share() const;  // of the time of all ranks
  double compute_share() const;
  double slowed_share() const;    // what compute took longer, of what it takes alone
  double roofline_ratio() const;  // 0: not finished
};

struct JobRoofline {
  Time_ps compute_ps = 0, network_ps = 0;  // of a step
  std::uint32_t rank = 0, machine = 0;     // whose they are
};

}  // namespace weft::workload
