// What an export takes from results.json: counters of NIC ports under the drivers' names, and losses by reason. Every
// shape is checked: a results.json that was changed by hand leaves out what is not what it should be.
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "export/run_store.h"

namespace weft::exports {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostJson_B = std::size_t{4} << 30;

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

void add_counters(const Json& port, const NicPort& nic, std::vector<PortCounter>& counters) {
  for (const char* group : {"hw_counters", "ethtool", "weft"}) {
    const auto at = port.find(group);
    if (at == port.end() || !at->is_object()) continue;
    for (const auto& [name, value] : at->items()) {
      if (value.is_number_unsigned())
        counters.push_back({nic.node, nic.port, nic.device, group, name, value.get<std::uint64_t>()});
    }
  }
}

}  // namespace

tl::expected<void, ExportProblem> RunStore::read_json() {
  const std::string path = (std::filesystem::path(directory_) / "results.json").string();
  auto text = read_file(path, kMostJson_B);
  if (!text)
    return tl::unexpected(
        ExportProblem{true, fmt::format("cannot read {}: {}", path, text.error()), "run the lab again"});
  const Json json = Json::parse(*text, nullptr, false);
  if (!json.is_object())
    return tl::unexpected(ExportProblem{true, fmt::format("{} is not the JSON of a run", path), "run the lab again"});
  for (const Json& port : list_of(json, "ports")) {
    if (!port.is_object()) continue;
    const std::string name = text_of(port, "name");
    const std::size_t colon = name.find(':');
    NicPort nic{name.substr(0, colon), colon == name.npos ? "" : name.substr(colon + 1), text_of(port, "device"), 0};
    if (const auto rate = port.find("rate_bps"); rate != port.end() && rate->is_number_unsigned())
      nic.rate_bps = rate->get<std::uint64_t>();
    add_counters(port, nic, counters_);
    nic_ports_.push_back(std::move(nic));
  }
  for (const Json& device : list_of(json, "switches")) {
    for (const Json& port : list_of(device, "ports")) {
      const auto drops = port.is_object() ? port.find("drops") : port.end();
      if (!port.is_object() || drops == port.end() || !drops->is_object()) continue;
      for (const auto& [reason, count] : drops->items()) {
        if (count.is_number_unsigned())
          lost_.push_back({text_of(device, "name"), text_of(port, "name"), reason, count.get<std::uint64_t>()});
      }
    }
  }
  return {};
}

}  // namespace weft::exports
