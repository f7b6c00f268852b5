#include "wire/ipv4.h"

#include <algorithm>

namespace weft::wire {

std::uint16_t internet_checksum(Bytes bytes) {
  std::uint64_t sum = 0;
  std::size_t at = 0;
  for (; at + 1 < bytes.size(); at += 2) sum += be16(bytes, at);
  if (at < bytes.size()) sum += static_cast<std::uint32_t>(bytes[at] << 8);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

tl::expected<Ipv4View, WireError> Ipv4View::parse(Bytes packet) {
  if (packet.size() < kIpv4Size_B) return tl::unexpected(WireError::kTruncated);
  if (packet[0] >> 4 != 4) return tl::unexpected(WireError::kBadIpVersion);
  const std::size_t header_B = static_cast<std::size_t>(packet[0] & 0xf) * 4;
  const std::size_t total_B = be16(packet, 2);
  if (header_B < kIpv4Size_B || total_B < header_B) return tl::unexpected(WireError::kBadIpHeaderLength);
  if (total_B > packet.size()) return tl::unexpected(WireError::kTruncated);
  return Ipv4View(packet.first(total_B));
}

void write_ipv4(const Ipv4Header& header, MutableBytes out) {
  out[0] = 0x45;
  out[1] = header.tos;
  put_be16(out, 2, header.total_length_B);
  put_be16(out, 4, header.id);
  put_be16(out, 6, header.dont_fragment ? 0x4000 : 0);
  out[8] = header.ttl;
  out[9] = header.protocol;
  put_be16(out, 10, 0);
  std::copy(header.src.begin(), header.src.end(), out.begin() + 12);
  std::copy(header.dst.begin(), header.dst.end(), out.begin() + 16);
  put_be16(out, 10, internet_checksum(out.first(kIpv4Size_B)));
}

}  // namespace weft::wire
