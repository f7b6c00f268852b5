// Types of records of Endace's Extensible Record Format (ERF types reference, EDM11-01): what follows the record's own
// headers. Read by decode_link.cc and packet_tree.cc.
#pragma once

#include <cstdint>

namespace weft::analyze {

enum class ErfType : std::uint8_t {
  kEthernet = 2,
  kColorEthernet = 11,
  kDsmColorEthernet = 16,
  kColorHashEthernet = 20,
  kInfiniBand = 21,
  kIpv4 = 22,
  kIpv6 = 23,
  kInfiniBandLink = 25,
};

constexpr bool is_erf_colored(std::uint8_t type) {
  const auto known = static_cast<ErfType>(type);
  return known == ErfType::kColorEthernet || known == ErfType::kDsmColorEthernet ||
         known == ErfType::kColorHashEthernet;
}
constexpr bool is_erf_ethernet(std::uint8_t type) {
  return static_cast<ErfType>(type) == ErfType::kEthernet || is_erf_colored(type);
}
constexpr bool is_erf_infiniband(std::uint8_t type) {
  const auto known = static_cast<ErfType>(type);
  return known == ErfType::kInfiniBand || known == ErfType::kInfiniBandLink;
}
constexpr bool is_erf_ip(std::uint8_t type) {
  const auto known = static_cast<ErfType>(type);
  return known == ErfType::kIpv4 || known == ErfType::kIpv6;
}
constexpr const char* erf_type_name(std::uint8_t type) {
  if (is_erf_ethernet(type)) return "Ethernet";
  if (is_erf_infiniband(type)) return "InfiniBand";
  return is_erf_ip(type) ? "IP" : "not read";
}

}  // namespace weft::analyze
