#include "serve/jobs/job_routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/files.h"
#include "results/sqlite_file.h"
#include "serve/jobs/job_slices.h"
#include "serve/jobs/roofline.h"

namespace weft::serve {

namespace {

using Json = nlohmann::ordered_json;
using lab::SqliteFile;
using lab::SqliteRows;

constexpr std::size_t kMostResults_B = std::size_t{256} << 20;

// Where the ranks of a job are, and what the hosts' ports carry.
struct Machines {
  std::map<std::string, double> rate_Bps;  // of all ports of a host
  double slowest(const std::set<std::string>& hosts) const {
    double least = 0;
    for (const std::string& host : hosts) {
      const auto it = rate_Bps.find(host);
      if (it == rate_Bps.end()) return 0;
      least = least == 0 ? it->second : std::min(least, it->second);
    }
    return least;
  }
};

Machines read_machines(SqliteFile& file) {
  Machines machines;
  SqliteRows rows(file, "SELECT node, rate_bps FROM port WHERE rate_bps IS NOT NULL");
  while (rows.next()) machines.rate_Bps[rows.text(0)] += static_cast<double>(rows.integer(1)) / 8;
  return machines;
}

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

// Of a group of ranks by its name, with the share of its hosts' ports that it can have: all groups of its kind work at
// once, each with its part of the ranks of a host.
CollectivePlace place_of_group(const JobTimeline& timeline, const std::string& group, const Machines& machines) {
  std::set<std::uint32_t> ranks;
  std::set<std::string> hosts;
  std::map<std::string, std::set<std::uint32_t>> all_by_host, own_by_host;
  for (const JobTrack& track : timeline.tracks) {
    all_by_host[track.host].insert(track.rank);
    if (track.name != group) continue;
    ranks.insert(track.rank);
    hosts.insert(track.host);
    own_by_host[track.host].insert(track.rank);
  }
  double share = 1;
  for (const std::string& host : hosts)
    share =
        std::min(share, static_cast<double>(own_by_host[host].size()) / static_cast<double>(all_by_host[host].size()));
  return {static_cast<double>(ranks.size()), static_cast<double>(hosts.size()), machines.slowest(hosts) * share};
}

Json roofline_or_null(std::optional<double> value) {
  return value ? Json(*value) : Json(nullptr);
}

Json job_of(SqliteFile& file, const std::string& directory, const std::string& workload, bool only_job,
            std::int64_t from_ps, const Machines& machines) {
  Json job{{"workload", workload}, {"kind", "job"}, {"from_ps", from_ps}};
  const std::string name = only_job ? "timeline.json" : "timeline-" + workload + ".json";
  std::ifstream stream;
  if (is_plain_name(name) && is_own_file(directory + "/" + name)) stream.open(directory + "/" + name);
  const JobTimeline timeline = read_job_timeline(stream);
  add_timeline(timeline, job);

  Json steps = Json::array();
  SqliteRows step_rows(file, "SELECT step_ps FROM job_step WHERE workload = ? ORDER BY step");
  step_rows.bind(workload);
  std::int64_t at_ps = from_ps;
  while (step_rows.next()) {
    const std::int64_t end_ps = at_ps + step_rows.integer(0);
    steps.push_back({{"from_ps", at_ps}, {"to_ps", end_ps}});
    at_ps = end_ps;
  }
  job["steps"] = std::move(steps);

  Json ranks = Json::array();
  SqliteRows rank_rows(file,
                       "SELECT rank, host, gpu, compute_ps, slowed_ps, exposed_ps, receive_ps, late_ps FROM job_rank "
                       "WHERE workload = ? ORDER BY rank");
  rank_rows.bind(workload);
  while (rank_rows.next()) {
    ranks.push_back({{"rank", rank_rows.integer(0)},
                     {"host", rank_rows.text(1)},
                     {"gpu", rank_rows.integer(2)},
                     {"compute_ps", rank_rows.integer(3)},
                     {"slowed_ps", rank_rows.integer(4)},
                     {"exposed_ps", rank_rows.integer(5)},
                     {"receive_ps", rank_rows.integer(6)},
                     {"late_ps", rank_rows.integer(7)}});
  }
  job["ranks"] = std::max<std::size_t>(timeline.ranks, ranks.size());
  job["rank"] = std::move(ranks);

  Json busbw = Json::array();
  SqliteRows collectives(file,
                         "SELECT name, collective, size_B, busbw_Bps, min_busbw_Bps, slowest, kind, count FROM "
                         "job_collective WHERE workload = ? ORDER BY kind, name, size_B");
  collectives.bind(workload);
  while (collectives.next()) {
    const std::string collective = collectives.text(1);
    const CollectivePlace place = place_of_group(timeline, collectives.text(5), machines);
    busbw.push_back({{"collective", collectives.text(0)},
                     {"groups", collectives.text(6)},
                     {"size_B", collectives.integer(2)},
                     {"count", collectives.integer(7)},
                     {"busbw_Bps", collectives.real(3)},
                     {"least_Bps", collectives.real(4)},
                     {"roofline_Bps", roofline_or_null(busbw_roofline_Bps(collective, place))},
                     {"choice", ""}});
  }
  job["busbw"] = std::move(busbw);

  Json stragglers = Json::array();
  SqliteRows late(file, "SELECT who, reason, lost_us FROM job_straggler WHERE workload = ? ORDER BY lost_us DESC");
  late.bind(workload);
  while (late.next())
    stragglers.push_back({{"who", late.text(0)}, {"reason", late.text(1)}, {"lost_us", late.real(2)}});
  job["stragglers"] = std::move(stragglers);
  return job;
}

// What nccl-tests said of a workload in results.json, with the members that are read.
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

// Rows of nccl-tests; where its ranks were is in results.json.
Json nccl_of(SqliteFile& file, const std::string& workload, const nlohmann::json& results, std::int64_t from_ps,
             const Machines& machines) {
  std::string program;
  CollectivePlace place;
  std::set<std::string> hosts;
  nlohmann::json tests = tests_of(results, workload);
  if (!tests["args"].empty() && tests["args"][0].is_string()) program = tests["args"][0].get<std::string>();
  for (const auto& device : tests["config"]["devices"]) {
    ++place.ranks;
    if (device.is_object() && device.contains("hostname") && device["hostname"].is_string())
      hosts.insert(device["hostname"].get<std::string>());
  }
  place.hosts = static_cast<double>(hosts.size());
  place.host_Bps = machines.slowest(hosts);
  Json job{{"workload", workload}, {"kind", "nccl"}, {"from_ps", from_ps}};
  add_timeline({}, job);
  job["ranks"] = static_cast<int>(place.ranks);
  job["steps"] = Json::array();
  job["rank"] = Json::array();
  Json busbw = Json::array();
  SqliteRows rows(file,
                  "SELECT size_B, busbw_GBps, in_place, choice FROM nccl_row WHERE workload = ? AND busbw_GBps IS NOT "
                  "NULL ORDER BY in_place, size_B");
  rows.bind(workload);
  while (rows.next()) {
    if (rows.integer(2) != 0) continue;
    busbw.push_back({{"collective", program.empty() ? workload : program},
                     {"groups", ""},
                     {"size_B", rows.integer(0)},
                     {"count", 1},
                     {"busbw_Bps", rows.real(1) * 1e9},
                     {"least_Bps", rows.real(1) * 1e9},
                     {"roofline_Bps", roofline_or_null(busbw_roofline_Bps(program, place))},
                     {"choice", rows.text(3)}});
  }
  job["busbw"] = std::move(busbw);
  job["stragglers"] = Json::array();
  return job;
}

bool has_table(SqliteFile& file, const char* name) {
  SqliteRows rows(file, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?");
  rows.bind(name);
  return rows.next();
}

Response list_jobs(const Request& request, const RunPlace& place) {
  const auto directory = place.find(request.match[0]);
  if (!directory) return problem(404, fmt::format("there is no run {}", request.match[0]));
  Json jobs = Json::array();
  const auto store = place.file(request.match[0], "results.sqlite");
  if (!store) return {200, "application/json", Json{{"jobs", jobs}}.dump(), {}, {}};
  SqliteFile file(*store, SqliteFile::Mode::kRead);
  const Machines machines = read_machines(file);
  struct Turn {
    std::string name, kind;
    std::int64_t from_ps;
  };
  std::vector<Turn> turns;
  SqliteRows workloads(file, "SELECT name, kind, from_ps FROM workload");
  while (workloads.next()) turns.push_back({workloads.text(0), workloads.text(1), workloads.integer(2)});
  const bool has_jobs = has_table(file, "job_step"), has_nccl = has_table(file, "nccl_row");
  const auto job_count = std::count_if(turns.begin(), turns.end(), [](const Turn& turn) { return turn.kind == "job"; });
  nlohmann::json results;
  if (has_nccl) {
    const auto text = read_file(*directory + "/results.json", kMostResults_B);
    if (text) results = nlohmann::json::parse(*text, nullptr, false);
    if (!results.is_object()) results = nlohmann::json::object();
  }
  for (const Turn& turn : turns) {
    if (turn.kind == "job" && has_jobs)
      jobs.push_back(job_of(file, *directory, turn.name, job_count == 1, turn.from_ps, machines));
    if (turn.kind == "nccl" && has_nccl) jobs.push_back(nccl_of(file, turn.name, results, turn.from_ps, machines));
  }
  if (!file.error().empty()) return problem(500, "results.sqlite: " + file.error());
  const Json answer{{"jobs", std::move(jobs)}};
  return {200, "application/json", answer.dump(-1, ' ', false, Json::error_handler_t::replace), {}, {}};
}

}  // namespace

void add_job_routes(Router& router, const RunPlace& place) {
  router.add("GET", "/api/runs/*/jobs", [&place](const Request& request) { return list_jobs(request, place); });
}

}  // namespace weft::serve
