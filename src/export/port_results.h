// Ports in results.json: counters of NICs under the drivers' names, losses by reason, and counters by class.
// Every shape is checked: JSON that was changed by hand leaves out what is not what it should be.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft::exports {

struct PortCounter {
  std::string node, port, device;
  std::string group;  // "hw_counters", "ethtool", "weft"
  std::string name;
  std::uint64_t value = 0;
};
struct LostPackets {
  std::string node, port, reason;
  std::uint64_t packets = 0;
};
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
