#include "serve/worlds/world_view.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <span>

#include "live/os/place.h"
#include "serve/http/bounded_json.h"

namespace weft::serve {

namespace {

using WorldObject = nlohmann::ordered_json;

// Copies `count` rows and advances; false if there are fewer.
template <typename Row>
bool take_status_rows(std::span<const std::byte>& from, std::size_t count, std::vector<Row>& rows) {
  if (count > from.size() / sizeof(Row)) return false;
  rows.resize(count);
  if (count > 0) std::memcpy(rows.data(), from.data(), count * sizeof(Row));
  from = from.subspan(count * sizeof(Row));
  return true;
}

std::optional<WorldSummary> ask_summary(const std::string& directory, const std::string& name) {
  auto reply = live::ask_world(live::socket_path(directory, name), verbs::Op::kStatus);
  WorldSummary world{name, {}, {}};
  if (!reply || reply->body.size() < sizeof(world.head)) return std::nullopt;
  std::memcpy(&world.head, reply->body.data(), sizeof(world.head));
  std::span<const std::byte> rows = std::span(reply->body).subspan(sizeof(world.head));
  if (!take_status_rows(rows, world.head.processes, world.programs)) return std::nullopt;
  for (verbs::ProcessStatus& row : world.programs) row.node[sizeof(row.node) - 1] = row.name[sizeof(row.name) - 1] = 0;
  return world;
}

std::string dump_world(const WorldObject& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

const WorldObject& member(const WorldObject& json, const char* name) {
  static const WorldObject kNone = WorldObject::array();
  const auto it = json.is_object() ? json.find(name) : json.end();
  return it == json.end() ? kNone : *it;
}

std::string text_member(const WorldObject& json, const char* name) {
  const WorldObject& value = member(json, name);
  return value.is_string() ? value.get<std::string>() : std::string();
}

std::string node_of(const std::string& port) {
  return port.substr(0, port.rfind(':'));
}

// All groups of counters of a port; those of a switch by class.
WorldObject counters_of_port(const WorldObject& port) {
  WorldObject groups = WorldObject::object();
  for (const auto& [name, value] : port.items()) {
    if (value.is_object() && !value.empty()) groups[name] = value;
  }
  for (const WorldObject& each : member(port, "classes")) {
    WorldObject counters = each;
    counters.erase("class");
    groups["class " + member(each, "class").dump()] = std::move(counters);
  }
  return groups;
}

// Current bytes by "PORT CLASS"; empty queues are omitted.
std::map<std::string, std::uint64_t> queues_now_B(const WorldObject& read) {
  std::map<std::string, std::uint64_t> now_B;
  for (const WorldObject& each : member(read, "queues")) {
    const WorldObject& queue_B = member(each, "queue_B");
    if (queue_B.is_number_unsigned())
      now_B[text_member(each, "port") + " " + member(each, "class").dump()] = queue_B.get<std::uint64_t>();
  }
  return now_B;
}

std::uint64_t queue_now_B(const std::map<std::string, std::uint64_t>& now_B, const std::string& port,
                          const WorldObject& row) {
  const auto at = now_B.find(port + " " + member(row, "class").dump());
  return at == now_B.end() ? 0 : at->second;
}

class FabricBuilder {
 public:
  void add_node(const std::string& name, const char* kind, const std::string& model, const WorldObject& tier) {
    const bool known = std::any_of(nodes.begin(), nodes.end(), [&](const auto& node) { return node["name"] == name; });
    if (!known) nodes.push_back({{"name", name}, {"kind", kind}, {"model", model}, {"tier", tier}});
  }
  // Each link is listed at both of its ends.
  void add_link(const std::string& port, const WorldObject& from) {
    const std::string peer = text_member(from, "peer");
    if (peer.empty() || peer < port) return;
    links.push_back({{"a", port}, {"b", peer}, {"rate_bps", member(from, "rate_bps")}, {"length_m", nullptr}});
  }
  WorldObject nodes = WorldObject::array(), links = WorldObject::array();
};

}  // namespace

std::vector<WorldSummary> worlds_that_are_up() {
  std::vector<WorldSummary> worlds;
  const auto directory = live::runtime_directory();
  if (!directory) return worlds;
  for (const std::string& name : live::worlds_up(*directory)) {
    if (auto world = ask_summary(*directory, name)) worlds.push_back(std::move(*world));
  }
  return worlds;
}

std::string world_summary_json(const WorldSummary& world) {
  return dump_world({{"name", world.name},
                     {"now_ps", world.head.now_ps},
                     {"clock", world.head.clock == verbs::Clock::kWall ? "wall" : "virtual"},
                     {"programs", world.programs.size()}});
}

std::string world_gone_json(const std::string& name) {
  return dump_world({{"name", name}, {"gone", true}});
}

std::string worlds_json() {
  WorldObject list = WorldObject::array();
  const auto directory = live::runtime_directory();
  for (const WorldSummary& world : worlds_that_are_up()) {
    WorldObject json = WorldObject::parse(world_summary_json(world));
    const auto results = live::ask_world_text(live::socket_path(*directory, world.name), verbs::Op::kResults);
    const WorldObject read = results ? bounded_json<WorldObject>(*results) : WorldObject();
    const WorldObject detail = WorldObject::parse(world_detail(world, results ? *results : "", "[]"));
    json["lab"] = text_member(read, "lab");
    json["nodes"] = detail["fabric"]["nodes"].size();
    list.push_back(std::move(json));
  }
  return dump_world({{"worlds", list}});
}

std::string world_detail(const WorldSummary& world, const std::string& results, const std::string& captures) {
  WorldObject json = WorldObject::parse(world_summary_json(world));
  const WorldObject read = bounded_json<WorldObject>(results);
  const WorldObject captured = bounded_json<WorldObject>(captures);
  json["lab"] = text_member(read, "lab");
  json["behind_ps"] = world.head.behind_ps;
  json["deterministic"] = world.head.clock != verbs::Clock::kWall && world.head.deterministic == 1;
  FabricBuilder fabric;
  const auto now_B = queues_now_B(read);
  WorldObject counters = WorldObject::object(), queues = WorldObject::array();
  for (const WorldObject& port : member(read, "ports")) {
    const std::string name = text_member(port, "name"), node = node_of(name);
    fabric.add_node(node, "host", text_member(port, "device"), 0);
    fabric.add_link(name, port);
    counters[node][name] = counters_of_port(port);
  }
  for (const WorldObject& each : member(read, "switches")) {
    const std::string node = text_member(each, "name");
    const WorldObject& tier = member(each, "tier");
    fabric.add_node(node, "switch", text_member(each, "model"), tier.is_number() ? tier.get<int>() + 1 : 1);
    for (const WorldObject& port : member(each, "ports")) {
      const std::string name = node + ":" + text_member(port, "name");
      fabric.add_link(name, port);
      counters[node][name] = counters_of_port(port);
      for (const WorldObject& row : member(port, "classes")) {
        if (row.value("max_queue_B", 0) == 0) continue;
        queues.push_back({{"port", name},
                          {"class", member(row, "class")},
                          {"queue_B", queue_now_B(now_B, name, row)},
                          {"max_queue_B", row["max_queue_B"]},
                          {"ecn_marked", row.value("ecn_marked", 0)}});
      }
    }
  }
  json["programs"] = WorldObject::array();
  for (const verbs::ProcessStatus& row : world.programs)
    json["programs"].push_back(
        {{"node", row.node}, {"pid", row.pid}, {"threads", row.threads}, {"qps", row.qps}, {"command", row.name}});
  json["fabric"] = {{"nodes", fabric.nodes}, {"links", fabric.links}, {"queues", WorldObject::array()}};
  json["counters"] = std::move(counters);
  json["queues"] = std::move(queues);
  json["captures"] = captured.is_array() ? captured : member(captured, "captures");
  return dump_world(json);
}

namespace {

std::optional<std::string> socket_of_world(const std::string& name) {
  const auto directory = live::runtime_directory();
  if (!directory || !live::is_world_name(name)) return std::nullopt;
  const auto up = live::worlds_up(*directory);
  if (std::find(up.begin(), up.end(), name) == up.end()) return std::nullopt;
  return live::socket_path(*directory, name);
}

}  // namespace

std::optional<WorldResults> world_results(const std::string& name) {
  const auto socket = socket_of_world(name);
  if (!socket) return std::nullopt;
  const auto world = ask_summary(*live::runtime_directory(), name);
  auto results = live::ask_world_text(*socket, verbs::Op::kResults);
  if (!world || !results) return std::nullopt;
  return WorldResults{std::move(*results), static_cast<std::int64_t>(world->head.now_ps)};
}

std::optional<std::string> world_json(const std::string& name) {
  const auto socket = socket_of_world(name);
  if (!socket) return std::nullopt;
  const auto world = ask_summary(*live::runtime_directory(), name);
  const auto results = live::ask_world_text(*socket, verbs::Op::kResults);
  if (!world || !results) return std::nullopt;
  const auto captures = live::ask_command(*socket, verbs::kNow_ps, true, {"capture", "list"});
  return world_detail(
      *world, *results,
      captures && captures->head.status == 0 ? captures->text.substr(0, captures->text.find('\n')) : "[]");
}

}  // namespace weft::serve
