#include "results/class_quantities.h"

namespace weft::lab {
namespace {

using Switch = const SwitchPortOutcome&;
using Nic = const PortOutcome&;

constexpr auto integer = [](auto value) { return static_cast<std::int64_t>(value); };

// In the order in which both files have them.
constexpr ClassQuantity kQuantities[] = {
    {"rx_packets", [](Switch p, std::size_t c) { return integer(p.counters.rx[c].packets); },
     [](Nic p, std::size_t c) { return integer(p.counters.priorities[c].rx.packets); }},
    {"rx_bytes", [](Switch p, std::size_t c) { return integer(p.counters.rx[c].bytes); },
     [](Nic p, std::size_t c) { return integer(p.counters.priorities[c].rx.bytes); }},
    {"tx_packets", [](Switch p, std::size_t c) { return integer(p.counters.tx[c].packets); },
     [](Nic p, std::size_t c) { return integer(p.counters.priorities[c].tx.packets); }},
    {"tx_bytes", [](Switch p, std::size_t c) { return integer(p.counters.tx[c].bytes); },
     [](Nic p, std::size_t c) { return integer(p.counters.priorities[c].tx.bytes); }},
    {"ecn_marked", [](Switch p, std::size_t c) { return integer(p.counters.ecn_marked[c]); }},
    {"queue_drops", [](Switch p, std::size_t c) { return integer(p.counters.queue_drops[c]); }},
    {"group_drops", [](Switch p, std::size_t c) { return integer(p.counters.group_drops[c]); }},
    {"pause_tx", [](Switch p, std::size_t c) { return integer(p.counters.pause_tx[c]); },
     [](Nic p, std::size_t c) { return integer(p.counters.tx_pause[c]); }},
    {"xoff_tx", [](Switch p, std::size_t c) { return integer(p.counters.xoff_tx[c]); }},
    {"pause_tx_ps", [](Switch p, std::size_t c) { return integer(p.counters.pause_tx_ps[c]); },
     [](Nic p, std::size_t c) { return integer(p.counters.tx_pause_ps[c]); }},
    {"pause_rx", [](Switch p, std::size_t c) { return integer(p.pause_rx[c]); },
     [](Nic p, std::size_t c) { return integer(p.pause_rx[c]); }},
    {"pause_rx_transitions", [](Switch p, std::size_t c) { return integer(p.pause_rx_transitions[c]); },
     [](Nic p, std::size_t c) { return integer(p.pause_rx_transitions[c]); }},
    {"pause_rx_ps", [](Switch p, std::size_t c) { return integer(p.pause_rx_ps[c]); },
     [](Nic p, std::size_t c) { return integer(p.pause_rx_ps[c]); }},
    {"max_queue_B", [](Switch p, std::size_t c) { return integer(p.counters.max_queue_B[c]); }},
    {"max_shared_B", [](Switch p, std::size_t c) { return integer(p.max_shared_B[c]); }},
    {"max_headroom_B", [](Switch p, std::size_t c) { return integer(p.max_headroom_B[c]); }},
    {"storms", [](Switch p, std::size_t c) { return integer(p.counters.storms[c]); }},
    {"restored", [](Switch p, std::size_t c) { return integer(p.counters.restored[c]); }},
    {"watchdog_tx_dropped", [](Switch p, std::size_t c) { return integer(p.counters.watchdog_tx_dropped[c]); }},
};

}  // namespace

std::span<const ClassQuantity> class_quantities() {
  return kQuantities;
}

}  // namespace weft::lab
