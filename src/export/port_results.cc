#include "export/port_results.h"

#include <nlohmann/json.hpp>

#include "base/json_depth.h"

namespace weft::exports {

namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : "";
}

const Json& list_of(const Json& object, const char* key) {
  static const Json kEmpty = Json::array();
  if (!object.is_object()) return kEmpty;
  const auto at = object.find(key);
  return at != object.end() && at->is_array() ? *at : kEmpty;
}

// Tables have no rows of what is zero.
bool is_counted(const Json& value) {
  return value.is_number_unsigned() && value != 0U;
}

void add_counters(const Json& port, const NicPort& nic, std::vector<PortCounter>& counters) {
  for (const char* group : {"hw_counters", "ethtool", "weft"}) {
    const auto at = port.find(group);
    if (at == port.end() || !at->is_object()) continue;
    for (const auto& [name, value] : at->items()) {
      if (is_counted(value))
        counters.push_back({nic.node, nic.port, nic.device, group, name, value.get<std::uint64_t>()});
    }
  }
}

void add_classes(const Json& port, const std::string& node, const std::string& name, PortResults& results) {
  for (const Json& row : list_of(port, "classes")) {
    if (!row.is_object()) continue;
    const auto number = row.find("class");
    if (number == row.end() || !number->is_number_unsigned()) continue;
    for (const auto& [counter, value] : row.items()) {
      if (counter == "class" || !is_counted(value)) continue;
      results.classes.push_back({node, name, number->get<std::uint64_t>(), counter, value.get<std::uint64_t>()});
    }
  }
}

void add_lost(const Json& port, const std::string& node, std::vector<LostPackets>& lost) {
  const auto drops = port.find("drops");
  if (drops == port.end() || !drops->is_object()) return;
  for (const auto& [reason, count] : drops->items()) {
    if (is_counted(count)) lost.push_back({node, text_of(port, "name"), reason, count.get<std::uint64_t>()});
  }
}

}  // namespace

std::optional<PortResults> read_port_results(const std::string& text) {
  if (json_depth(text) > kDeepestJson) return std::nullopt;
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  PortResults results;
  results.lab = text_of(json, "lab");
  if (const auto seed = json.find("seed"); seed != json.end() && seed->is_number_unsigned())
    results.seed = seed->get<std::uint64_t>();
  for (const Json& port : list_of(json, "ports")) {
    if (!port.is_object()) continue;
    const std::string name = text_of(port, "name");
    const std::size_t colon = name.find(':');
    NicPort nic{name.substr(0, colon), colon == name.npos ? "" : name.substr(colon + 1), text_of(port, "device"), 0};
    if (const auto rate = port.find("rate_bps"); rate != port.end() && rate->is_number_unsigned())
      nic.rate_bps = rate->get<std::uint64_t>();
    add_counters(port, nic, results.counters);
    add_classes(port, nic.node, nic.port, results);
    results.nic_ports.push_back(std::move(nic));
  }
  for (const Json& device : list_of(json, "switches")) {
    if (!device.is_object()) continue;
    for (const Json& port : list_of(device, "ports")) {
      if (!port.is_object()) continue;
      add_lost(port, text_of(device, "name"), results.lost);
      add_classes(port, text_of(device, "name"), text_of(port, "name"), results);
    }
  }
  return results;
}

}  // namespace weft::exports
