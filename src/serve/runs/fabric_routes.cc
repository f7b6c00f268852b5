#include "serve/runs/fabric_routes.h"

#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "serve/http/json_answer.h"
#include "serve/runs/activity.h"
#include "serve/runs/open_run.h"

namespace weft::serve {

namespace {

using Json = nlohmann::ordered_json;

Json number_or_null(const lab::SqliteRows& rows, int column) {
  return rows.is_null(column) ? Json() : Json(rows.integer(column));
}

// Headroom of priority groups: by port, and the default of ports without a row. Older runs do not have it.
class Headrooms {
 public:
  explicit Headrooms(OpenRun& run) {
    if (!run.has_table("headroom")) return;
    lab::SqliteRows rows(run.file(),
                         "SELECT node, coalesce(port, ''), coalesce(class, -1), size_B FROM headroom ORDER BY rowid");
    while (rows.next()) sizes_[{rows.text(0), rows.text(1), rows.integer(2)}] = rows.integer(3);
  }
  Json of(const std::string& node, const std::string& port, std::int64_t group) const {
    auto at = sizes_.find({node, port, group});
    if (at == sizes_.end()) at = sizes_.find({node, "", group});
    return at == sizes_.end() ? Json() : Json(at->second);
  }

 private:
  std::map<std::tuple<std::string, std::string, std::int64_t>, std::int64_t> sizes_;
};

Json nodes_of(OpenRun& run, const Headrooms& headrooms) {
  Json list = Json::array();
  lab::SqliteRows rows(run.file(), "SELECT name, kind, model, tier, pool_B FROM node ORDER BY rowid");
  while (rows.next()) {
    const std::string kind = rows.text(1);
    list.push_back({{"name", rows.text(0)},
                    {"kind", kind == "vm" ? "host" : kind},
                    {"model", rows.text(2)},
                    {"tier", rows.is_null(3) ? 0 : rows.integer(3) + 1},
                    {"pool_B", kind == "switch" ? number_or_null(rows, 4) : Json()},
                    {"headroom_pool_B", headrooms.of(rows.text(0), "", -1)}});
  }
  return list;
}

Json links_of_fabric(OpenRun& run) {
  Json list = Json::array();
  lab::SqliteRows rows(run.file(), "SELECT a, b, rate_bps, length_mm FROM cable ORDER BY rowid");
  while (rows.next())
    list.push_back({{"a", rows.text(0)},
                    {"b", rows.text(1)},
                    {"rate_bps", rows.integer(2)},
                    {"length_m", static_cast<double>(rows.integer(3)) / 1000}});
  return list;
}

using PortsOfSwitches = std::map<std::string, std::vector<std::string>>;
PortsOfSwitches cabled_ports(OpenRun& run) {
  std::map<std::string, std::vector<std::string>> ports;
  lab::SqliteRows cabled(run.file(),
                         "SELECT p.node, p.name FROM port p JOIN node n ON n.name = p.node WHERE n.kind = 'switch' "
                         "ORDER BY p.rowid");
  while (cabled.next()) ports[cabled.text(0)].push_back(cabled.text(1));
  return ports;
}

// The limits are per switch; they apply to every port with a cable. Packets are marked in the queue that they leave by.
Json queues_of_fabric(OpenRun& run, PortsOfSwitches& ports) {
  Json list = Json::array();
  lab::SqliteRows rows(run.file(),
                       "SELECT node, class, ecn_min_B, ecn_max_B FROM queue_limit WHERE ecn_max_B IS NOT NULL "
                       "ORDER BY rowid");
  while (rows.next()) {
    for (const std::string& port : ports[rows.text(0)])
      list.push_back({{"port", rows.text(0) + ":" + port},
                      {"class", rows.integer(1)},
                      {"ecn_min_B", rows.integer(2)},
                      {"ecn_max_B", rows.integer(3)}});
  }
  return list;
}

// XOFF is asked for by the priority group that they came in by.
Json groups_of_fabric(OpenRun& run, const Headrooms& headrooms, PortsOfSwitches& ports) {
  Json list = Json::array();
  lab::SqliteRows rows(run.file(),
                       "SELECT node, class, xoff_B, xon_B FROM queue_limit WHERE xoff_B IS NOT NULL ORDER BY rowid");
  while (rows.next()) {
    const std::string node = rows.text(0);
    for (const std::string& port : ports[node])
      list.push_back({{"port", node + ":" + port},
                      {"class", rows.integer(1)},
                      {"xoff_B", rows.integer(2)},
                      {"xon_B", rows.integer(3)},
                      {"headroom_B", headrooms.of(node, port, rows.integer(1))}});
  }
  return list;
}

Response fabric_of(OpenRun& run) {
  const Headrooms headrooms(run);
  PortsOfSwitches ports = cabled_ports(run);
  return json_answer(Json{{"nodes", nodes_of(run, headrooms)},
                          {"links", links_of_fabric(run)},
                          {"queues", queues_of_fabric(run, ports)},
                          {"groups", groups_of_fabric(run, headrooms, ports)}});
}

// Bins that a request for activity asks for, or why that is wrong.
struct BinsOfWindow {
  TimeWindow window;
  std::uint32_t bins = 0;
};
tl::expected<BinsOfWindow, Response> bins_of(const Request& request, const OpenRun& run) {
  const auto window = window_of(request, run);
  const auto bins = request.number("bins", 600, 1, 4096);
  if (!window) return tl::unexpected(problem(422, "from_ps and to_ps are times in picoseconds, from_ps before to_ps"));
  if (!bins) return tl::unexpected(problem(422, "bins is a number from 1 to 4096"));
  return BinsOfWindow{*window, static_cast<std::uint32_t>(*bins)};
}

Response activity_total_of(const Request& request, OpenRun& run) {
  const auto asked = bins_of(request, run);
  if (!asked) return asked.error();
  const ActivityTotal total = read_activity_total(run, asked->window, asked->bins);
  return json_answer(Json{{"bins", total.bins},
                          {"from_ps", total.window.from_ps},
                          {"to_ps", total.window.to_ps},
                          {"hosts", total.hosts},
                          {"busy_directions", total.busy},
                          {"received_bps", total.received_bps},
                          {"paused_directions", total.paused}});
}

Response activity_of(const Request& request, OpenRun& run) {
  const auto asked = bins_of(request, run);
  if (!asked) return asked.error();
  const Activity activity = read_activity(run, asked->window, asked->bins);
  return json_answer(Json{{"bins", activity.bins},
                          {"from_ps", activity.window.from_ps},
                          {"to_ps", activity.window.to_ps},
                          {"ports", activity.ports},
                          {"most_queue_B", activity.most_queue_B},
                          {"used", base64(activity.used)},
                          {"paused", base64(activity.paused)},
                          {"queue", base64(activity.queue)},
                          {"group", base64(activity.group)}});
}

}  // namespace

void add_fabric_routes(Router& router, const RunPlace& place, AnswerCache& cache) {
  router.add("GET", "/api/runs/*/fabric",
             on_run(place, cache, [](const Request&, OpenRun& run) { return fabric_of(run); }));
  router.add("GET", "/api/runs/*/activity/total", on_run(place, cache, activity_total_of));
  router.add("GET", "/api/runs/*/activity", on_run(place, cache, activity_of));
}

}  // namespace weft::serve
