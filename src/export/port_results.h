// Ports of a run or a world: counters of NICs under the drivers' names, losses by reason, and counters by class. Those
// of a run are rows of its store, those of a world come as JSON, of which every shape is checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "store/rows/counter_rows.h"

namespace weft::exports {

using PortCounter = store::CounterRow;
using LostPackets = store::PortDropRow;
struct NicPort {
  std::string node, port, device;
  std::uint64_t rate_bps = 0;
};
struct ClassCounter {
  std::string node, port;
  std::uint64_t class_ = 0;
  std::string name;
  std::uint64_t value = 0;
};

struct PortResults {
  std::string lab;
  std::uint64_t seed = 0;
  std::vector<PortCounter> counters;
  std::vector<NicPort> nic_ports;
  std::vector<LostPackets> lost;
  std::vector<ClassCounter> classes;
};

// Nothing: it is not the JSON of a run or of a world.
std::optional<PortResults> read_port_results(const std::string& text);

}  // namespace weft::exports
