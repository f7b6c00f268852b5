// config_db.json.
#include "gear/bundle/switch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>

namespace weft::gear {

namespace {

using ConfigJson = nlohmann::json;

constexpr const char* kConfigDb = "cat /etc/sonic/config_db.json";
constexpr std::size_t kMostSwitchPorts = 4096, kShownLine_B = 200;

// Where each key of a JSON text stands, down to the third level: to say where a value was read.
class ConfigText {
 public:
  // The text has been parsed: it is JSON.
  ConfigText(std::string_view text, std::string file, std::string section, int before)
      : text_(text), file_(std::move(file)), section_(std::move(section)) {
    std::vector<std::string> path;
    std::size_t depth = 0, line_begin = 0;
    int line = before + 1;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\n') {
        ++line;
        line_begin = i + 1;
      } else if (text[i] == '{' || text[i] == '[') {
        ++depth;
      } else if (text[i] == '}' || text[i] == ']') {
        depth -= depth > 0 ? 1 : 0;
      } else if (text[i] == '"') {
        const std::size_t begin = i + 1;
        for (++i; i < text.size() && text[i] != '"'; ++i) i += text[i] == '\\' ? 1 : 0;
        if (i >= text.size()) break;
        const std::size_t next = text.find_first_not_of(" \t\r\n", i + 1);
        if (next == text.npos || text[next] != ':' || depth == 0 || depth > 3) continue;
        path.resize(depth - 1);
        path.emplace_back(text.substr(begin, i - begin));
        places_.emplace(fmt::format("{}", fmt::join(path, "\n")), Place{line, line_begin});
      }
    }
  }

  // The line of the last of these keys that is there.
  Evidence at(std::initializer_list<std::string_view> keys) const {
    Place place{1, 0};
    std::string path;
    for (std::string_view key : keys) {
      path += (path.empty() ? "" : "\n") + std::string(key);
      const auto it = places_.find(path);
      if (it == places_.end()) break;
      place = it->second;
    }
    const std::string_view line = text_.substr(place.begin, text_.find('\n', place.begin) - place.begin);
    return {file_, section_, place.line, std::string(trimmed(line).substr(0, kShownLine_B))};
  }

 private:
  struct Place {
    int line;
    std::size_t begin;
  };
  std::string_view text_;
  std::string file_, section_;
  std::unordered_map<std::string, Place> places_;
};

std::string string_of(const ConfigJson& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : "";
}

// Images before 2022 wrote [TABLE|NAME].
std::string reference(std::string text) {
  if (text.starts_with("[") && text.ends_with("]")) {
    const std::size_t bar = text.rfind('|');
    if (bar != text.npos) return text.substr(bar + 1, text.size() - bar - 2);
  }
  return text;
}

const ConfigJson& table_of(const ConfigJson& config, const char* name) {
  static const ConfigJson kNone = ConfigJson::object();
  const auto it = config.find(name);
  return it != config.end() && it->is_object() ? *it : kNone;
}

class ConfigReader {
 public:
  ConfigReader(const ConfigJson& config, const ConfigText& text, SwitchState& state)
      : config_(config), text_(text), state_(state) {}

  void read() {
    const ConfigJson& metadata = table_of(config_, "DEVICE_METADATA");
    if (metadata.contains("localhost") && metadata["localhost"].is_object())
      if (const std::string name = string_of(metadata["localhost"], "hostname"); !name.empty()) state_.name = name;
    read_ports();
    read_maps("DSCP_TO_TC_MAP", state_.dscp_to_tc);
    read_maps("TC_TO_QUEUE_MAP", state_.tc_to_queue);
    read_maps("TC_TO_PRIORITY_GROUP_MAP", state_.tc_to_group);
    read_maps("MAP_PFC_PRIORITY_TO_QUEUE", state_.pfc_to_queue);
    read_qos_of_ports();
    read_profiles();
    read_port_keys("BUFFER_PG", "profile", &SwitchPort::group_profile);
    read_port_keys("QUEUE", "wred_profile", &SwitchPort::queue_wred);
    state_.has_buffers = config_.contains("BUFFER_PG") || config_.contains("BUFFER_PROFILE");
    state_.has_config = true;
  }

 private:
  SwitchPort* port(const std::string& name) {
    const auto it = state_.ports.find(name);
    if (it != state_.ports.end()) return &it->second;
    if (state_.ports.size() >= kMostSwitchPorts) return nullptr;
    SwitchPort& made = state_.ports[name];
    made.name = name;
    return &made;
  }

  void read_ports() {
    for (const auto& [name, object] : table_of(config_, "PORT").items()) {
      SwitchPort* each = object.is_object() ? port(name) : nullptr;
      if (each == nullptr) continue;
      each->alias = string_of(object, "alias");
      if (const auto speed = leading_number(string_of(object, "speed")))
        each->speed_Mbps = {*speed, text_.at({"PORT", name, "speed"})};
      if (const auto mtu = leading_number(string_of(object, "mtu")))
        each->mtu = {*mtu, text_.at({"PORT", name, "mtu"})};
      if (const std::string fec = string_of(object, "fec"); !fec.empty())
        each->fec = {lower_case(fec), text_.at({"PORT", name, "fec"})};
      if (const std::string admin = string_of(object, "admin_status"); !admin.empty())
        each->admin = {lower_case(admin), text_.at({"PORT", name, "admin_status"})};
      // "gpu01:ens1f0np0", as many sites write it.
      const std::string description = string_of(object, "description");
      if (const std::size_t colon = description.find(':'); colon != description.npos) {
        each->neighbour_host = description.substr(0, colon);
        each->neighbour_port = description.substr(colon + 1);
      }
    }
    for (const auto& [name, object] : table_of(config_, "DEVICE_NEIGHBOR").items()) {
      if (!object.is_object() || !state_.ports.contains(name)) continue;
      state_.ports[name].neighbour_host = string_of(object, "name");
      state_.ports[name].neighbour_port = string_of(object, "port");
    }
  }

  void read_maps(const char* table, std::map<std::string, NamedMap>& maps) {
    for (const auto& [name, object] : table_of(config_, table).items()) {
      if (!object.is_object()) continue;
      NamedMap& map = maps[name];
      map.from = text_.at({table, name});
      for (const auto& [key, value] : object.items()) {
        const auto from = leading_number(key);
        const auto to = value.is_string() ? leading_number(value.get<std::string>()) : std::nullopt;
        if (from && to && *from < 64 && *to < 64)
          map.map[static_cast<std::uint32_t>(*from)] = static_cast<std::uint32_t>(*to);
      }
    }
  }

  void read_qos_of_ports() {
    const ConfigJson& table = table_of(config_, "PORT_QOS_MAP");
    const auto bind = [&](SwitchPort& each, const std::string& key, const ConfigJson& object) {
      const auto name = [&](const char* field, Maybe<std::string>& place) {
        if (const std::string value = string_of(object, field); !value.empty())
          place = {reference(value), text_.at({"PORT_QOS_MAP", key, field})};
      };
      name("dscp_to_tc_map", each.dscp_map);
      name("tc_to_queue_map", each.queue_map);
      name("tc_to_pg_map", each.group_map);
      name("pfc_to_queue_map", each.pfc_queue_map);
      if (object.contains("pfc_enable") && object["pfc_enable"].is_string()) {
        std::uint8_t mask = 0;
        for (std::uint32_t priority : number_list(object["pfc_enable"].get<std::string>()))
          if (priority < 8) mask = static_cast<std::uint8_t>(mask | 1 << priority);
        each.pfc = {mask, text_.at({"PORT_QOS_MAP", key, "pfc_enable"})};
      }
    };
    if (const auto global = table.find("global"); global != table.end() && global->is_object())
      for (auto& [name, each] : state_.ports) bind(each, "global", *global);
    for (const auto& [key, object] : table.items()) {
      if (key == "global" || !object.is_object()) continue;
      for (std::string_view name : words_of(key, ",")) {
        if (SwitchPort* each = port(std::string(name))) bind(*each, key, object);
      }
    }
  }

  void read_profiles() {
    for (const auto& [name, object] : table_of(config_, "WRED_PROFILE").items()) {
      if (!object.is_object()) continue;
      const std::string ecn = string_of(object, "ecn");
      state_.wred_marks[name] = {!ecn.empty() && ecn != "ecn_none", text_.at({"WRED_PROFILE", name, "ecn"})};
    }
    for (const auto& [name, object] : table_of(config_, "BUFFER_PROFILE").items()) {
      if (!object.is_object()) continue;
      const auto xoff = leading_number(string_of(object, "xoff"));
      // The dynamic buffer model computes xoff for profiles that have a lossless pool or an alpha alone.
      const bool lossless = (xoff && *xoff > 0) || (!xoff && string_of(object, "headroom_type") == "dynamic");
      state_.profile_lossless[name] = {lossless, text_.at({"BUFFER_PROFILE", name})};
    }
  }

  // "Ethernet0|3-4" and "Ethernet0,Ethernet4|3": for each port and number the value of the field.
  void read_port_keys(const char* table, const char* field,
                      std::map<std::uint32_t, Seen<std::string>> SwitchPort::*place) {
    for (const auto& [key, object] : table_of(config_, table).items()) {
      const std::size_t bar = key.find('|');
      if (bar == key.npos || !object.is_object()) continue;
      const std::string value = reference(string_of(object, field));
      if (value.empty()) continue;
      const Evidence from = text_.at({table, key, field});
      for (std::string_view name : words_of(std::string_view(key).substr(0, bar), ",")) {
        SwitchPort* each = port(std::string(name));
        if (each == nullptr) continue;
        for (std::uint32_t number : number_list(std::string_view(key).substr(bar + 1)))
          if (number < 64) (each->*place)[number] = {value, from};
      }
    }
  }

  const ConfigJson& config_;
  const ConfigText& text_;
  SwitchState& state_;
};

tl::expected<void, lab::Problem> read_config(std::string_view text, const std::string& file, const std::string& section,
                                             int before, SwitchState& state) {
  lab::Problem problem;
  problem.line = before + 1;
  problem.column = 1;
  ConfigJson config;
  try {
    config = ConfigJson::parse(text);
  } catch (const ConfigJson::parse_error& error) {
    const std::size_t byte = std::min<std::size_t>(error.byte, text.size());
    problem.line += static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(byte), '\n'));
    problem.message = "this is not the JSON of a config_db.json";
    problem.remedy = "copy /etc/sonic/config_db.json again, whole";
    return tl::unexpected(problem);
  }
  const bool known = config.is_object() &&
                     (config.contains("PORT") || config.contains("PORT_QOS_MAP") || config.contains("DEVICE_METADATA"));
  if (!known) {
    problem.message = "JSON, but no config_db.json: it has none of PORT, PORT_QOS_MAP, DEVICE_METADATA";
    problem.remedy = "give /etc/sonic/config_db.json of a SONiC switch; results of perftest go to --pairs DIR";
    return tl::unexpected(problem);
  }
  const ConfigText place(text, file, section, before);
  ConfigReader(config, place, state).read();
  return {};
}

std::optional<std::uint32_t> look_up(const std::map<std::string, NamedMap>& maps, const Maybe<std::string>& name,
                                     std::uint32_t key) {
  const auto map = name ? maps.find(name->value) : maps.end();
  if (map == maps.end()) return std::nullopt;
  const auto value = map->second.map.find(key);
  return value == map->second.map.end() ? std::nullopt : std::optional(value->second);
}

}  // namespace

std::optional<std::uint32_t> SwitchState::traffic_class(const SwitchPort& port, std::uint32_t dscp) const {
  return look_up(dscp_to_tc, port.dscp_map, dscp);
}
std::optional<std::uint32_t> SwitchState::queue(const SwitchPort& port, std::uint32_t tc) const {
  return look_up(tc_to_queue, port.queue_map, tc);
}
std::optional<std::uint32_t> SwitchState::group(const SwitchPort& port, std::uint32_t tc) const {
  return look_up(tc_to_group, port.group_map, tc);
}

tl::expected<SwitchState, lab::Problem> read_config_db(std::string_view text, const std::string& file) {
  SwitchState state;
  state.name = state.file = file;
  auto read = read_config(text, file, "config_db.json", 0, state);
  if (!read) return tl::unexpected(read.error());
  return state;
}

bool is_switch(const Bundle& bundle) {
  return std::any_of(bundle.sections.begin(), bundle.sections.end(),
                     [](const BundleSection& section) { return section.command == kConfigDb; });
}

tl::expected<SwitchState, lab::Problem> read_switch(const Bundle& bundle) {
  SwitchState state;
  state.name = bundle.host;
  state.file = bundle.file;
  for (const BundleSection& section : bundle.sections) {
    if (section.command != kConfigDb) continue;
    std::string text;
    for (const std::string& line : section.lines) text += line + "\n";
    auto read = read_config(text, bundle.file, section.command, section.line, state);
    if (!read) return tl::unexpected(read.error());
  }
  for (const BundleSection& section : bundle.sections) read_show(bundle, section, state);
  return state;
}

}  // namespace weft::gear
