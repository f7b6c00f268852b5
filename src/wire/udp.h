// UDP header (RFC 768). RoCEv2 sends checksum 0 over IPv4 and IPv6 alike: the ICRC protects it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tl/expected.hpp>

#include "wire/bytes.h"
#include "wire/wire_error.h"

namespace weft::wire {

inline constexpr std::size_t kUdpSize_B = 8;

struct UdpHeader {
  std::uint16_t src_port = 0;
  std::uint16_t dst_port = 0;
  std::uint16_t length_B = kUdpSize_B;  // header and payload
  std::uint16_t checksum = 0;

  friend bool operator==(const UdpHeader&, const UdpHeader&) = default;
};

class UdpView {
 public:
  // `datagram` is the whole IP payload: its size and the length field must agree.
  static tl::expected<UdpView, WireError> parse(Bytes datagram);

  std::uint16_t src_port() const { return be16(bytes_, 0); }
  std::uint16_t dst_port() const { return be16(bytes_, 2); }
  std::uint16_t length_B() const { return be16(bytes_, 4); }
  std::uint16_t checksum() const { return be16(bytes_, 6); }
  Bytes payload() const { return bytes_.subspan(kUdpSize_B); }
  UdpHeader header() const { return {src_port(), dst_port(), length_B(), checksum()}; }

 private:
  explicit UdpView(Bytes bytes) : bytes_(bytes) {}
  Bytes bytes_;
};

// Writes kUdpSize_B bytes.
void write_udp(const UdpHeader& header, MutableBytes out);

}  // namespace weft::wire
