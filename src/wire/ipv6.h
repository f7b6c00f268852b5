// IPv6 header (RFC 8200 3). The Global Route Header of RoCEv1 has the same layout (IBTA vol 1, 8.3),
// with next header 0x1b and GIDs for addresses. Extension headers are not followed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <tl/expected.hpp>

#include "wire/bytes.h"
#include "wire/wire_error.h"

namespace weft::wire {

// An IPv6 address, or an IPv4 address in ::ffff:a.b.c.d form, as in a RoCE GID.
using IpAddress = std::array<std::uint8_t, 16>;

constexpr IpAddress ipv4_mapped(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d) {
  return {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d};
}

constexpr bool is_ipv4_mapped(const IpAddress& address) {
  for (std::size_t i = 0; i < 10; ++i) {
    if (address[i] != 0) return false;
  }
  return address[10] == 0xff && address[11] == 0xff;
}
// ff00::/8 (RFC 4291, 2.7) or 224.0.0.0/4 (RFC 1112, 4).
constexpr bool is_multicast(const IpAddress& address) {
  return address[0] == 0xff || (is_ipv4_mapped(address) && address[12] >> 4 == 0xe);
}
// The MAC address of a group: 01:00:5e and 23 bits of an IPv4 address (RFC 1112, 6.4), 33:33 and the last four bytes of
// an IPv6 address (RFC 2464, 7).
constexpr std::array<std::uint8_t, 6> multicast_mac(const IpAddress& group) {
  if (is_ipv4_mapped(group))
    return {0x01, 0x00, 0x5e, static_cast<std::uint8_t>(group[13] & 0x7f), group[14], group[15]};
  return {0x33, 0x33, group[12], group[13], group[14], group[15]};
}

inline constexpr std::size_t kIpv6Size_B = 40;
inline constexpr std::uint8_t kGrhNextHeaderIba = 0x1b;

struct Ipv6Header {
  std::uint8_t traffic_class = 0;
  std::uint32_t flow_label = 0;  // 20 bits
  std::uint16_t payload_length_B = 0;
  std::uint8_t next_header = 0;
  std::uint8_t hop_limit = 64;
  IpAddress src{};
  IpAddress dst{};

  friend bool operator==(const Ipv6Header&, const Ipv6Header&) = default;
};

class Ipv6View {
 public:
  // Checks the version and that the payload length lies within `packet`.
  static tl::expected<Ipv6View, WireError> parse(Bytes packet);

  std::uint8_t traffic_class() const { return static_cast<std::uint8_t>(be16(bytes_, 0) >> 4); }
  std::uint32_t flow_label() const { return be32(bytes_, 0) & 0xfffff; }
  std::uint16_t payload_length_B() const { return be16(bytes_, 4); }
  std::uint8_t next_header() const { return bytes_[6]; }
  std::uint8_t hop_limit() const { return bytes_[7]; }
  IpAddress src() const;
  IpAddress dst() const;
  Bytes payload() const { return bytes_.subspan(kIpv6Size_B); }
  Ipv6Header header() const {
    return {traffic_class(), flow_label(), payload_length_B(), next_header(), hop_limit(), src(), dst()};
  }

 private:
  explicit Ipv6View(Bytes bytes) : bytes_(bytes) {}
  Bytes bytes_;  // exactly header and payload
};

// Writes kIpv6Size_B bytes.
void write_ipv6(const Ipv6Header& header, MutableBytes out);

}  // namespace weft::wire
