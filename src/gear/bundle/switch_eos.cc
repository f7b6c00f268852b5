// Arista EOS: `show running-config`, and of `show … | json` the state and counters of interfaces, LLDP neighbours and
// the PFC watchdog. Defaults that a running configuration leaves out are those of the EOS manual ("Quality of
// Service"): switched ports trust CoS and routed ones DSCP, DSCP 0 to 7 is traffic class 1 and 8 to 15 traffic class 0.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "gear/bundle/indented_config.h"
#include "gear/bundle/json_text.h"
#include "gear/bundle/switch_readers.h"

namespace weft::gear {

namespace {

using EosJson = nlohmann::json;
constexpr const char* kEosMap = "qos map";
constexpr const char* kEosEcn = "random-detect ecn";

// QoS settings of a profile, or of an interface itself.
struct EosQos {
  Maybe<std::string> trust;
  Maybe<bool> pfc_on;
  std::map<std::uint32_t, Evidence> no_drop, ecn;
};

struct EosPort {
  EosQos qos;
  std::string profile;
  bool routed = false;
};

// A line of a profile or an interface; `depth` of its mode.
void read_eos_qos(const ConfigLine& line, std::size_t depth, EosQos& qos) {
  if (line.modes.size() == depth + 1) {
    if (auto trust = line.after("qos trust")) qos.trust = {std::string(*trust), line.from};
    if (line.text == "no qos trust") qos.trust = {"port", line.from};
    if (line.text == "priority-flow-control on" || line.text == "priority-flow-control mode on")
      qos.pfc_on = {true, line.from};
    if (auto priority = line.after("priority-flow-control priority"); priority && priority->ends_with("no-drop")) {
      const auto number = leading_number(*priority);
      if (number && *number < 8) qos.no_drop.emplace(static_cast<std::uint32_t>(*number), line.from);
    }
  }
  auto queue = line.mode_after(depth + 1, "uc-tx-queue");
  if (!queue) queue = line.mode_after(depth + 1, "tx-queue");
  const auto number = queue ? leading_number(*queue) : std::nullopt;
  if (number && *number < 64 && line.after(kEosEcn) && !line.text.ends_with("count"))
    qos.ecn.emplace(static_cast<std::uint32_t>(*number), line.from);
}

class EosReader {
 public:
  EosReader(const Bundle& bundle, SwitchState& state) : bundle_(bundle), state_(state) {
    for (std::uint32_t dscp = 0; dscp < 64; ++dscp) {
      const std::uint32_t precedence = dscp / 8;
      map_.map[dscp] = precedence < 2 ? 1 - precedence : precedence;
    }
    for (std::uint32_t tc = 0; tc < 8; ++tc) queues_.map[tc] = tc;
  }

  void read() {
    for (const BundleSection& section : bundle_.sections) {
      if (!section.command.starts_with("show running-config")) continue;
      state_.has_config = true;
      map_.from = queues_.from = bundle_.at(section, section.lines.size());
      visit_config(bundle_, section, [&](const ConfigLine& line) { read_line(line); });
    }
    finish();
    for (const BundleSection& section : bundle_.sections) {
      if (section.command.ends_with("| json")) read_json(section);
    }
  }

 private:
  void read_line(const ConfigLine& line) {
    if (line.modes.empty()) {
      if (auto name = line.after("hostname")) state_.name = std::string(*name);
      if (auto map = line.after("qos map dscp")) return read_map(line, *map, " to traffic-class ", 64, map_);
      if (auto map = line.after("qos map traffic-class")) {
        const bool unicast = map->find(" to uc-tx-queue ") != map->npos;
        return read_map(line, *map, unicast ? " to uc-tx-queue " : " to tx-queue ", 8, queues_);
      }
    } else if (auto profile = line.mode_after(0, "qos profile")) {
      read_eos_qos(line, 0, profiles_[std::string(*profile)]);
    } else if (auto name = line.mode_after(0, "interface"); name && name->starts_with("Ethernet")) {
      if (SwitchPort* port = state_.port(std::string(*name))) read_port_line(line, *port, ports_[port->name]);
    }
  }

  static void read_map(const ConfigLine& line, std::string_view map, std::string_view to, std::uint32_t most,
                       NamedMap& out) {
    const std::size_t at = map.find(to);
    const auto value = at == map.npos ? std::nullopt : leading_number(map.substr(at + to.size()));
    if (!value || *value >= 64) return;
    for (std::uint32_t key : number_list(map.substr(0, at))) {
      if (key < most) out.map[key] = static_cast<std::uint32_t>(*value);
    }
    out.from = line.from;
  }

  static void read_port_line(const ConfigLine& line, SwitchPort& port, EosPort& qos) {
    read_eos_qos(line, 0, qos.qos);
    if (line.modes.size() != 1) return;
    if (auto text = line.after("description")) set_neighbour(port, *text);
    if (auto mtu = line.after("mtu"); mtu && leading_number(*mtu)) port.mtu = {*leading_number(*mtu), line.from};
    if (line.text == "shutdown") port.admin = {"down", line.from};
    if (auto profile = line.after("service-profile")) qos.profile = std::string(*profile);
    if (line.text == "no switchport") qos.routed = true;
    // speed forced 100gfull, speed 100g-4
    if (auto speed = line.after("speed")) {
      const auto words = words_of(*speed);
      const std::string_view rate = words.empty() ? std::string_view() : words.back();
      const auto number = leading_number(rate);
      if (number && *number < 10'000 && rate.find('g') != rate.npos) port.speed_Mbps = {*number * 1000, line.from};
    }
    if (auto fec = line.after("error-correction encoding"))
      port.fec = {*fec == "reed-solomon" ? "rs" : *fec == "fire-code" ? "fc" : std::string(*fec), line.from};
    if (line.text == "no error-correction encoding") port.fec = {"none", line.from};
  }

  void finish() {
    state_.dscp_to_tc[kEosMap] = map_;
    state_.tc_to_queue[kEosMap] = queues_;
    for (auto& [name, own] : ports_) {
      SwitchPort& port = state_.ports[name];
      EosQos qos = own.qos;
      if (const auto profile = profiles_.find(own.profile); profile != profiles_.end()) {
        if (!qos.trust) qos.trust = profile->second.trust;
        if (!qos.pfc_on) qos.pfc_on = profile->second.pfc_on;
        qos.no_drop.insert(profile->second.no_drop.begin(), profile->second.no_drop.end());
        qos.ecn.insert(profile->second.ecn.begin(), profile->second.ecn.end());
      }
      const bool trusts = qos.trust ? qos.trust->value == "dscp" : own.routed;
      if (trusts) port.dscp_map = {kEosMap, qos.trust ? qos.trust->from : map_.from};
      port.queue_map = {kEosMap, queues_.from};
      std::uint8_t mask = 0;
      for (const auto& [priority, from] : qos.no_drop) mask = static_cast<std::uint8_t>(mask | 1 << priority);
      if (qos.pfc_on)
        port.pfc = {mask, qos.no_drop.empty() ? qos.pfc_on->from : qos.no_drop.begin()->second};
      else if (!qos.no_drop.empty())
        port.pfc = {0, qos.no_drop.begin()->second};
      for (const auto& [queue, from] : qos.ecn) port.queue_wred[queue] = {kEosEcn, from};
    }
    state_.wred_marks[kEosEcn] = {true, map_.from};
  }

  void read_json(const BundleSection& section) {
    std::string text;
    for (const std::string& line : section.lines) text += line + "\n";
    const EosJson json = EosJson::parse(text, nullptr, false);
    if (!json.is_object()) return;
    const JsonText places(text, bundle_.file, section.command, section.line);
    const std::string_view command = section.command;
    const auto table = [&](const char* name) {
      const auto it = json.find(name);
      return it != json.end() && it->is_object() ? *it : EosJson::object();
    };
    if (command.starts_with("show lldp neighbors")) {
      const auto neighbours = json.find("lldpNeighbors");
      if (neighbours == json.end() || !neighbours->is_array()) return;
      for (const EosJson& each : *neighbours) {
        const std::string name = text_of(each, "port");
        if (SwitchPort* port = name.starts_with("Ethernet") ? state_.port(name) : nullptr) {
          port->neighbour_host = text_of(each, "neighborDevice");
          port->neighbour_port = text_of(each, "neighborPort");
        }
      }
      return;
    }
    for (const char* key : {"interfaces", "interfaceStatuses", "interfaceErrorCounters"}) {
      const EosJson entries = table(key);
      for (const auto& [name, object] : entries.items()) {
        SwitchPort* port = name.starts_with("Ethernet") && object.is_object() ? state_.port(name) : nullptr;
        if (port != nullptr) read_interface(key, name, object, places, *port);
      }
    }
  }

  static std::string text_of(const EosJson& object, const char* key) {
    const auto it = object.is_object() ? object.find(key) : object.end();
    return object.is_object() && it != object.end() && it->is_string() ? it->get<std::string>() : "";
  }
  static std::optional<std::uint64_t> number_of(const EosJson& object, const char* key) {
    if (!object.is_object()) return std::nullopt;
    const auto it = object.find(key);
    return it != object.end() && it->is_number_unsigned() ? std::optional(it->get<std::uint64_t>()) : std::nullopt;
  }

  static void read_interface(const char* table, const std::string& name, const EosJson& object, const JsonText& places,
                             SwitchPort& port) {
    const auto at = [&](const char* key) { return places.at({table, name, key}); };
    if (const auto mtu = number_of(object, "mtu"); mtu && *mtu > 0) port.mtu = {*mtu, at("mtu")};
    if (const auto rate = number_of(object, "bandwidth"); rate && *rate >= 1'000'000)
      port.speed_Mbps = {*rate / 1'000'000, at("bandwidth")};
    for (const char* key : {"interfaceStatus", "linkStatus"}) {
      const std::string status = text_of(object, key);
      if (status.empty()) continue;
      port.admin = {status == "disabled" ? "down" : "up", at(key)};
      port.oper = {status == "connected" ? "up" : "down", at(key)};
    }
    if (const std::string text = text_of(object, "description"); !text.empty() && port.neighbour_host.empty())
      set_neighbour(port, text);
    const auto counters = object.find("interfaceCounters");
    const EosJson& counted = counters != object.end() ? *counters : object;
    const EosJson& detail =
        counted.is_object() && counted.contains("inputErrorsDetail") ? counted["inputErrorsDetail"] : counted;
    std::uint64_t errors = 0;
    bool known = false;
    for (const char* key : {"fcsErrors", "symbolErrors"}) {
      const auto value = number_of(detail, key);
      known = known || value;
      errors = std::max(errors, value.value_or(0));
    }
    if (known) port.rx_errors = {errors, at(counters != object.end() ? "interfaceCounters" : "fcsErrors")};
    const auto queues = object.find("txQueues");
    if (queues == object.end() || !queues->is_object()) return;
    for (const auto& [number, watched] : queues->items()) {
      const auto queue = leading_number(number);
      const auto stuck = number_of(watched, "stuckCount");
      if (!queue || *queue > 63 || stuck.value_or(0) == 0) continue;
      port.storms[static_cast<std::uint32_t>(*queue)] = {
          std::to_string(*stuck) + "/" + std::to_string(number_of(watched, "recoveryCount").value_or(0)),
          at("txQueues")};
    }
  }

  const Bundle& bundle_;
  SwitchState& state_;
  NamedMap map_, queues_;
  std::map<std::string, EosQos, std::less<>> profiles_;
  std::map<std::string, EosPort> ports_;
};

}  // namespace

void read_eos(const Bundle& bundle, SwitchState& state) {
  EosReader(bundle, state).read();
}

}  // namespace weft::gear
