#include "serve/jobs/job_routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/files.h"
#include "results/evidence_rows.h"
#include "serve/api/api_rows.h"
#include "serve/http/bounded_json.h"
#include "serve/http/json_answer.h"
#include "serve/jobs/job_slices.h"
#include "serve/jobs/run_collectives.h"
#include "store/json_row.h"
#include "store/rows/workload_rows.h"
#include "store/table.h"

namespace weft::serve {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostResults_B = std::size_t{256} << 20;

void add_rooflines(const std::vector<workload::RooflineBound>& bounds, BusBandwidth& row) {
  if (!bounds.empty()) row.roofline_Bps = bounds.front().busbw_Bps;
  for (const workload::RooflineBound& bound : bounds)
    row.roofline.push_back({bound.name, bound.where, bound.busbw_Bps});
}

// The requested parts: the page draws the timeline first.
struct Asked {
  bool timeline = true, rooflines = true;
};

using Turn = lab::WorkloadEvidence;

Json columns_of(const std::vector<JobSlice>& slices, const char* track, bool with_name) {
  Json columns;
  std::vector<std::uint32_t> place, name, kind;
  std::vector<std::int64_t> from, to;
  for (const JobSlice& slice : slices) {
    place.push_back(slice.track);
    name.push_back(slice.name);
    kind.push_back(static_cast<std::uint32_t>(slice.kind));
    from.push_back(slice.from_ps);
    to.push_back(slice.to_ps);
  }
  columns[track] = std::move(place);
  columns["kind"] = std::move(kind);
  if (with_name) columns["name"] = std::move(name);
  columns["from_ps"] = std::move(from);
  columns["to_ps"] = std::move(to);
  return columns;
}

// Begins the object of a job with what all have.
void open_job(store::JsonText& job, const Turn& turn, const JobTimeline& timeline, std::size_t ranks,
              const std::vector<JobStepTime>& steps) {
  Json tracks = Json::array();
  for (const JobTrack& track : timeline.tracks)
    tracks.push_back({{"rank", track.rank}, {"host", track.host}, {"name", track.name}});
  job.open_item('{');
  job.add("workload", turn.name);
  job.add("kind", turn.kind);
  job.add("from_ps", turn.from_ps);
  job.add("to_ps", turn.to_ps);
  job.add("ranks", ranks);
  job.add_json("kinds", R"(["compute","communication","exposed","wait"])");
  job.add_json("tracks", json_text(tracks));
  job.add_json("names", json_text(Json(timeline.names)));
  job.add_json("slices", json_text(columns_of(timeline.slices, "track", true)));
  job.add_json("states", json_text(columns_of(timeline.states, "rank", false)));
  job.add("left_out", timeline.left_out);
  job.add("note", timeline.note);
  store::add_list(job, "steps", steps);
}

void add_job(store::JsonText& job, OpenRun& run, const Turn& turn, bool only_job, const Asked& asked,
             RunCollectives& collectives) {
  store::SqliteFile& file = run.file();
  const std::string name = only_job ? "timeline.json" : "timeline-" + turn.name + ".json";
  std::ifstream stream;
  const std::string file_name = run.directory() + "/" + name;
  if (asked.timeline && is_plain_name(name) && is_own_file(file_name)) stream.open(file_name);
  const JobTimeline timeline = read_job_timeline(stream);

  std::vector<JobStepTime> steps;
  for (const store::JobStepRow& row :
       store::Reader<store::JobStepRow>(file, "WHERE workload = ? ORDER BY step", turn.name)) {
    const Time_ps at_ps = steps.empty() ? turn.from_ps : steps.back().to_ps;
    steps.push_back({at_ps, at_ps + row.step_ps});
  }
  std::vector<JobRank> ranks;
  for (const store::JobRankRow& row :
       store::Reader<store::JobRankRow>(file, "WHERE workload = ? ORDER BY rank", turn.name))
    ranks.push_back({row.rank, row.host, row.gpu, row.compute_ps, row.slowed_ps, row.exposed_ps, row.receive_ps,
                     row.late_ps, collectives.ports_of(row.host, row.gpu)});
  std::vector<BusBandwidth> busbw;
  for (const store::JobCollectiveRow& row :
       store::Reader<store::JobCollectiveRow>(file, "WHERE workload = ? ORDER BY kind, name, size_B", turn.name)) {
    BusBandwidth& each = busbw.emplace_back();
    each.collective = row.name;
    each.groups = row.kind;
    each.size_B = row.size_B;
    each.count = row.count;
    each.busbw_Bps = row.busbw_Bps;
    each.least_Bps = row.min_busbw_Bps;
    if (asked.rooflines) add_rooflines(collectives.of_job(turn.name, row.name, row.kind, row.ranks, row.size_B), each);
  }
  std::vector<JobDelay> stragglers;
  for (const store::JobStragglerRow& row :
       store::Reader<store::JobStragglerRow>(file, "WHERE workload = ? ORDER BY lost_us DESC", turn.name))
    stragglers.push_back({row.who, row.reason, row.lost_us});

  open_job(job, turn, timeline, std::max<std::size_t>(timeline.ranks, ranks.size()), steps);
  store::add_list(job, "rank", ranks);
  store::add_list(job, "busbw", busbw);
  store::add_list(job, "stragglers", stragglers);
  job.close('}');
}

// The nccl-tests object of a workload in results.json, with the members that are read.
nlohmann::json tests_of(const nlohmann::json& results, const std::string& workload) {
  nlohmann::json tests;
  if (results.contains("workloads") && results["workloads"].is_array()) {
    for (const auto& each : results["workloads"]) {
      const bool own = each.is_object() && each.contains("name") && each["name"] == workload && each.contains("nccl");
      if (own && each["nccl"].is_object()) tests = each["nccl"];
    }
  }
  if (!tests.is_object()) tests = nlohmann::json::object();
  if (!tests.contains("args") || !tests["args"].is_array()) tests["args"] = nlohmann::json::array();
  if (!tests.contains("config") || !tests["config"].is_object()) tests["config"] = nlohmann::json::object();
  auto& config = tests["config"];
  if (!config.contains("devices") || !config["devices"].is_array()) config["devices"] = nlohmann::json::array();
  return tests;
}

// Rows of nccl-tests; the number of ranks is in results.json.
void add_nccl(store::JsonText& job, OpenRun& run, const Turn& turn, const nlohmann::json& results, const Asked& asked,
              RunCollectives& collectives) {
  const nlohmann::json tests = tests_of(results, turn.name);
  std::string program = turn.name;
  if (!tests["args"].empty() && tests["args"][0].is_string()) program = tests["args"][0].get<std::string>();
  std::vector<BusBandwidth> busbw;
  for (const store::NcclRow& row : store::Reader<store::NcclRow>(
           run.file(), "WHERE workload = ? AND busbw_GBps IS NOT NULL AND in_place = 0 ORDER BY size_B", turn.name)) {
    BusBandwidth& each = busbw.emplace_back();
    each.collective = program;
    each.size_B = row.size_B;
    each.busbw_Bps = each.least_Bps = row.busbw_GBps * 1e9;
    each.choice = row.choice;
    if (asked.rooflines) add_rooflines(collectives.of_tests(turn.name, row.size_B), each);
  }
  open_job(job, turn, {}, tests["config"]["devices"].size(), {});
  store::add_list(job, "rank", std::vector<JobRank>{});
  store::add_list(job, "busbw", busbw);
  store::add_list(job, "stragglers", std::vector<JobDelay>{});
  job.close('}');
}

Response jobs_of(const Request& request, OpenRun& run) {
  const Asked asked{request.text("timeline") != "0", request.text("rooflines") != "0"};
  std::vector<Turn> turns;
  for (const Turn& turn : store::Reader<Turn>(run.file())) turns.push_back(turn);
  const bool has_jobs = run.has_table("job_step"), has_nccl = run.has_table("nccl_row");
  const auto job_count = std::count_if(turns.begin(), turns.end(), [](const Turn& turn) { return turn.kind == "job"; });
  nlohmann::json results;
  if (has_nccl) {
    const auto text = read_file(run.directory() + "/results.json", kMostResults_B);
    if (text) results = bounded_json<nlohmann::json>(*text);
    if (!results.is_object()) results = nlohmann::json::object();
  }
  store::JsonText jobs;
  jobs.open('{');
  jobs.open("jobs", '[');
  std::optional<RunCollectives> collectives;
  if (has_jobs || has_nccl) collectives.emplace(run);
  for (const Turn& turn : turns) {
    if (turn.kind == "job" && has_jobs) add_job(jobs, run, turn, job_count == 1, asked, *collectives);
    if (turn.kind == "nccl" && has_nccl) add_nccl(jobs, run, turn, results, asked, *collectives);
  }
  jobs.close(']');
  jobs.close('}');
  return json_answer(jobs);
}

}  // namespace

void add_job_routes(Router& router, const RunPlace& place, AnswerCache& cache) {
  router.add("GET", "/api/runs/*/jobs", on_run(place, cache, jobs_of));
}

}  // namespace weft::serve
