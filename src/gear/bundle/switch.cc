// config_db.json; and which reader a bundle of a switch is for.
#include "gear/bundle/switch.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "gear/bundle/json_text.h"
#include "gear/bundle/switch_readers.h"

namespace weft::gear {

namespace {

using ConfigJson = nlohmann::json;

constexpr const char* kConfigDb = "cat /etc/sonic/config_db.json";
constexpr std::size_t kMostSwitchPorts = 4096;

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
  ConfigReader(const ConfigJson& config, const JsonText& text, SwitchState& state)
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
    state_.sizes_headroom = !table_of(config_, "CABLE_LENGTH").empty() &&
                            std::none_of(state_.profile_lossless.begin(), state_.profile_lossless.end(),
                                         [](const auto& profile) { return profile.second.value; });
    state_.has_config = true;
  }

 private:
  void read_ports() {
    for (const auto& [name, object] : table_of(config_, "PORT").items()) {
      SwitchPort* each = object.is_object() ? state_.port(name) : nullptr;
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
      set_neighbour(*each, string_of(object, "description"));
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
        if (SwitchPort* each = state_.port(std::string(name))) bind(*each, key, object);
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
        SwitchPort* each = state_.port(std::string(name));
        if (each == nullptr) continue;
        for (std::uint32_t number : number_list(std::string_view(key).substr(bar + 1)))
          if (number < 64) (each->*place)[number] = {value, from};
      }
    }
  }

  const ConfigJson& config_;
  const JsonText& text_;
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
  const JsonText place(text, file, section, before);
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

// NX-OS and EOS both have a running configuration; policy maps of a type are NX-OS's alone.
bool is_nxos_config(const BundleSection& section) {
  return std::any_of(section.lines.begin(), section.lines.end(), [](const std::string& line) {
    return line.starts_with("policy-map type ") || line.starts_with("!Command: show running-config") ||
           line.starts_with("feature ");
  });
}

// Ports of a bridge that are those of a card; containers and virtual machines have others.
std::size_t bridged_cards(const Bundle& bundle, const BundleSection& section) {
  std::size_t count = 0;
  for (const std::string& line : section.lines) {
    // 3: swp1: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9216 master br0 ...
    const auto words = words_of(line, " :@");
    if (words.size() < 2) continue;
    const std::string command = "ethtool " + std::string(words[1]);
    count += std::any_of(bundle.sections.begin(), bundle.sections.end(),
                         [&](const BundleSection& each) { return each.command == command; })
                 ? 1
                 : 0;
  }
  return count;
}

}  // namespace

void set_neighbour(SwitchPort& port, std::string_view description) {
  const std::size_t colon = description.find(':');
  if (colon == description.npos) return;
  port.neighbour_host = std::string(trimmed(description.substr(0, colon)));
  port.neighbour_port = std::string(trimmed(description.substr(colon + 1)));
}

SwitchPort* SwitchState::port(const std::string& port_name) {
  const auto it = ports.find(port_name);
  if (it != ports.end()) return &it->second;
  if (port_name.empty() || ports.size() >= kMostSwitchPorts) return nullptr;
  SwitchPort& made = ports[port_name];
  made.name = port_name;
  return &made;
}

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

std::optional<SwitchOs> switch_os(const Bundle& bundle) {
  bool bridge = false, rdma = false;
  for (const BundleSection& section : bundle.sections) {
    const std::string_view command = section.command;
    if (command == kConfigDb) return SwitchOs::kSonic;
    if (command.starts_with("nv show ") || command.starts_with("nv config ")) return SwitchOs::kCumulus;
    if (command.starts_with("show interface priority-flow-control") || command.starts_with("show queuing "))
      return SwitchOs::kNxos;
    if (command.starts_with("show ") && command.ends_with("| json")) return SwitchOs::kEos;
    if (command.starts_with("show running-config")) return is_nxos_config(section) ? SwitchOs::kNxos : SwitchOs::kEos;
    // swp1: front panel ports of mlxsw by the names that its users give them. Hosts have RDMA devices.
    bridge = bridge || (command.starts_with("bridge link") && bridged_cards(bundle, section) >= 2) ||
             command.starts_with("dcb pfc show dev swp");
    rdma = rdma || (command.starts_with("ls -d /sys/class/infiniband") && !section.lines.empty()) ||
           (command == "rdma link" && !section.lines.empty());
  }
  return bridge && !rdma ? std::optional(SwitchOs::kLinux) : std::nullopt;
}

tl::expected<SwitchState, lab::Problem> read_switch(const Bundle& bundle) {
  SwitchState state;
  state.name = bundle.host;
  state.file = bundle.file;
  state.os = switch_os(bundle).value_or(SwitchOs::kSonic);
  switch (state.os) {
    case SwitchOs::kCumulus:
      read_cumulus(bundle, state);
      return state;
    case SwitchOs::kEos:
      read_eos(bundle, state);
      return state;
    case SwitchOs::kNxos:
      read_nxos(bundle, state);
      return state;
    case SwitchOs::kLinux:
      read_linux_switch(bundle, state);
      return state;
    case SwitchOs::kSonic:
      break;
  }
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
