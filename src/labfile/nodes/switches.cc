// nodes with `kind: switch`: the model's ports, their MTUs, routing and routes.
#include <fmt/format.h>

#include <algorithm>

#include "base/nearest.h"
#include "catalog/front_ports.h"
#include "catalog/model_fields.h"
#include "labfile/lab_fields.h"
#include "labfile/network/routing.h"
#include "labfile/sections.h"

namespace weft::lab {
namespace {

constexpr std::int64_t kMinMtu_B = 68;  // RFC 791

void read_ports(const YamlNode& node, const std::string& name, NodeState& state, LabContext& context) {
  if (!node.is_map()) {
    context.problems.add(node.place, "ports is not a map",
                         "write ports: {swp1: {mtu: 9216 B}}; ports not named exist too");
    return;
  }
  SwitchConfig& device = context.lab.switches[state.index];
  for (std::size_t i = 0; i < node.keys.size(); ++i) {
    const PortState* port = find_port(state, name, node.keys[i].text, node.keys[i].place, context);
    const MapReader map(node.children[i], "port " + node.keys[i].text, kSwitchPortKeys, context.problems);
    const YamlNode* mtu = map.get("mtu");
    if (port == nullptr || mtu == nullptr) continue;
    store(device.ports[port->ref.port].mtu_B,
          read_bytes(*mtu, "mtu", {kMinMtu_B, device.model.max_mtu_B}, context.problems));
  }
}

}  // namespace

void read_switch(const YamlNode& node, NodeState& state, LabContext& context) {
  ProblemList& problems = context.problems;
  const std::string name = context.lab.switches[state.index].name;
  const MapReader map(node, "switch " + name, kSwitchKeys, problems);
  if (!state.of_fabric) {
    state.complete = false;
    const YamlNode* model_name = map.require("model");
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
      problems.add(value->place, fmt::format("{} is a switch of the fabric, which sets its model", name),
                   "here it takes set, qos, routing, ports and routes");
    }
    SwitchConfig& device = context.lab.switches[state.index];
    if (const YamlNode* set = map.get("set")) {
      apply_set(*set, device.model, problems);
      for (SwitchPort& port : device.ports) port.mtu_B = usual_mtu_B(device.model);
    }
  }
  if (const YamlNode* ports = map.get("ports")) read_ports(*ports, name, state, context);
  context.sections[name] = {map.get("qos"), map.get("routing"), map.get("routes")};
}

}  // namespace weft::lab
