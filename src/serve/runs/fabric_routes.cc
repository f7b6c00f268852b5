#include "serve/runs/fabric_routes.h"

#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "serve/api/api_rows.h"
#include "serve/http/json_answer.h"
#include "serve/runs/activity.h"
#include "serve/runs/open_run.h"
#include "store/json_row.h"
#include "store/rows/fabric_rows.h"
#include "store/rows/run_rows.h"
#include "store/table.h"

namespace weft::serve {

namespace {

using Json = nlohmann::ordered_json;

// Headroom of priority groups: by port, and the default of ports without a row. Older runs do not have it.
class Headrooms {
 public:
  explicit Headrooms(OpenRun& run) {
    for (const store::HeadroomRow& row : store::Reader<store::HeadroomRow>(run.file()))
      sizes_[{row.node, row.port.value_or(""), row.class_}] = row.size_B;
  }
  std::optional<std::int64_t> of(const std::string& node, const std::string& port,
                                 std::optional<std::uint32_t> group) const {
    auto at = sizes_.find({node, port, group});
    if (at == sizes_.end()) at = sizes_.find({node, "", group});
    return at == sizes_.end() ? std::nullopt : std::optional(at->second);
  }

 private:
  std::map<std::tuple<std::string, std::string, std::optional<std::uint32_t>>, std::int64_t> sizes_;
};

std::vector<FabricNode> nodes_of(OpenRun& run, const Headrooms& headrooms) {
  std::vector<FabricNode> list;
  for (const store::NodeRow& row : store::Reader<store::NodeRow>(run.file())) {
    FabricNode node{row.name, row.kind == "vm" ? "host" : row.kind, row.model, 0, {}, headrooms.of(row.name, "", {})};
    if (row.tier) node.tier = *row.tier + 1;
    if (row.kind == "switch") node.pool_B = row.pool_B;
    list.push_back(std::move(node));
  }
  return list;
}

std::vector<FabricLink> links_of_fabric(OpenRun& run) {
  std::vector<FabricLink> list;
  for (const store::CableRow& row : store::Reader<store::CableRow>(run.file()))
    list.push_back({row.a, row.b, row.rate_bps, static_cast<double>(row.length_mm) / 1000});
  return list;
}

using PortsOfSwitches = std::map<std::string, std::vector<std::string>>;
PortsOfSwitches cabled_ports(OpenRun& run) {
  PortsOfSwitches ports;
  for (const store::PortRow& row : store::Reader<store::PortRow>(
           run.file(), "WHERE node IN (SELECT name FROM node WHERE kind = 'switch') ORDER BY rowid"))
    ports[row.node].push_back(row.name);
  return ports;
}

// The limits are per switch; they apply to every port with a cable. Packets are marked in the queue that they leave by.
std::vector<FabricQueue> queues_of_fabric(OpenRun& run, PortsOfSwitches& ports) {
  std::vector<FabricQueue> list;
  for (const store::QueueLimitRow& row : store::Reader<store::QueueLimitRow>(run.file())) {
    if (!row.ecn_max_B) continue;
    for (const std::string& port : ports[row.node])
      list.push_back({row.node + ":" + port, row.class_, row.ecn_min_B.value_or(0), *row.ecn_max_B});
  }
  return list;
}

// XOFF is asked for by the priority group that they came in by.
std::vector<FabricGroup> groups_of_fabric(OpenRun& run, const Headrooms& headrooms, PortsOfSwitches& ports) {
  std::vector<FabricGroup> list;
  for (const store::QueueLimitRow& row : store::Reader<store::QueueLimitRow>(run.file())) {
    if (!row.xoff_B) continue;
    for (const std::string& port : ports[row.node])
      list.push_back({row.node + ":" + port, row.class_, *row.xoff_B, row.xon_B.value_or(0),
                      headrooms.of(row.node, port, row.class_)});
  }
  return list;
}

Response fabric_of(OpenRun& run) {
  const Headrooms headrooms(run);
  PortsOfSwitches ports = cabled_ports(run);
  store::JsonText text;
  text.open('{');
  store::add_list(text, "nodes", nodes_of(run, headrooms));
  store::add_list(text, "links", links_of_fabric(run));
  store::add_list(text, "queues", queues_of_fabric(run, ports));
  store::add_list(text, "groups", groups_of_fabric(run, headrooms, ports));
  text.close('}');
  return json_answer(text);
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
