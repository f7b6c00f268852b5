#include "wire/icrc.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/check.h"
#include "wire/crc32.h"
#include "wire/ipv4.h"
#include "wire/ipv6.h"
#include "wire/opcode.h"
#include "wire/udp.h"

namespace weft::wire {
namespace {

// CRC-32 state after the eight bytes of ones that stand for the LRH of InfiniBand.
constexpr std::uint32_t kStateAfterLrh = 0xdebb20e3;
constexpr std::size_t kBthCongestionByte = 4;

// The headers that have masked fields, copied so that the masks leave the packet alone.
template <std::size_t kSize_B>
std::array<std::uint8_t, kSize_B> copy_of(Bytes packet) {
  WEFT_CHECK(packet.size() >= kSize_B, "ICRC of a packet shorter than its headers");
  std::array<std::uint8_t, kSize_B> head;
  std::copy_n(packet.begin(), kSize_B, head.begin());
  return head;
}

void mask_ipv6(MutableBytes head) {
  head[0] |= 0x0f;
  head[1] = head[2] = head[3] = 0xff;
  head[7] = 0xff;
}

std::uint32_t finish(Bytes masked_head, Bytes packet) {
  return ~crc32_update(crc32_update(kStateAfterLrh, masked_head), packet.subspan(masked_head.size()));
}

}  // namespace

std::uint32_t icrc(Bytes ip_packet_without_icrc) {
  const Bytes packet = ip_packet_without_icrc;
  WEFT_CHECK(!packet.empty(), "ICRC of an empty packet");
  if (packet[0] >> 4 == 6) {
    auto head = copy_of<kIpv6Size_B + kUdpSize_B + kBthSize_B>(packet);
    mask_ipv6(head);
    put_be16(head, kIpv6Size_B + 6, 0xffff);
    head[kIpv6Size_B + kUdpSize_B + kBthCongestionByte] = 0xff;
    return finish(head, packet);
  }
  WEFT_CHECK(packet[0] == 0x45, "ICRC of what is neither IPv6 nor IPv4 without options");
  auto head = copy_of<kIpv4Size_B + kUdpSize_B + kBthSize_B>(packet);
  head[1] = 0xff;
  head[8] = 0xff;
  put_be16(head, 10, 0xffff);
  put_be16(head, kIpv4Size_B + 6, 0xffff);
  head[kIpv4Size_B + kUdpSize_B + kBthCongestionByte] = 0xff;
  return finish(head, packet);
}

std::uint32_t icrc_v1(Bytes grh_packet_without_icrc) {
  auto head = copy_of<kIpv6Size_B + kBthSize_B>(grh_packet_without_icrc);
  mask_ipv6(head);
  head[kIpv6Size_B + kBthCongestionByte] = 0xff;
  return finish(head, grh_packet_without_icrc);
}

}  // namespace weft::wire
