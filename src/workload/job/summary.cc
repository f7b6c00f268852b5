// When nodes ran -> what a job measured.
#include "workload/job/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/figures.h"
#include "workload/flow/stats.h"

namespace weft::workload {
namespace {

using Interval = std::pair<Time_ps, Time_ps>;

// Sorted, and none touches another.
std::vector<Interval> merged(std::vector<Interval> list) {
  std::sort(list.begin(), list.end());
  std::vector<Interval> out;
  for (const Interval& each : list) {
    if (each.first >= each.second) continue;
    if (!out.empty() && each.first <= out.back().second) {
      out.back().second = std::max(out.back().second, each.second);
    } else {
      out.push_back(each);
    }
  }
  return out;
}
Time_ps length(const std::vector<Interval>& list) {
  Time_ps sum = 0;
  for (const Interval& each : list) sum += each.second - each.first;
  return sum;
}
std::vector<Interval> joined(const std::vector<Interval>& a, const std::vector<Interval>& b) {
  std::vector<Interval> all = a;
  all.insert(all.end(), b.begin(), b.end());
  return merged(std::move(all));
}

// One collective: what its ranks did together.
struct Instance {
  Time_ps last_start_ps = 0, before_last_ps = 0, end_ps = 0;
  std::uint32_t last_rank = 0;
  std::uint32_t ended = 0;  // ranks
  const JobNode* node = nullptr;
};

class JobSummary {
 public:
  JobSummary(const JobOptions& options, const JobTimes& times, JobOutcome& outcome)
      : options_(options), graph_(*options.graph), times_(times), outcome_(outcome) {}

  void ranks() {
    outcome_.ranks.resize(graph_.ranks.size());
    std::vector<Time_ps> ends(options_.steps);
    std::uint32_t steps = options_.steps;
    for (std::uint32_t rank = 0; rank < graph_.ranks.size(); ++rank) {
      JobRankTime& own = outcome_.ranks[rank];
      const std::vector<JobNode>& nodes = graph_.program_of(rank).nodes;
      for (std::uint32_t step = 0; step < options_.steps; ++step) {
        Time_ps end_ps = 0;
        bool done = true;
        for (std::size_t node = 0; node < nodes.size(); ++node) {
          const JobSpan& span = times_.ranks[rank][step * nodes.size() + node];
          done = done && span.end_ps != kNever_ps;
          if (done) end_ps = std::max(end_ps, span.end_ps);
        }
        if (!done) break;
        ++own.steps;
        ends[step] = std::max(ends[step], end_ps);
      }
      steps = std::min(steps, own.steps);
      outcome_.unfinished += own.steps < options_.steps ? 1 : 0;
      busy(rank);
    }
    for (std::uint32_t step = 0; step < steps; ++step)
      outcome_.step_ps.push_back(ends[step] - (step > 0 ? ends[step - 1] : 0));
    if (steps == options_.steps && steps > 0) outcome_.jct_ps = ends.back();
  }

  void traffic() {
    for (std::uint32_t group = 0; group < graph_.groups.size(); ++group) add_group(group);
    for (auto& [key, sum] : sums_) finish_row(std::get<1>(key), sum);
    slow_groups();
    slow_ranks();
  }

 private:
  struct RowSum {
    const JobNode* node = nullptr;
    std::size_t ranks = 0;
    std::uint64_t count = 0;
    Time_ps total_ps = 0, max_ps = 0;
    std::uint32_t slowest = 0;
    // By group, for comparing them.
    std::map<std::uint32_t, std::pair<Time_ps, std::uint64_t>> groups;
  };
  using RowKey = std::tuple<std::uint32_t, std::string, std::uint64_t, std::size_t>;  // name, kind, size, ranks

  void busy(std::uint32_t rank) {
    std::vector<Interval> compute, talk, receive;
    const std::vector<JobNode>& nodes = graph_.program_of(rank).nodes;
    for (std::size_t i = 0; i < times_.ranks[rank].size(); ++i) {
      const JobSpan& span = times_.ranks[rank][i];
      if (span.end_ps == kNever_ps) continue;
      const JobNode& node = nodes[i % nodes.size()];
      if (node.kind == JobNodeKind::kCompute) {
        if (node.on_cpu) continue;
        compute.emplace_back(span.start_ps, span.end_ps);
        outcome_.ranks[rank].slowed_ps += span.end_ps - span.start_ps - graph_.duration_ps(rank, node);
      } else {
        (node.kind == JobNodeKind::kReceive ? receive : talk).emplace_back(span.start_ps, span.end_ps);
      }
    }
    JobRankTime& own = outcome_.ranks[rank];
    compute = merged(std::move(compute));
    own.compute_ps = length(compute);
    const std::vector<Interval> with_talk = joined(compute, talk);
    own.exposed_ps = length(with_talk) - own.compute_ps;
    own.receive_ps = length(joined(with_talk, receive)) - length(with_talk);
  }

  void add_group(std::uint32_t group) {
    const std::vector<std::uint32_t>& members = graph_.groups[group].ranks;
    if (members.size() < 2) return;
    std::vector<Instance> instances;
    for (std::uint32_t rank : members) {
      const auto& slots = graph_.ranks[rank].groups;
      const auto slot = static_cast<std::uint32_t>(std::find(slots.begin(), slots.end(), group) - slots.begin());
      const std::vector<JobNode>& nodes = graph_.program_of(rank).nodes;
      std::size_t number = 0;
      for (std::size_t i = 0; i < times_.ranks[rank].size(); ++i) {
        const JobNode& node = nodes[i % nodes.size()];
        if (node.kind != JobNodeKind::kCollective || node.target != slot) continue;
        if (number == instances.size()) instances.emplace_back();
        Instance& instance = instances[number++];
        const JobSpan& span = times_.ranks[rank][i];
        if (span.end_ps == kNever_ps) continue;
        instance.node = &node;
        ++instance.ended;
        instance.end_ps = std::max(instance.end_ps, span.end_ps);
        if (instance.ended == 1 || span.start_ps > instance.last_start_ps) {
          if (instance.ended > 1) instance.before_last_ps = instance.last_start_ps;
          instance.last_start_ps = span.start_ps;
          instance.last_rank = rank;
        } else {
          instance.before_last_ps = std::max(instance.before_last_ps, span.start_ps);
        }
      }
    }
    for (const Instance& each : instances) {
      if (each.ended < members.size()) continue;
      outcome_.ranks[each.last_rank].late_ps += each.last_start_ps - each.before_last_ps;
      RowSum& sum = sums_[{each.node->name, group_kind(graph_.groups[group].name), each.node->size_B, members.size()}];
      const Time_ps took_ps = each.end_ps - each.last_start_ps;
      sum.node = each.node;
      sum.ranks = members.size();
      ++sum.count;
      sum.total_ps += took_ps;
      if (took_ps > sum.max_ps) sum.max_ps = took_ps, sum.slowest = group;
      auto& [total_ps, count] = sum.groups[group];
      total_ps += took_ps;
      ++count;
    }
  }

  void finish_row(const std::string& kind, const RowSum& sum) {
    JobTraffic row;
    row.name = graph_.names[sum.node->name];
    row.kind = kind;
    row.what = collective_name(sum.node->collective);
    row.size_B = sum.node->size_B;
    row.ranks = static_cast<std::uint32_t>(sum.ranks);
    row.count = sum.count;
    const double mean_ps = static_cast<double>(sum.total_ps) / static_cast<double>(sum.count);
    row.mean_us = mean_ps / 1e6;
    row.max_us = static_cast<double>(sum.max_ps) / 1e6;
    const double bus_B = static_cast<double>(row.size_B) * busbw_factor(sum.node->collective, sum.ranks);
    if (mean_ps > 0) row.busbw_Bps = bus_B * 1e12 / mean_ps;
    if (sum.max_ps > 0) row.min_busbw_Bps = bus_B * 1e12 / static_cast<double>(sum.max_ps);
    row.slowest = graph_.groups[sum.slowest].name;
    outcome_.traffic.push_back(std::move(row));
  }

  // Groups whose collectives take longer than those of most others of their kind.
  void slow_groups() {
    constexpr double kSlow = 1.15;
    std::map<std::uint32_t, double> lost_us;
    std::map<std::uint32_t, double> worst;
    for (const auto& [key, sum] : sums_) {
      if (sum.groups.size() < 3) continue;
      std::vector<double> means;
      for (const auto& [group, own] : sum.groups)
        means.push_back(static_cast<double>(own.first) / static_cast<double>(own.second));
      std::sort(means.begin(), means.end());
      const double median = percentile(std::span<const double>(means), 5'000);
      for (const auto& [group, own] : sum.groups) {
        const double mean = static_cast<double>(own.first) / static_cast<double>(own.second);
        if (mean < kSlow * median || median <= 0) continue;
        lost_us[group] += (mean - median) * static_cast<double>(own.second) / 1e6 / options_.steps;
        worst[group] = std::max(worst[group], mean / median);
      }
    }
    for (const auto& [group, lost] : lost_us) {
      if (lost < kWorth * outcome_.mean_step_us()) continue;
      outcome_.stragglers.push_back({"group " + graph_.groups[group].name,
                                     fmt::format("its collectives take {:.2f} times as long as those of most groups of "
                                                 "its kind",
                                                 worst[group]),
                                     lost});
    }
  }

  // Ranks whose compute takes longer than that of most ranks that do the same.
  void slow_ranks() {
    std::map<std::uint32_t, std::vector<double>> by_program;
    for (std::uint32_t rank = 0; rank < graph_.ranks.size(); ++rank)
      by_program[graph_.ranks[rank].program].push_back(static_cast<double>(outcome_.ranks[rank].compute_ps));
    for (auto& [program, list] : by_program) std::sort(list.begin(), list.end());
    for (std::uint32_t rank = 0; rank < graph_.ranks.size(); ++rank) {
      const std::vector<double>& others = by_program[graph_.ranks[rank].program];
      const double median = percentile(std::span<const double>(others), 5'000);
      const auto own = static_cast<double>(outcome_.ranks[rank].compute_ps);
      const double lost_us = (own - median) / 1e6 / std::max<std::uint32_t>(1, outcome_.ranks[rank].steps);
      if (others.size() < 3 || median <= 0 || lost_us < kWorth * outcome_.mean_step_us() || own < median * 1.01)
        continue;
      outcome_.stragglers.push_back(
          {fmt::format("rank {}", rank),
           fmt::format("its compute takes {} longer than that of most ranks", share_text(own / median - 1)), lost_us});
    }
  }

  static constexpr double kWorth = 0.01;  // of a step

  const JobOptions& options_;
  const JobGraph& graph_;
  const JobTimes& times_;
  JobOutcome& outcome_;
  std::map<RowKey, RowSum> sums_;
};

}  // namespace

double JobOutcome::mean_step_us() const {
  Time_ps sum = 0;
  for (Time_ps each : step_ps) sum += each;
  return step_ps.empty() ? 0 : static_cast<double>(sum) / 1e6 / static_cast<double>(step_ps.size());
}
double JobOutcome::exposed_share() const {
  Time_ps sum = 0;
  for (const JobRankTime& rank : ranks) sum += rank.exposed_ps;
  const double all = static_cast<double>(jct_ps) * static_cast<double>(ranks.size());
  return all > 0 ? static_cast<double>(sum) / all : 0;
}
double JobOutcome::compute_share() const {
  Time_ps sum = 0;
  for (const JobRankTime& rank : ranks) sum += rank.compute_ps;
  const double all = static_cast<double>(jct_ps) * static_cast<double>(ranks.size());
  return all > 0 ? static_cast<double>(sum) / all : 0;
}
double JobOutcome::slowed_share() const {
  Time_ps sum = 0, alone = 0;
  for (const JobRankTime& rank : ranks) {
    sum += rank.slowed_ps;
    alone += rank.compute_ps - rank.slowed_ps;
  }
  return alone > 0 ? static_cast<double>(sum) / static_cast<double>(alone) : 0;
}
double JobOutcome::roofline_ratio() const {
  return roofline_ps > 0 ? static_cast<double>(jct_ps) / static_cast<double>(roofline_ps) : 0;
}

JobOutcome summarise_job(const JobOptions& options, std::shared_ptr<const JobTimes> times,
                         std::span<const double> machine_Bps, std::span<const std::string> machine_names) {
  JobOutcome outcome;
  const JobRoofline roofline = job_roofline(*options.graph, options.ranks, machine_Bps);
  outcome.network_bound = roofline.network_ps > roofline.compute_ps;
  outcome.roofline_ps = std::max(roofline.compute_ps, roofline.network_ps) * options.steps;
  outcome.roofline_of = outcome.network_bound ? machine_names[roofline.machine] : fmt::format("rank {}", roofline.rank);
  outcome.machines.assign(machine_names.begin(), machine_names.end());
  JobSummary summary(options, *times, outcome);
  summary.ranks();
  summary.traffic();
  outcome.times = std::move(times);
  return outcome;
}

}  // namespace weft::workload
