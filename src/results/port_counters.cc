#include "results/port_counters.h"

#include <fmt/format.h>

namespace weft::lab {

std::vector<nic::NamedCounter> port_counters(const PortOutcome& port) {
  std::vector<nic::NamedCounter> list = nic::named(port.counters);
  auto add = [&](std::string_view pattern, std::size_t priority, std::uint64_t value) {
    list.push_back({nic::CounterGroup::kEthtool, fmt::format(fmt::runtime(pattern), priority), value});
  };
  auto microseconds = [](Time_ps time_ps) { return static_cast<std::uint64_t>(time_ps / kMicrosecond_ps); };
  for (std::size_t p = 0; p < fabric::kClasses; ++p) {
    add("rx_prio{}_pause", p, port.pause_rx[p]);
    add("rx_prio{}_pause_duration", p, microseconds(port.pause_rx_ps[p]));
    add("tx_prio{}_pause", p, port.counters.tx_pause[p]);
    add("tx_prio{}_pause_duration", p, microseconds(port.counters.tx_pause_ps[p]));
    add("rx_prio{}_pause_transition", p, port.pause_rx_transitions[p]);
  }
  return list;
}

}  // namespace weft::lab
