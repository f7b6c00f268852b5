#include "results/kinds/job_timeline.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "store/json_text.h"

namespace weft::lab {

namespace {

using workload::JobNode;
using workload::JobNodeKind;
using workload::JobOptions;
using workload::JobOutcome;

// Perfetto opens a few hundred MB; the ranks beyond are left out, and the trace says so.
constexpr std::size_t kMaxTimelineEvents = 1'000'000;

std::string stream_name(const JobOptions& options, std::uint32_t rank, const JobNode& node) {
  const workload::JobRank& own = options.graph->ranks[rank];
  switch (node.kind) {
    case JobNodeKind::kCompute:
      return node.on_cpu ? "CPU" : "compute";
    case JobNodeKind::kCollective:
      return options.graph->groups[own.groups[node.target]].name;
    case JobNodeKind::kSend:
      return fmt::format("to rank {}", own.peers[node.target]);
    case JobNodeKind::kReceive:
      return fmt::format("from rank {}", own.peers[node.target]);
  }
  return "";
}

class TimelineText {
 public:
  TimelineText(const JobOptions& options, const JobOutcome& job) : options_(options), job_(job) {}

  std::string make() {
    json_.open('{');
    json_.add("displayTimeUnit", "ms");
    json_.open("traceEvents", '[');
    out_ = json_.text();
    for (std::uint32_t machine = 0; machine < job_.machines.size(); ++machine)
      metadata("process_name", machine, 0, job_.machines[machine]);
    std::size_t events = 0;
    std::uint32_t rank = 0;
    for (; rank < options_.graph->ranks.size() && events < kMaxTimelineEvents; ++rank) events += add_rank(rank);
    if (rank < options_.graph->ranks.size())
      metadata("process_labels", 0, 0, fmt::format("ranks from {} on are left out", rank));
    return out_ + "\n]}\n";
  }

 private:
  void line(std::string_view text) {
    out_ += first_ ? "\n" : ",\n";
    first_ = false;
    out_ += text;
  }
  void metadata(std::string_view what, std::uint32_t process, std::uint32_t thread, const std::string& name) {
    json_.clear();
    json_.open('{');
    json_.add("ph", "M");
    json_.add("pid", process);
    json_.add("tid", thread);
    json_.add("name", what);
    json_.open("args", '{');
    json_.add(what == "process_labels" ? "labels" : "name", name);
    json_.close('}');
    json_.close('}');
    line(json_.text());
  }

  std::size_t add_rank(std::uint32_t rank) {
    const std::vector<JobNode>& nodes = options_.graph->program_of(rank).nodes;
    const workload::JobStreams streams(options_.graph->ranks[rank]);
    const std::uint32_t process = options_.ranks[rank].machine;
    std::vector<bool> named(streams.count());
    const auto& spans = job_.times->ranks[rank];
    std::size_t events = 0;
    for (std::size_t i = 0; i < spans.size(); ++i) {
      const JobNode& node = nodes[i % nodes.size()];
      const workload::JobSpan& span = spans[i];
      if (span.end_ps == kNever_ps || (node.kind == JobNodeKind::kCompute && span.start_ps == span.end_ps)) continue;
      const std::uint32_t stream = streams.of(node);
      const std::uint32_t thread = rank * 64 + std::min(stream, 63U) + 1;
      if (!named[stream])
        metadata("thread_name", process, thread, fmt::format("rank {} {}", rank, stream_name(options_, rank, node)));
      named[stream] = true;
      event(process, thread, node, span);
      ++events;
    }
    return events;
  }

  void event(std::uint32_t process, std::uint32_t thread, const JobNode& node, const workload::JobSpan& span) {
    json_.clear();
    json_.open('{');
    json_.add("ph", "X");
    json_.add("pid", process);
    json_.add("tid", thread);
    json_.add("ts", static_cast<double>(span.start_ps) / 1e6);
    json_.add("dur", static_cast<double>(span.end_ps - span.start_ps) / 1e6);
    json_.add("name", options_.graph->names[node.name]);
    json_.add("cat", node.kind == JobNodeKind::kCompute ? "compute" : "communication");
    json_.open("args", '{');
    if (node.layer > 0) json_.add("layer", node.layer);
    if (node.micro_batch > 0) json_.add("micro_batch", node.micro_batch);
    if (node.size_B > 0) json_.add("size_B", node.size_B);
    json_.add("ready_us", static_cast<double>(span.ready_ps) / 1e6);
    json_.close('}');
    json_.close('}');
    line(json_.text());
  }

  const JobOptions& options_;
  const JobOutcome& job_;
  store::JsonText json_;
  std::string out_;
  bool first_ = true;
};

}  // namespace

std::string timeline_name(const RunResult& result, const WorkloadOutcome& outcome) {
  if (outcome.as<JobOutcome>() == nullptr) return "";
  const auto jobs = std::count_if(result.workloads.begin(), result.workloads.end(),
                                  [](const WorkloadOutcome& each) { return each.as<JobOutcome>() != nullptr; });
  return jobs == 1 ? "timeline.json" : fmt::format("timeline-{}.json", outcome.config->name);
}

tl::expected<void, std::string> write_timeline(const std::string& path, const WorkloadOutcome& outcome) {
  return write_file(path, TimelineText(*outcome.config->as<JobOptions>(), *outcome.as<JobOutcome>()).make());
}

}  // namespace weft::lab
