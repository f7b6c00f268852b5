#include "workload/job/run.h"

#include "base/check.h"

namespace weft::workload {

JobRun::JobRun(const JobOptions& options, JobBackend& backend)
    : options_(options), graph_(*options.graph), backend_(backend), times_(std::make_shared<JobTimes>()) {
  plans_.resize(graph_.programs.size());
  std::vector<bool> planned(plans_.size());
  ranks_.resize(graph_.ranks.size());
  times_->ranks.resize(graph_.ranks.size());
  for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    const JobStreams streams(graph_.ranks[rank]);
    const std::uint32_t number = graph_.ranks[rank].program;
    if (!planned[number]) plans_[number] = plan(graph_.programs[number], streams);
    planned[number] = true;
    WEFT_CHECK(plans_[number].stream_first.size() == streams.count() + 1, "ranks of a program have the same slots");
    times_->ranks[rank].resize(graph_.program_of(rank).nodes.size() * options.steps);
  }
}

JobRun::Plan JobRun::plan(const JobProgram& program, const JobStreams& streams) {
  Plan plan;
  const auto count = static_cast<std::uint32_t>(program.nodes.size());
  plan.stream_first.resize(streams.count() + 1);
  plan.stream_nodes.resize(count);
  plan.after_first.resize(count + 1);
  plan.after.resize(program.before.size());
  for (std::uint32_t node = 0; node < count; ++node) {
    ++plan.stream_first[streams.of(program.nodes[node]) + 1];
    for (std::uint32_t before : program.before_of(node)) ++plan.after_first[before + 1];
  }
  for (std::uint32_t i = 0; i < streams.count(); ++i) plan.stream_first[i + 1] += plan.stream_first[i];
  for (std::uint32_t i = 0; i < count; ++i) plan.after_first[i + 1] += plan.after_first[i];
  std::vector<std::uint32_t> stream_fill = plan.stream_first, after_fill = plan.after_first;
  for (std::uint32_t node = 0; node < count; ++node) {
    plan.stream_nodes[stream_fill[streams.of(program.nodes[node])]++] = node;
    for (std::uint32_t before : program.before_of(node)) plan.after[after_fill[before]++] = node;
  }
  return plan;
}

bool JobRun::start_phase(Time_ps at_ps) {
  if (started_ || !backend_.can_start()) return false;
  started_ = true;
  started_ps_ = at_ps;
  backend_.start(at_ps);
  for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) begin_step(rank, at_ps);
  return true;
}

void JobRun::begin_step(std::uint32_t rank, Time_ps now_ps) {
  const JobProgram& program = graph_.program_of(rank);
  const Plan& plan = plans_[graph_.ranks[rank].program];
  RankState& own = ranks_[rank];
  own.left.resize(program.nodes.size());
  for (std::uint32_t node = 0; node < program.nodes.size(); ++node) own.left[node] = program.nodes[node].before_count;
  own.next.assign(plan.stream_first.begin(), plan.stream_first.end() - 1);
  own.nodes_left = static_cast<std::uint32_t>(program.nodes.size());
  if (own.nodes_left == 0) {
    own.step = options_.steps;
    return;
  }
  issue(rank, now_ps);
}

// Streams are looked at in order, again while something ended at once.
void JobRun::issue(std::uint32_t rank, Time_ps now_ps) {
  const JobProgram& program = graph_.program_of(rank);
  const Plan& plan = plans_[graph_.ranks[rank].program];
  RankState& own = ranks_[rank];
  const std::uint32_t step = own.step;
  for (bool again = true; again && own.step == step;) {
    again = false;
    for (std::uint32_t stream = 0; stream + 1 < plan.stream_first.size(); ++stream) {
      while (own.next[stream] < plan.stream_first[stream + 1]) {
        const std::uint32_t node = plan.stream_nodes[own.next[stream]];
        if (own.left[node] > 0) break;
        ++own.next[stream];
        const JobNode& what = program.nodes[node];
        span(rank, node).ready_ps = now_ps - started_ps_;
        const JobBackend::Item item{rank, stream, now_ps, std::uint64_t{rank} << 32 | node, what.on_cpu};
        if (what.kind == JobNodeKind::kCollective) {
          backend_.collective(item, graph_.ranks[rank].groups[what.target], what);
        } else if (what.kind != JobNodeKind::kCompute) {
          backend_.point_to_point(item, graph_.ranks[rank].peers[what.target], what);
        } else if (what.duration_ps > 0) {
          backend_.compute(item, graph_.duration_ps(rank, what));
        } else {
          end_node(rank, node, now_ps, now_ps);
          if (own.step != step) return;
          again = true;
        }
      }
    }
  }
}

void JobRun::ended(std::uint64_t tag, Time_ps start_ps, Time_ps end_ps) {
  const auto rank = static_cast<std::uint32_t>(tag >> 32);
  const std::uint32_t step = ranks_[rank].step;
  end_node(rank, static_cast<std::uint32_t>(tag), start_ps, end_ps);
  if (ranks_[rank].step == step) issue(rank, end_ps);
}

void JobRun::end_node(std::uint32_t rank, std::uint32_t node, Time_ps start_ps, Time_ps end_ps) {
  RankState& own = ranks_[rank];
  const Plan& plan = plans_[graph_.ranks[rank].program];
  JobSpan& times = span(rank, node);
  WEFT_CHECK(times.end_ps == kNever_ps && own.nodes_left > 0, "a node ends once");
  times.start_ps = start_ps - started_ps_;
  times.end_ps = end_ps - started_ps_;
  for (std::uint32_t i = plan.after_first[node]; i < plan.after_first[node + 1]; ++i) --own.left[plan.after[i]];
  if (--own.nodes_left > 0) return;
  if (++own.step < options_.steps) begin_step(rank, end_ps);
}

bool JobRun::is_finished() const {
  if (!started_) return false;
  for (const RankState& rank : ranks_) {
    if (rank.step < options_.steps) return false;
  }
  return true;
}

std::shared_ptr<const JobTimes> JobRun::times() const {
  return times_;
}

}  // namespace weft::workload
