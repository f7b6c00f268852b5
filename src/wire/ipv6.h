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
