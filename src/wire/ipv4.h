// IPv4 header (RFC 791, DSCP and ECN as in RFC 2474 and 3168). Options can be seen but not built.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <tl/expected.hpp>

#include "wire/bytes.h"
#include "wire/wire_error.h"

namespace weft::wire {

using Ipv4Address = std::array<std::uint8_t, 4>;

inline constexpr std::size_t kIpv4Size_B = 20;
inline constexpr std::uint8_t kIpProtocolUdp = 17;

// The TOS byte of IPv4 and the traffic class of IPv6: DSCP 6 bits, ECN 2 bits.
enum class Ecn : std::uint8_t { kNotEct = 0, kEct1 = 1, kEct0 = 2, kCe = 3 };
constexpr std::uint8_t tos(std::uint8_t dscp, Ecn ecn) {
  return static_cast<std::uint8_t>(dscp << 2 | static_cast<std::uint8_t>(ecn));
}
constexpr std::uint8_t dscp_of_tos(std::uint8_t tos) {
  return static_cast<std::uint8_t>(tos >> 2);
}
constexpr Ecn ecn_of_tos(std::uint8_t tos) {
  return static_cast<Ecn>(tos & 3);
}

// One's complement of the one's complement sum (RFC 1071). Zero over a header that carries its checksum.
std::uint16_t internet_checksum(Bytes bytes);

struct Ipv4Header {
  std::uint8_t tos = 0;
  std::uint16_t total_length_B = kIpv4Size_B;
  std::uint16_t id = 0;
  bool dont_fragment = true;
  std::uint8_t ttl = 64;
  std::uint8_t protocol = kIpProtocolUdp;
  Ipv4Address src{};
  Ipv4Address dst{};

  friend bool operator==(const Ipv4Header&, const Ipv4Header&) = default;
};

class Ipv4View {
 public:
  // Checks the version, the header length, and that the total length lies within `packet`.
  static tl::expected<Ipv4View, WireError> parse(Bytes packet);

  std::size_t header_size_B() const { return static_cast<std::size_t>(bytes_[0] & 0xf) * 4; }
  std::uint8_t tos() const { return bytes_[1]; }
  std::uint16_t total_length_B() const { return be16(bytes_, 2); }
  std::uint16_t id() const { return be16(bytes_, 4); }
  bool reserved_flag() const { return (bytes_[6] & 0x80) != 0; }
  bool dont_fragment() const { return (bytes_[6] & 0x40) != 0; }
  bool is_fragment() const { return (be16(bytes_, 6) & 0x3fff) != 0; }
  std::uint8_t ttl() const { return bytes_[8]; }
  std::uint8_t protocol() const { return bytes_[9]; }
  std::uint16_t checksum() const { return be16(bytes_, 10); }
  bool checksum_ok() const { return internet_checksum(bytes_.first(header_size_B())) == 0; }
  Ipv4Address src() const { return {bytes_[12], bytes_[13], bytes_[14], bytes_[15]}; }
  Ipv4Address dst() const { return {bytes_[16], bytes_[17], bytes_[18], bytes_[19]}; }
  Bytes payload() const { return bytes_.subspan(header_size_B()); }
  Ipv4Header header() const {
    return {tos(), total_length_B(), id(), dont_fragment(), ttl(), protocol(), src(), dst()};
  }

 private:
  explicit Ipv4View(Bytes bytes) : bytes_(bytes) {}
  Bytes bytes_;  // exactly total_length_B
};

// Writes kIpv4Size_B bytes, checksum included.
void write_ipv4(const Ipv4Header& header, MutableBytes out);

}  // namespace weft::wire
