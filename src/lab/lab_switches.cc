// nodes with `kind: switch`: the model's ports, their MTUs, routing and routes.
#include <fmt/format.h>

#include <algorithm>

#include "base/nearest.h"
#include "lab/front_ports.h"
#include "lab/lab_routing.h"
#include "lab/lab_sections.h"
#include "lab/lab_words.h"
#include "lab/model_fields.h"

namespace weft::lab {
namespace {

constexpr std::int64_t kUsualMtu_B = 9216;  // what Cumulus and SONiC's buffer tables assume
constexpr std::int64_t kMinMtu_B = 68;      // RFC 791

std::int64_t usual_mtu_B(const fabric::SwitchModel& model) {
  return std::min(model.max_mtu_B, kUsualMtu_B);
}

void read_ports(const YamlNode& node, const std::string& name, NodeState& state, LabContext& context) {
  if (!node.is_map()) {
    context.problems.add(node.place, "ports is not a map",
                         "write ports: {swp1: {mtu: 9216 B}}; ports not named exist too");
    return;
  }
  SwitchConfig& device = context.lab.switches[state.index];
  for (std::size_t i = 0; i < node.keys.size(); ++i) {
    const PortState* port = find_port(state, name, node.keys[i].text, node.keys[i].place, context);
    const MapReader map(node.children[i], "port " + node.keys[i].text, switch_port_keys(), context.problems);
    const YamlNode* mtu = map.get("mtu");
    if (port == nullptr || mtu == nullptr) continue;
    store(device.ports[port->ref.port].mtu_B,
          read_quantity(*mtu, "mtu", Quantity::kSize, {kMinMtu_B, device.model.max_mtu_B}, context.problems));
  }
}

}  // namespace

bool add_switch(std::string_view name, const fabric::SwitchModel& model, NodeState& state, LabContext& context) {
  SwitchConfig& device = context.lab.switches[state.index];
  device.name = name;
  device.model = model;
  const std::uint32_t number = front_port_count(model);
  device.ports.resize(number);
  state.front_ports.resize(number);
  for (std::uint32_t i = 0; i < number; ++i) {
    device.ports[i].name = model.port_prefix + std::to_string(i + 1);
    device.ports[i].mtu_B = usual_mtu_B(model);
    state.front_ports[i].ref = {state.index, PortRef::kSwitch, i};
    state.front_ports[i].place = state.place;
  }
  return number > 0;
}

void read_switch(const YamlNode& node, NodeState& state, LabContext& context) {
  ProblemList& problems = context.problems;
  const std::string name = context.lab.switches[state.index].name;
  const MapReader map(node, "switch " + name, switch_keys(), problems);
  if (!state.of_fabric) {
    state.complete = false;
    const YamlNode* model_name = map.require("model", "model: sn3700c");
    const auto text = model_name == nullptr ? std::nullopt : read_text(*model_name, "model", problems);
    if (!text) return;
    const fabric::SwitchModel* model = context.catalog.switch_model(*text);
    if (model == nullptr) {
      problems.add(model_name->place, fmt::format("there is no switch {} in the catalog", in_quotes(*text)),
                   did_you_mean(*text, context.catalog.names(CatalogKind::kSwitch), "switches"));
      return;
    }
    fabric::SwitchModel changed = *model;
    if (const YamlNode* set = map.get("set")) apply_set(*set, changed, problems);
    state.complete = add_switch(name, changed, state, context);
  } else {
    if (const YamlNode* value = map.get("model")) {
      problems.add(value->place, fmt::format("{} is a switch of the fabric: its model is said there", name),
                   "here it takes set, qos, routing, ports and routes");
    }
    SwitchConfig& device = context.lab.switches[state.index];
    if (const YamlNode* set = map.get("set")) {
      apply_set(*set, device.model, problems);
      for (SwitchPort& port : device.ports) port.mtu_B = usual_mtu_B(device.model);
    }
  }
  if (const YamlNode* ports = map.get("ports")) read_ports(*ports, name, state, context);
  state.qos = map.get("qos");
  state.routing = map.get("routing");
  state.routes = map.get("routes");
}

}  // namespace weft::lab
