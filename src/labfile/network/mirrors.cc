// `mirrors:` of a lab: SPAN and ERSPAN sessions of switches.
#include <fmt/format.h>

#include "labfile/lab_fields.h"
#include "labfile/sections.h"

namespace weft::lab {
namespace {

void read_mirror(const YamlNode& node, std::size_t number, LabContext& context) {
  ProblemList& problems = context.problems;
  const MapReader map(node, fmt::format("mirrors[{}]", number), kMirrorKeys, problems);
  if (!map.ok()) return;
  MirrorConfig mirror;
  mirror.session = static_cast<std::uint16_t>(number + 1);
  const YamlNode* port = map.require("port");
  const PortState* state = port == nullptr ? nullptr : read_port(*port, "port", context);
  map.read(kMirrorKeys, mirror);
  const YamlNode* to = map.get("to");
  if (mirror.kind == MirrorKind::kSpan && to != nullptr)
    problems.add(to->place, "SPAN has no collector", "leave out to, or take as: erspan2");
  if (mirror.kind != MirrorKind::kSpan) {
    std::uint32_t prefix_bits = 0;
    const auto text = to == nullptr ? std::optional<std::string>("192.0.2.1") : read_text(*to, "to", problems);
    if (text && (!parse_address(*text + "/32", mirror.collector, prefix_bits) || !mirror.collector.is_v4))
      problems.add(to->place, fmt::format("{} is not an IPv4 address", *text), "to: 192.0.2.1");
  }
  if (state == nullptr) return;
  if (!state->ref.is_switch()) {
    problems.add(port->place, "only a switch mirrors", "name a switch port, or capture the host's with --capture");
    return;
  }
  if (!state->link) {
    problems.add(port->place, "no cable ends at this port", "mirror a port that is in links");
    return;
  }
  const fabric::SwitchModel& model = context.lab.switches[state->ref.host].model;
  if (mirror.kind != MirrorKind::kSpan && !model.has_erspan)
    problems.add(port->place, fmt::format("{} has no ERSPAN", model.name), "as: span");
  mirror.port = state->ref;
  context.lab.mirrors.push_back(mirror);
}

}  // namespace

void read_mirrors(const YamlNode& node, LabContext& context) {
  const auto* list = read_list(node, "mirrors", context.problems);
  if (list == nullptr) return;
  for (std::size_t i = 0; i < list->size(); ++i) read_mirror((*list)[i], i, context);
}

}  // namespace weft::lab
