// Queries on an IP address of 16 bytes: IPv6, or IPv4 mapped into it (RFC 4291 2.5.5.2).
#pragma once

#include <cstdint>
#include <cstring>

#include "verbs/protocol.h"

namespace weft::verbs {

inline constexpr std::uint8_t kMappedPrefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
inline constexpr std::size_t kIpv4_B = 4, kIpv6_B = 16;
// Where the four bytes of IPv4 are.
inline constexpr std::size_t kIpv4At = sizeof(kMappedPrefix);

inline bool is_ipv4(const std::uint8_t* bytes) {
  return std::memcmp(bytes, kMappedPrefix, sizeof(kMappedPrefix)) == 0;
}
// Nothing but zeros, of either family.
inline bool is_any(const std::uint8_t* bytes) {
  static constexpr std::uint8_t kZero[kIpv6_B] = {};
  return std::memcmp(bytes, kZero, sizeof(kZero)) == 0 ||
         (is_ipv4(bytes) && std::memcmp(bytes + kIpv4At, kZero, kIpv4_B) == 0);
}
// 127.0.0.0/8 and ::1.
inline bool is_loopback(const std::uint8_t* bytes) {
  static constexpr std::uint8_t kOne[kIpv6_B] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  return is_ipv4(bytes) ? bytes[kIpv4At] == 127 : std::memcmp(bytes, kOne, sizeof(kOne)) == 0;
}

inline bool is_ipv4(const Address& address) {
  return is_ipv4(address.bytes);
}
inline bool is_any(const Address& address) {
  return is_any(address.bytes);
}
inline bool is_loopback(const Address& address) {
  return is_loopback(address.bytes);
}
inline bool is_same(const Address& a, const Address& b) {
  return std::memcmp(&a, &b, sizeof(a)) == 0;
}

// IPv4 as the four bytes are in memory.
inline Address mapped(const void* ipv4) {
  Address address;
  std::memcpy(address.bytes, kMappedPrefix, sizeof(kMappedPrefix));
  std::memcpy(address.bytes + kIpv4At, ipv4, kIpv4_B);
  return address;
}

}  // namespace weft::verbs
