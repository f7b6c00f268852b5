#include "wire/ipv6.h"

#include <algorithm>

namespace weft::wire {

tl::expected<Ipv6View, WireError> Ipv6View::parse(Bytes packet) {
  if (packet.size() < kIpv6Size_B) return tl::unexpected(WireError::kTruncated);
  if (packet[0] >> 4 != 6) return tl::unexpected(WireError::kBadIpVersion);
  const std::size_t total_B = kIpv6Size_B + be16(packet, 4);
  if (total_B > packet.size()) return tl::unexpected(WireError::kTruncated);
  return Ipv6View(packet.first(total_B));
}

IpAddress Ipv6View::src() const {
  IpAddress address;
  std::copy_n(bytes_.begin() + 8, address.size(), address.begin());
  return address;
}

IpAddress Ipv6View::dst() const {
  IpAddress address;
  std::copy_n(bytes_.begin() + 24, address.size(), address.begin());
  return address;
}

void write_ipv6(const Ipv6Header& header, MutableBytes out) {
  put_be32(out, 0, 6U << 28 | std::uint32_t{header.traffic_class} << 20 | (header.flow_label & 0xfffff));
  put_be16(out, 4, header.payload_length_B);
  out[6] = header.next_header;
  out[7] = header.hop_limit;
  std::copy(header.src.begin(), header.src.end(), out.begin() + 8);
  std::copy(header.dst.begin(), header.dst.end(), out.begin() + 24);
}

}  // namespace weft::wire
