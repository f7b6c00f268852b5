#include "model/draft.h"

#include <algorithm>

#include "catalog/front_ports.h"

namespace weft::lab {

namespace {

constexpr std::int64_t kUsualMtu_B = 9216;  // what Cumulus and SONiC's buffer tables assume

}  // namespace

std::int64_t usual_mtu_B(const fabric::SwitchModel& model) {
  return std::min(model.max_mtu_B, kUsualMtu_B);
}

bool add_switch(std::string_view name, const fabric::SwitchModel& model, NodeState& state, LabDraft& draft) {
  SwitchConfig& device = draft.lab.switches[state.index];
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

std::uint32_t segment_of(const PortState& port, const LabDraft& draft) {
  return draft.segments.of(draft.lab, *port.link, port.ref);
}

}  // namespace weft::lab
