// The outcome of a job, from the times of its ranks.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "spec/job_result.h"

namespace weft::workload {

// What no fabric can beat: the compute of the busiest rank, and what a host must send or receive at least, at the rate
// of all its ports together (in B/s, by machine). Inside a host data moves for nothing.
JobRoofline job_roofline(const JobGraph& graph, std::span<const nccl::RankPlace> places,
                         std::span<const double> machine_Bps);
// The factor of nccl-tests from algorithm to bus bandwidth.
double busbw_factor(nccl::Collective collective, std::size_t ranks);

// Everything but the stragglers whose reason is in the network.
JobOutcome summarise_job(const JobOptions& options, std::shared_ptr<const JobTimes> times,
                         std::span<const double> machine_Bps, std::span<const std::string> machine_names);

}  // namespace weft::workload
