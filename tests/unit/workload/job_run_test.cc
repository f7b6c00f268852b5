// The order in which nodes run, and what is made of their times, on an engine without a network.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <queue>

#include "model/workloads/job_check.h"
#include "model/workloads/job_training.h"
#include "workload/job/run.h"
#include "workload/job/summary.h"

namespace {

using namespace weft;
using namespace weft::workload;

// Streams in order; a collective ends for all ranks `comm_ps` after the last of them began it.
class PlainBackend final : public JobBackend {
 public:
  PlainBackend(const JobGraph& graph, Time_ps comm_ps) : graph_(graph), comm_ps_(comm_ps) {}

  void start(Time_ps at_ps) override { started_ps_ = at_ps; }
  void compute(const Item& item, Time_ps duration_ps) override { add({item, duration_ps, UINT64_MAX}); }
  void collective(const Item& item, std::uint32_t group, const JobNode&) override {
    const std::uint64_t number = group_counts_[{item.rank, group}]++;
    const std::uint64_t key = std::uint64_t{group} << 32 | number;
    meetings_[key].needed = graph_.groups[group].ranks.size();
    add({item, 0, key});
  }
  void point_to_point(const Item& item, std::uint32_t peer, const JobNode& node) override {
    const bool sends = node.kind == JobNodeKind::kSend;
    const std::uint32_t from = sends ? item.rank : peer, to = sends ? peer : item.rank;
    const std::uint64_t number = pair_counts_[{from, to, sends}]++;
    const std::uint64_t key = std::uint64_t{1} << 63 | std::uint64_t{from} << 48 | std::uint64_t{to} << 32 | number;
    meetings_[key].needed = 2;
    add({item, 0, key});
  }
  void run(JobRun& job) {
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      auto& queue = streams_[event.stream];
      const Waiting done = queue.front();
      queue.erase(queue.begin());
      if (!queue.empty()) begin(event.stream, event.at_ps);
      job.ended(done.item.tag, done.start_ps, event.at_ps);
    }
  }

 private:
  using Stream = std::pair<std::uint32_t, std::uint32_t>;
  struct Waiting {
    Item item;
    Time_ps duration_ps;
    std::uint64_t meeting;
    Time_ps start_ps = 0;
  };
  struct Meeting {
    std::size_t needed = 0;
    std::vector<Stream> there;
  };
  struct Event {
    Time_ps at_ps;
    Stream stream;
    bool operator>(const Event& other) const { return std::tie(at_ps, stream) > std::tie(other.at_ps, other.stream); }
  };
  void add(const Waiting& waiting) {
    const Stream stream{waiting.item.rank, waiting.item.stream};
    streams_[stream].push_back(waiting);
    if (streams_[stream].size() == 1) begin(stream, waiting.item.earliest_ps);
  }
  void begin(const Stream& stream, Time_ps now_ps) {
    Waiting& first = streams_[stream].front();
    first.start_ps = std::max(now_ps, first.item.earliest_ps);
    if (first.meeting == UINT64_MAX) return events_.push({first.start_ps + first.duration_ps, stream});
    Meeting& meeting = meetings_[first.meeting];
    meeting.there.push_back(stream);
    if (meeting.there.size() < meeting.needed) return;
    for (const Stream& each : meeting.there) events_.push({first.start_ps + comm_ps_, each});
  }

  const JobGraph& graph_;
  Time_ps comm_ps_, started_ps_ = 0;
  std::map<Stream, std::vector<Waiting>> streams_;
  std::map<std::uint64_t, Meeting> meetings_;
  std::map<Stream, std::uint64_t> group_counts_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, bool>, std::uint64_t> pair_counts_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
};

JobOutcome run_job(const TrainingOptions& training, std::uint32_t steps, Time_ps comm_ps, double slow_rank_0 = 1) {
  auto graph = make_training(training);
  EXPECT_TRUE(graph) << graph.error().message;
  EXPECT_TRUE(settle_job(*graph).empty());
  graph->ranks[0].compute_factor = slow_rank_0;
  JobOptions options;
  options.graph = std::make_shared<JobGraph>(std::move(*graph));
  options.steps = steps;
  for (std::uint32_t rank = 0; rank < options.graph->ranks.size(); ++rank)
    options.ranks.push_back({rank / 2, rank % 2});
  PlainBackend backend(*options.graph, comm_ps);
  JobRun run(options, backend);
  EXPECT_FALSE(run.is_finished());
  EXPECT_TRUE(run.start_phase(1'000));
  backend.run(run);
  EXPECT_TRUE(run.is_finished());
  const std::size_t machines = (options.ranks.size() + 1) / 2;
  return summarise_job(options, run.times(), std::vector<double>(machines, 12.5e9),
                       std::vector<std::string>(machines, "h"));
}

TrainingOptions small() {
  TrainingOptions options;
  options.model = {.layers = 4, .hidden = 1024, .sequence = 1024};
  options.layer_ps = 100 * kMicrosecond_ps;
  return options;
}

TEST(JobRun, OneRankOnlyComputes) {
  const JobOutcome job = run_job(small(), 3, 0);
  // Forward 100 us, backward 200 us, four layers.
  ASSERT_EQ(job.step_ps.size(), 3u);
  for (Time_ps step : job.step_ps) EXPECT_NEAR(static_cast<double>(step), 1.2e9, 100);
  EXPECT_NEAR(job.compute_share(), 1, 1e-6);
  EXPECT_NEAR(job.roofline_ratio(), 1, 1e-6);
  EXPECT_FALSE(job.network_bound);
}

TEST(JobRun, TensorParallelismIsExposed) {
  TrainingOptions options = small();
  options.parallel.tensor = 2;
  const JobOutcome job = run_job(options, 1, 10 * kMicrosecond_ps);
  // 16 all-reduces of 10 us, each between two pieces of compute.
  EXPECT_NEAR(static_cast<double>(job.jct_ps), 1.2e9 + 160e6, 100);
  EXPECT_NEAR(job.exposed_share(), 160.0 / 1360, 1e-4);
  ASSERT_EQ(job.traffic.size(), 1u);
  EXPECT_EQ(job.traffic[0].count, 16u);
  EXPECT_NEAR(job.traffic[0].mean_us, 10, 1e-6);
  EXPECT_NEAR(job.traffic[0].busbw_Bps, 1024 * 1024 * 2 / 10e-6, 1);
}

TEST(JobRun, GradientsOverlapWithBackward) {
  TrainingOptions options = small();
  options.parallel.data = 4;
  const Time_ps comm_ps = 50 * kMicrosecond_ps;
  const JobOutcome overlapped = run_job(options, 1, comm_ps);
  options.overlap = false;
  const JobOutcome after = run_job(options, 1, comm_ps);
  // 12 h^2 parameters of 2 B are 25.2 MB: a bucket for each layer. Only the last is exposed with overlap.
  EXPECT_NEAR(static_cast<double>(overlapped.jct_ps), 1.2e9 + 50e6, 100);
  EXPECT_NEAR(static_cast<double>(after.jct_ps), 1.2e9 + 4 * 50e6, 100);
  EXPECT_GT(after.exposed_share(), overlapped.exposed_share());
}

TEST(JobRun, PipelineHasItsBubble) {
  TrainingOptions options = small();
  options.parallel.pipeline = 4;
  options.global_batch = 8;
  const JobOutcome job = run_job(options, 1, 0);
  // 1F1B: (m + p - 1) times forward and backward of a stage.
  EXPECT_NEAR(static_cast<double>(job.jct_ps), (8 + 3) * 300e6, 1000);
  EXPECT_NEAR(job.roofline_ratio(), 11.0 / 8, 1e-4);
}

TEST(JobRun, NamesSlowRank) {
  TrainingOptions options = small();
  options.parallel.data = 4;
  const JobOutcome job = run_job(options, 2, kMicrosecond_ps, 1.25);
  ASSERT_EQ(job.stragglers.size(), 1u);
  EXPECT_EQ(job.stragglers[0].what, "rank 0");
  EXPECT_EQ(job.stragglers[0].reason, "its compute takes 25 % longer than that of most ranks");
  EXPECT_NEAR(job.stragglers[0].lost_us, 300, 0.1);
  EXPECT_GT(job.ranks[0].late_ps, 500'000'000);
  EXPECT_EQ(job.ranks[1].late_ps, 0);
}

TEST(JobRoofline, IsBytesOverLineRateOfSlowNetwork) {
  TrainingOptions options = small();
  options.parallel.data = 4;  // on two machines
  auto graph = make_training(options);
  ASSERT_TRUE(graph);
  std::vector<nccl::RankPlace> places;
  for (std::uint32_t rank = 0; rank < 4; ++rank) places.push_back({rank / 2, rank % 2});
  const std::vector<double> rates(2, 1e9);
  const JobRoofline roofline = job_roofline(*graph, places, rates);
  // All-reduce over two machines: as many bytes as it has, each way.
  EXPECT_NEAR(static_cast<double>(roofline.network_ps), 4.0 * 12 * 1024 * 1024 * 2 * 1000, 1e3);
  EXPECT_NEAR(static_cast<double>(roofline.compute_ps), 1.2e9, 100);
}

}  // namespace
