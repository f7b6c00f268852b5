#include "serve/jobs/job_routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>

#include "base/files.h"
#include "results/sqlite_file.h"
#include "serve/http/bounded_json.h"
#include "serve/http/json_answer.h"
#include "serve/jobs/job_slices.h"
#include "serve/jobs/run_collectives.h"

namespace weft::serve {

namespace {

using Json = nlohmann::ordered_json;
using lab::SqliteFile;
using lab::SqliteRows;

constexpr std::size_t kMostResults_B = std::size_t{256} << 20;

// A column of a table, as a member of the same name.
enum class Cell : std::uint8_t { kText, kInteger, kReal };
struct Column {
  const char* name;
  Cell cell;
};
constexpr Column kRankColumns[] = {{"rank", Cell::kInteger},       {"host", Cell::kText},
                                   {"gpu", Cell::kInteger},        {"compute_ps", Cell::kInteger},
                                   {"slowed_ps", Cell::kInteger},  {"exposed_ps", Cell::kInteger},
                                   {"receive_ps", Cell::kInteger}, {"late_ps", Cell::kInteger}};
constexpr Column kStragglerColumns[] = {{"who", Cell::kText}, {"reason", Cell::kText}, {"lost_us", Cell::kReal}};

// The rows of a workload in a table.
Json rows_of(SqliteFile& file, const char* table, std::span<const Column> columns, const std::string& workload,
             const char* order) {
  std::string names;
  for (const Column& column : columns) names += (names.empty() ? "" : ", ") + std::string(column.name);
  const std::string query = fmt::format("SELECT {} FROM {} WHERE workload = ? ORDER BY {}", names, table, order);
  SqliteRows rows(file, query.c_str());
  rows.bind(workload);
  Json list = Json::array();
  while (rows.next()) {
    Json row = Json::object();
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const int at = static_cast<int>(i);
      row[columns[i].name] = columns[i].cell == Cell::kText      ? Json(rows.text(at))
                             : columns[i].cell == Cell::kInteger ? Json(rows.integer(at))
                                                                 : Json(rows.real(at));
    }
    list.push_back(std::move(row));
  }
  return list;
}

// One row of bus bandwidth, as jobs and nccl-tests have it.
struct BusRow {
  std::string collective, groups;
  std::int64_t size_B = 0, count = 1;
  double busbw_Bps = 0, least_Bps = 0;
  std::string choice;
};
Json json_of(const BusRow& row, const std::vector<workload::RooflineBound>& bounds) {
  Json roofline = Json::array();
  for (const workload::RooflineBound& bound : bounds)
    roofline.push_back({{"name", bound.name}, {"where", bound.where}, {"Bps", bound.busbw_Bps}});
  return {{"collective", row.collective},
          {"groups", row.groups},
          {"size_B", row.size_B},
          {"count", row.count},
          {"busbw_Bps", row.busbw_Bps},
          {"least_Bps", row.least_Bps},
          {"roofline_Bps", bounds.empty() ? Json() : Json(bounds.front().busbw_Bps)},
          {"roofline", std::move(roofline)},
          {"choice", row.choice}};
}

// The requested parts: the page draws the timeline first.
struct Asked {
  bool timeline = true, rooflines = true;
};

// A workload of the run that may be a job.
struct Turn {
  std::string name, kind;
  std::int64_t from_ps = 0, to_ps = 0;
};

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

void add_timeline(const JobTimeline& timeline, Json& job) {
  Json tracks = Json::array();
  for (const JobTrack& track : timeline.tracks)
    tracks.push_back({{"rank", track.rank}, {"host", track.host}, {"name", track.name}});
  job["ranks"] = timeline.ranks;
  job["kinds"] = {"compute", "communication", "exposed", "wait"};
  job["tracks"] = std::move(tracks);
  job["names"] = timeline.names;
  job["slices"] = columns_of(timeline.slices, "track", true);
  job["states"] = columns_of(timeline.states, "rank", false);
  job["left_out"] = timeline.left_out;
  job["note"] = timeline.note;
}

Json job_of(OpenRun& run, const Turn& turn, bool only_job, const Asked& asked, RunCollectives& collectives) {
  SqliteFile& file = run.file();
  Json job{{"workload", turn.name}, {"kind", "job"}, {"from_ps", turn.from_ps}, {"to_ps", turn.to_ps}};
  const std::string name = only_job ? "timeline.json" : "timeline-" + turn.name + ".json";
  std::ifstream stream;
  const std::string file_name = run.directory() + "/" + name;
  if (asked.timeline && is_plain_name(name) && is_own_file(file_name)) stream.open(file_name);
  const JobTimeline timeline = read_job_timeline(stream);
  add_timeline(timeline, job);

  Json steps = Json::array();
  SqliteRows step_rows(file, "SELECT step_ps FROM job_step WHERE workload = ? ORDER BY step");
  step_rows.bind(turn.name);
  std::int64_t at_ps = turn.from_ps;
  while (step_rows.next()) {
    const std::int64_t end_ps = at_ps + step_rows.integer(0);
    steps.push_back({{"from_ps", at_ps}, {"to_ps", end_ps}});
    at_ps = end_ps;
  }
  job["steps"] = std::move(steps);

  Json ranks = rows_of(file, "job_rank", kRankColumns, turn.name, "rank");
  for (Json& rank : ranks)
    rank["ports"] = collectives.ports_of(rank["host"].get<std::string>(), rank["gpu"].get<std::size_t>());
  job["ranks"] = std::max<std::size_t>(timeline.ranks, ranks.size());
  job["rank"] = std::move(ranks);

  Json busbw = Json::array();
  SqliteRows rows(file,
                  "SELECT name, kind, size_B, count, busbw_Bps, min_busbw_Bps, ranks FROM job_collective "
                  "WHERE workload = ? ORDER BY kind, name, size_B");
  rows.bind(turn.name);
  while (rows.next()) {
    const BusRow row{rows.text(0), rows.text(1), rows.integer(2), rows.integer(3), rows.real(4), rows.real(5), ""};
    std::vector<workload::RooflineBound> bounds;
    if (asked.rooflines)
      bounds = collectives.of_job(turn.name, row.collective, row.groups, static_cast<std::size_t>(rows.integer(6)),
                                  static_cast<std::uint64_t>(row.size_B));
    busbw.push_back(json_of(row, bounds));
  }
  job["busbw"] = std::move(busbw);
  job["stragglers"] = rows_of(file, "job_straggler", kStragglerColumns, turn.name, "lost_us DESC");
  return job;
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
Json nccl_of(OpenRun& run, const Turn& turn, const nlohmann::json& results, const Asked& asked,
             RunCollectives& collectives) {
  const nlohmann::json tests = tests_of(results, turn.name);
  std::string program = turn.name;
  if (!tests["args"].empty() && tests["args"][0].is_string()) program = tests["args"][0].get<std::string>();
  Json job{{"workload", turn.name}, {"kind", "nccl"}, {"from_ps", turn.from_ps}, {"to_ps", turn.to_ps}};
  add_timeline({}, job);
  job["ranks"] = tests["config"]["devices"].size();
  job["steps"] = Json::array();
  job["rank"] = Json::array();
  Json busbw = Json::array();
  SqliteRows rows(run.file(),
                  "SELECT size_B, busbw_GBps, choice FROM nccl_row WHERE workload = ? AND busbw_GBps IS NOT NULL AND "
                  "in_place = 0 ORDER BY size_B");
  rows.bind(turn.name);
  while (rows.next()) {
    const double busbw_Bps = rows.real(1) * 1e9;
    const BusRow row{program, "", rows.integer(0), 1, busbw_Bps, busbw_Bps, rows.text(2)};
    std::vector<workload::RooflineBound> bounds;
    if (asked.rooflines) bounds = collectives.of_tests(turn.name, static_cast<std::uint64_t>(row.size_B));
    busbw.push_back(json_of(row, bounds));
  }
  job["busbw"] = std::move(busbw);
  job["stragglers"] = Json::array();
  return job;
}

Response jobs_of(const Request& request, OpenRun& run) {
  const Asked asked{request.text("timeline") != "0", request.text("rooflines") != "0"};
  std::vector<Turn> turns;
  SqliteRows workloads(run.file(), "SELECT name, kind, from_ps, to_ps FROM workload");
  while (workloads.next())
    turns.push_back({workloads.text(0), workloads.text(1), workloads.integer(2), workloads.integer(3)});
  const bool has_jobs = run.has_table("job_step"), has_nccl = run.has_table("nccl_row");
  Json jobs = Json::array();
  if (!has_jobs && !has_nccl) return json_answer(Json{{"jobs", jobs}});
  const auto job_count = std::count_if(turns.begin(), turns.end(), [](const Turn& turn) { return turn.kind == "job"; });
  nlohmann::json results;
  if (has_nccl) {
    const auto text = read_file(run.directory() + "/results.json", kMostResults_B);
    if (text) results = bounded_json<nlohmann::json>(*text);
    if (!results.is_object()) results = nlohmann::json::object();
  }
  RunCollectives collectives(run);
  for (const Turn& turn : turns) {
    if (turn.kind == "job" && has_jobs) jobs.push_back(job_of(run, turn, job_count == 1, asked, collectives));
    if (turn.kind == "nccl" && has_nccl) jobs.push_back(nccl_of(run, turn, results, asked, collectives));
  }
  return json_answer(Json{{"jobs", std::move(jobs)}});
}

}  // namespace

void add_job_routes(Router& router, const RunPlace& place, AnswerCache& cache) {
  router.add("GET", "/api/runs/*/jobs", on_run(place, cache, jobs_of));
}

}  // namespace weft::serve
