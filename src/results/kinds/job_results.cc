// What a job leaves in the report, in results.json and in results.sqlite.
#include <fmt/format.h>

#include <algorithm>

#include "base/figures.h"
#include "base/plural.h"
#include "base/text_table.h"
#include "results/json_rows.h"
#include "results/kinds/workload_kind.h"
#include "results/report_text.h"
#include "store/json_row.h"
#include "store/rows/workload_rows.h"
#include "store/table.h"

namespace weft::lab {

namespace {

using Align = TextTable::Align;
using workload::JobOptions;
using workload::JobOutcome;
using workload::JobRankTime;
using workload::JobStraggler;
using workload::JobTraffic;

constexpr std::size_t kMostTrafficRows = 24;  // of a table
constexpr std::size_t kMostStragglers = 8;

std::string part_text(Time_ps part_ps, double whole_ps) {
  return share_text(whole_ps > 0 ? static_cast<double>(part_ps) / whole_ps : 0);
}

std::string bound_text(const JobOutcome& job) {
  return job.network_bound ? fmt::format("bytes over the line rate of {}", job.roofline_of)
                           : fmt::format("compute of {}", job.roofline_of);
}

std::string times_text(const JobOptions& options, const JobOutcome& job) {
  std::string out;
  if (!job.failure.empty()) out += fmt::format("  failed: {}\n", job.failure);
  if (job.unfinished > 0)
    out += fmt::format("  {} of {} did not end\n", job.unfinished, counted(options.ranks.size(), "rank"));
  if (!job.step_ps.empty()) {
    const auto [least, most] = std::minmax_element(job.step_ps.begin(), job.step_ps.end());
    out += fmt::format("  step {}", time_text(static_cast<Time_ps>(job.mean_step_us() * 1e6)));
    if (job.step_ps.size() > 1)
      out += fmt::format(" on average of {}, from {} to {}", job.step_ps.size(), time_text(*least), time_text(*most));
    out += '\n';
  }
  if (job.jct_ps == 0) return out;
  out += fmt::format("  JCT {}, {:.3f} times the roofline of {} ({})\n", time_text(job.jct_ps), job.roofline_ratio(),
                     time_text(job.roofline_ps), bound_text(job));
  Time_ps compute_ps = 0, exposed_ps = 0, receive_ps = 0, most_ps = 0;
  for (const JobRankTime& rank : job.ranks) {
    compute_ps += rank.compute_ps;
    exposed_ps += rank.exposed_ps;
    receive_ps += rank.receive_ps;
    most_ps = std::max(most_ps, rank.exposed_ps);
  }
  const double all_ps = static_cast<double>(job.jct_ps) * static_cast<double>(job.ranks.size());
  out += fmt::format("  of the ranks' time: compute {}, exposed communication {} (at most {})",
                     part_text(compute_ps, all_ps), part_text(exposed_ps, all_ps),
                     part_text(most_ps, static_cast<double>(job.jct_ps)));
  if (receive_ps > 0) out += fmt::format(", waiting for a receive {}", part_text(receive_ps, all_ps));
  const Time_ps busy_ps = compute_ps + exposed_ps + receive_ps;
  out += fmt::format(", idle {}\n", part_text(std::max<Time_ps>(0, static_cast<Time_ps>(all_ps) - busy_ps), all_ps));
  if (job.slowed_share() >= 0.0005)
    out += fmt::format("  compute takes {} longer: blocks of collectives that run beside it have SMs\n",
                       share_text(job.slowed_share()));
  return out;
}

std::string traffic_table(const JobOutcome& job) {
  std::vector<const JobTraffic*> rows;
  for (const JobTraffic& row : job.traffic) rows.push_back(&row);
  std::stable_sort(rows.begin(), rows.end(), [](const JobTraffic* a, const JobTraffic* b) {
    return a->mean_us * static_cast<double>(a->count) > b->mean_us * static_cast<double>(b->count);
  });
  std::string note;
  if (rows.size() > kMostTrafficRows) {
    note = fmt::format("\nThe {} that take most of {}; all are in results.json.\n", kMostTrafficRows, rows.size());
    rows.resize(kMostTrafficRows);
  }
  TextTable table;
  table.add_column("collective", Align::kLeft);
  for (const char* title : {"ranks", "size", "count", "mean us", "max us", "busbw GB/s", "least"})
    table.add_column(title);
  table.add_column("slowest", Align::kLeft);
  for (const JobTraffic* row : rows)
    table.add_row({row->name, std::to_string(row->ranks), message_size_text(row->size_B), std::to_string(row->count),
                   fmt::format("{:.1f}", row->mean_us), fmt::format("{:.1f}", row->max_us),
                   fmt::format("{:.2f}", row->busbw_Bps / 1e9), fmt::format("{:.2f}", row->min_busbw_Bps / 1e9),
                   row->slowest});
  return table.empty() ? "" : "\n" + block(table) + note;
}

std::string stragglers_text(const JobOutcome& job) {
  std::string out;
  std::vector<JobStraggler> list = job.stragglers;
  std::stable_sort(list.begin(), list.end(),
                   [](const JobStraggler& a, const JobStraggler& b) { return a.lost_us > b.lost_us; });
  for (std::size_t i = 0; i < list.size() && i < kMostStragglers; ++i)
    out += fmt::format("  straggler: {}: {} ({} of a step)\n", list[i].what, list[i].reason,
                       time_text(list[i].lost_us * 1e6));
  if (list.size() > kMostStragglers) out += fmt::format("  and {} more\n", list.size() - kMostStragglers);
  return out;
}

store::JobCollectiveRow collective_row(const std::string& workload, const JobTraffic& row) {
  return {workload,  row.name,    row.kind,   row.what,      row.size_B,        row.ranks,
          row.count, row.mean_us, row.max_us, row.busbw_Bps, row.min_busbw_Bps, row.slowest};
}

std::vector<store::JobStragglerRow> straggler_rows(const std::string& workload, const JobOutcome& job) {
  std::vector<store::JobStragglerRow> rows;
  for (const JobStraggler& each : job.stragglers) rows.push_back({workload, each.what, each.reason, each.lost_us});
  return rows;
}

store::JobObject job_object(const std::string& workload, const JobOptions& options, const JobOutcome& job) {
  store::JobObject object;
  object.summary = options.summary;
  object.ranks = options.ranks.size();
  object.steps = job.step_ps.size();
  object.step_ps = job.step_ps;
  object.unfinished = job.unfinished;
  if (!job.failure.empty()) object.failure = job.failure;
  if (job.jct_ps > 0) {
    object.jct_ps = job.jct_ps;
    object.roofline_ps = job.roofline_ps;
    object.roofline = job.network_bound ? "network" : "compute";
    object.roofline_of = job.roofline_of;
    object.roofline_ratio = job.roofline_ratio();
    object.compute_percent = 100 * job.compute_share();
    object.slowed_percent = 100 * job.slowed_share();
    object.exposed_percent = 100 * job.exposed_share();
  }
  for (const JobTraffic& row : job.traffic) object.collectives.push_back(collective_row(workload, row));
  object.stragglers = straggler_rows(workload, job);
  return object;
}

}  // namespace

std::string report_section(const JobOptions& options, const JobOutcome& job, const Lab&, const WorkloadConfig& config) {
  return heading(fmt::format("{}: {}, {} on {}", config.name, options.summary, counted(options.ranks.size(), "rank"),
                             counted(options.hosts.size(), "host"))) +
         times_text(options, job) + stragglers_text(job) + traffic_table(job);
}

void write_json(const JobOptions& options, const JobOutcome& job, const Lab&, const WorkloadConfig& config,
                store::JsonStream& out) {
  store::JsonText text;
  text.open('{');
  text.add("name", config.name);
  text.open("job", '{');
  store::add_members(text, job_object(config.name, options, job));
  text.close('}');
  text.close('}');
  out.item(text.text());
}

// Only where there is a job, so that the file of a lab without one has no tables that say nothing.
void write_tables(std::type_identity<JobOptions>, const RunResult& result, store::SqliteFile& file) {
  const auto is_job = [](const WorkloadOutcome& outcome) { return outcome.as<JobOutcome>() != nullptr; };
  if (std::none_of(result.workloads.begin(), result.workloads.end(), is_job)) return;
  store::Inserter<store::JobStepRow> steps(file);
  store::Inserter<store::JobRankRow> ranks(file);
  store::Inserter<store::JobCollectiveRow> collectives(file);
  store::Inserter<store::JobStragglerRow> stragglers(file);
  for (const WorkloadOutcome& outcome : result.workloads) {
    const auto* job = outcome.as<JobOutcome>();
    if (job == nullptr) continue;
    const std::string& name = outcome.config->name;
    const auto& options = *outcome.config->as<JobOptions>();
    for (std::size_t step = 0; step < job->step_ps.size(); ++step) steps.add({name, step, job->step_ps[step]});
    for (std::size_t rank = 0; rank < job->ranks.size(); ++rank) {
      const JobRankTime& own = job->ranks[rank];
      const nccl::RankPlace& place = options.ranks[rank];
      ranks.add({name, rank, job->machines[place.machine], place.gpu, own.steps, own.compute_ps, own.slowed_ps,
                 own.exposed_ps, own.receive_ps, own.late_ps});
    }
    for (const JobTraffic& row : job->traffic) collectives.add(collective_row(name, row));
    for (const store::JobStragglerRow& row : straggler_rows(name, *job)) stragglers.add(row);
  }
}

std::string failure_text(const JobOptions& options, const JobOutcome& job, const RunResult& run, const Judged& judged) {
  if (judged({"unfinished"})) return "";
  if (!job.failure.empty()) return job.failure;
  const bool cut_short = (run.interrupted || run.cut_off) && run.circular_waits.empty();
  if (job.unfinished > 0 && !cut_short)
    return count_text(job.unfinished, options.ranks.size(), "rank") + " did not end, and nothing more would happen";
  return "";
}

void add_evidence(const workload::JobOptions& options, const workload::JobOutcome& outcome, const Lab& lab,
                  const WorkloadConfig& config, Evidence& evidence) {
  evidence.workloads.back().kind = "job";
  for (const JobStraggler& each : outcome.stragglers)
    evidence.stragglers.push_back({config.name, each.what, each.reason, each.lost_us});
  add_collective_use(lab, options.hosts, config, outcome.use, "", evidence);
}

}  // namespace weft::lab
