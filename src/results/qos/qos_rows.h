// The QoS of one switch as rows: what qos_text.cc and qos_json.cc both print.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/lab.h"

namespace weft::lab {

// Priorities that are treated alike, with all DSCPs that lead to them.
struct QosChain {
  std::vector<std::uint32_t> dscps, priorities;
  std::uint8_t queue = 0, group = 0;
  bool pfc = false;       // pauses of this priority are honoured
  bool lossless = false;  // and its group asks for them
};
// Priorities that a DSCP leads to, and those with PFC. With trust pcp all eight, without DSCPs.
std::vector<QosChain> qos_chains(const fabric::SwitchQos& qos);
// {1, 2, 3, 7} -> "1-3, 7", or with the prefix swp "swp1..3, swp7": some prefixes end in a dash.
std::string ranges(const std::vector<std::uint32_t>& numbers, std::string_view prefix = "");

// Ports that were told the same.
struct QosPorts {
  std::string ports;  // "swp1..16, swp31"
  std::int64_t rate_bps = 0;
  std::int64_t length_mm = 0;
  std::array<std::int64_t, fabric::kClasses> headroom_B{};
};
std::vector<QosPorts> qos_ports(const Lab& lab, std::uint32_t device);

// The least number of whole cells that holds it.
std::int64_t cells(std::int64_t size_B, std::uint32_t cell_B);
// What the contract asks of this device and the device has not, or the model leaves out.
std::vector<std::string> qos_gaps(const SwitchConfig& device);

}  // namespace weft::lab
