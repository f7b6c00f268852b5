// Traffic patterns: pure functions from a pattern's parameters to its flows, in order of start and, within one
// instant, in the order in which a source posts them. Endpoints are counted from 0. The lab reader checks what a user
// wrote; here a pattern that cannot be (a flow to itself, one endpoint that should talk to another) is a broken check.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "model/workloads/flow_sizes.h"
#include "spec/flow_options.h"

namespace weft::workload {

using EndpointPair = std::pair<std::uint32_t, std::uint32_t>;  // source, destination

// One flow for each pair, all at once.
std::vector<Flow> point_to_point(std::span<const EndpointPair> pairs, std::uint64_t size_B);

// Every sender to one receiver at the same moment, `rounds` times, one round every `period_ps`.
std::vector<Flow> incast(std::span<const std::uint32_t> senders, std::uint32_t receiver, std::uint64_t size_B,
                         std::uint32_t rounds = 1, Time_ps period_ps = 0);

// Every endpoint sends one flow and receives one: a derangement drawn evenly from all of them.
std::vector<Flow> permutation(std::uint32_t endpoints, std::uint64_t size_B, std::uint64_t seed);

// Every endpoint to every other. Endpoint i posts to i + 1, i + 2, … (mod n), so that no two begin with the same
// receiver.
std::vector<Flow> all_to_all(std::uint32_t endpoints, std::uint64_t size_B);

// Every pair sends a burst of `on_B` every `period_ps`, `count` times.
std::vector<Flow> on_off(std::span<const EndpointPair> pairs, std::uint64_t on_B, Time_ps period_ps,
                         std::uint32_t count);

// Poisson arrivals at every endpoint, sizes from a distribution, each flow to an even choice of the others: what HPCC's
// traffic generator does. An endpoint's arrivals depend on the seed and its index alone.
struct DistributionPattern {
  std::uint32_t endpoints = 0;
  std::span<const SizePoint> sizes;
  double load = 0;               // of each endpoint's link, payload bytes alone
  std::int64_t rate_bps = 0;     // of that link
  Time_ps duration_ps = 0;       // flows that start before this; 0: no limit
  std::uint64_t flow_count = 0;  // the first so many; 0: no limit. One of the two limits must be there.
  std::uint64_t seed = 0;
};
std::vector<Flow> distribution(const DistributionPattern& pattern);

}  // namespace weft::workload
