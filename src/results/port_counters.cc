#include "results/port_counters.h"

#include <fmt/format.h>

#include <array>
#include <string>

namespace weft::lab {

namespace {

struct PauseNames {
  std::string rx, rx_duration, tx, tx_duration, rx_transition;
};

const std::array<PauseNames, fabric::kClasses>& pause_names() {
  static const auto names = [] {
    std::array<PauseNames, fabric::kClasses> list;
    for (std::size_t p = 0; p < list.size(); ++p) {
      list[p] = {fmt::format("rx_prio{}_pause", p), fmt::format("rx_prio{}_pause_duration", p),
                 fmt::format("tx_prio{}_pause", p), fmt::format("tx_prio{}_pause_duration", p),
                 fmt::format("rx_prio{}_pause_transition", p)};
    }
    return list;
  }();
  return names;
}

}  // namespace

std::vector<nic::NamedCounter> port_counters(const PortOutcome& port) {
  std::vector<nic::NamedCounter> list = nic::named(port.counters);
  list.reserve(list.size() + 5 * fabric::kClasses);
  const auto add = [&](std::string_view name, std::uint64_t value) {
    list.push_back({nic::CounterGroup::kEthtool, name, value});
  };
  auto microseconds = [](Time_ps time_ps) { return static_cast<std::uint64_t>(time_ps / kMicrosecond_ps); };
  for (std::size_t p = 0; p < fabric::kClasses; ++p) {
    const PauseNames& names = pause_names()[p];
    add(names.rx, port.pause_rx[p]);
    add(names.rx_duration, microseconds(port.pause_rx_ps[p]));
    add(names.tx, port.counters.tx_pause[p]);
    add(names.tx_duration, microseconds(port.counters.tx_pause_ps[p]));
    add(names.rx_transition, port.pause_rx_transitions[p]);
  }
  return list;
}

}  // namespace weft::lab
