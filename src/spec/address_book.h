// Who is behind a port id: the addresses that frame synthesis needs. Read-only while a world runs.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft::fabric {

struct PortAddress {
  std::string name;  // "vm00:p0"
  std::array<std::uint8_t, 6> mac{};
  std::array<std::uint8_t, 16> ip{};  // IPv4 as ::ffff:a.b.c.d
  bool v4 = true;
  std::optional<std::uint16_t> vlan;
};

using AddressBook = std::vector<PortAddress>;

}  // namespace weft::fabric
