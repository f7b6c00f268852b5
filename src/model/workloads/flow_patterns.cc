#include "model/workloads/flow_patterns.h"

#include <algorithm>
#include <numeric>
#include <queue>

#include "base/check.h"
#include "base/random.h"

namespace weft::workload {

namespace {

Flow flow(std::uint32_t source, std::uint32_t destination, std::uint64_t size_B, Time_ps start_ps) {
  WEFT_CHECK(source != destination, "a flow needs two different endpoints");
  return {source, destination, size_B, start_ps};
}

}  // namespace

std::vector<Flow> point_to_point(std::span<const EndpointPair> pairs, std::uint64_t size_B) {
  return on_off(pairs, size_B, 0, 1);
}

std::vector<Flow> incast(std::span<const std::uint32_t> senders, std::uint32_t receiver, std::uint64_t size_B,
                         std::uint32_t rounds, Time_ps period_ps) {
  std::vector<EndpointPair> pairs;
  for (std::uint32_t sender : senders) pairs.emplace_back(sender, receiver);
  return on_off(pairs, size_B, period_ps, rounds);
}

// A random order is a derangement with a chance of 1/e; the first that is one is an even choice among them.
std::vector<Flow> permutation(std::uint32_t endpoints, std::uint64_t size_B, std::uint64_t seed) {
  WEFT_CHECK(endpoints > 1, "a permutation needs two endpoints");
  RandomStream random(seed, 0, RandomPurpose::kFlows);
  std::vector<std::uint32_t> to(endpoints);
  std::iota(to.begin(), to.end(), 0);
  bool to_itself = true;
  while (to_itself) {
    for (std::uint32_t i = endpoints - 1; i > 0; --i) std::swap(to[i], to[random.below(i + 1)]);
    to_itself = false;
    for (std::uint32_t i = 0; i < endpoints; ++i) to_itself = to_itself || to[i] == i;
  }
  std::vector<Flow> flows;
  for (std::uint32_t i = 0; i < endpoints; ++i) flows.push_back(flow(i, to[i], size_B, 0));
  return flows;
}

std::vector<Flow> all_to_all(std::uint32_t endpoints, std::uint64_t size_B) {
  std::vector<Flow> flows;
  flows.reserve(std::size_t{endpoints} * endpoints);
  for (std::uint32_t step = 1; step < endpoints; ++step) {
    for (std::uint32_t i = 0; i < endpoints; ++i) flows.push_back(flow(i, (i + step) % endpoints, size_B, 0));
  }
  return flows;
}

std::vector<Flow> on_off(std::span<const EndpointPair> pairs, std::uint64_t on_B, Time_ps period_ps,
                         std::uint32_t count) {
  std::vector<Flow> flows;
  flows.reserve(pairs.size() * count);
  for (std::uint32_t burst = 0; burst < count; ++burst) {
    for (const auto& [source, destination] : pairs) {
      flows.push_back(flow(source, destination, on_B, burst * period_ps));
    }
  }
  return flows;
}

std::vector<Flow> distribution(const DistributionPattern& pattern) {
  WEFT_CHECK(pattern.endpoints > 1 && pattern.load > 0 && pattern.rate_bps > 0,
             "a pattern needs endpoints, a load and a rate");
  WEFT_CHECK(pattern.duration_ps > 0 || pattern.flow_count > 0, "arrivals end");
  double bytes_per_s = static_cast<double>(pattern.rate_bps) / 8 * pattern.load;
  // A load of nearly nothing: gaps are at most an hour, and time does not overflow.
  constexpr double kLongest_ps = 3600e12;
  auto mean_gap_ps = static_cast<Time_ps>(std::min(mean_size_B(pattern.sizes) / bytes_per_s * 1e12, kLongest_ps));
  Time_ps end_ps = pattern.duration_ps > 0 ? pattern.duration_ps : kNever_ps;
  std::uint64_t most = pattern.flow_count > 0 ? pattern.flow_count : UINT64_MAX;

  using Arrival = std::pair<Time_ps, std::uint32_t>;  // the next of an endpoint
  std::priority_queue<Arrival, std::vector<Arrival>, std::greater<>> next;
  std::vector<RandomStream> random;
  for (std::uint32_t i = 0; i < pattern.endpoints; ++i) {
    // Owner 0 is the permutation's.
    random.emplace_back(pattern.seed, std::uint64_t{i} + 1, RandomPurpose::kFlows);
    next.emplace(draw_gap_ps(mean_gap_ps, random[i]), i);
  }
  std::vector<Flow> flows;
  while (flows.size() < most && next.top().first < end_ps) {
    auto [start_ps, source] = next.top();
    next.pop();
    auto other = static_cast<std::uint32_t>(random[source].below(pattern.endpoints - 1));
    std::uint64_t size_B = draw_size_B(pattern.sizes, random[source]);
    flows.push_back(flow(source, other < source ? other : other + 1, size_B, start_ps));
    Time_ps gap_ps = draw_gap_ps(mean_gap_ps, random[source]);
    next.emplace(gap_ps < kNever_ps - start_ps ? start_ps + gap_ps : kNever_ps, source);
  }
  return flows;
}

}  // namespace weft::workload
