#include "results/counters/port_counters.h"

#include "model/metrics.h"

namespace weft::lab {

std::vector<nic::NamedCounter> port_counters(const PortOutcome& port) {
  std::vector<nic::NamedCounter> list = nic::named(port.counters);
  list.reserve(list.size() + 5 * fabric::kClasses);
  const auto add = [&](std::string_view name, std::uint64_t value) {
    list.push_back({nic::CounterGroup::kEthtool, name, value});
  };
  auto microseconds = [](Time_ps time_ps) { return static_cast<std::uint64_t>(time_ps / kMicrosecond_ps); };
  for (std::size_t p = 0; p < fabric::kClasses; ++p) {
    const PauseCounterNames& names = pause_counter_names()[p];
    add(names.rx, port.pause_rx[p]);
    add(names.rx_duration, microseconds(port.pause_rx_ps[p]));
    add(names.tx, port.counters.tx_pause[p]);
    add(names.tx_duration, microseconds(port.counters.tx_pause_ps[p]));
    add(names.rx_transition, port.pause_rx_transitions[p]);
  }
  return list;
}

std::array<std::pair<std::string_view, std::uint64_t>, 3> own_counters(const PortOutcome& port) {
  return {{{"retransmitted_packets", port.counters.retransmitted_packets},
           {"acks_sent", port.counters.acks_sent},
           {"naks_sent", port.counters.naks_sent}}};
}

}  // namespace weft::lab
