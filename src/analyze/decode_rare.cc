// What is rarely met. Packets with telemetry of the switches inside: what they carried before it is decoded. The ICRC
// was computed without it, so it is not checked. Such a packet carries the record of every hop so far; the records
// themselves are not read.
#include "analyze/decode.h"
#include "analyze/decoder.h"
#include "wire/ifa.h"
#include "wire/int_md.h"
#include "wire/ipv4.h"
#include "wire/udp.h"
#include "wire/uet.h"

namespace weft::analyze {

bool uet_crc_fits(const Frame& frame) {
  const std::size_t covered_B = frame.ip.size() - wire::kUetCrc_B;
  std::optional<std::size_t> udp_at;
  if (frame.ip_protocol == wire::kIpProtocolUdp)
    udp_at = static_cast<std::size_t>(frame.payload.data() - frame.ip.data()) - wire::kUdpSize_B;
  return wire::uet_crc(frame.ip.first(covered_B), udp_at) == wire::be32(frame.ip, covered_B);
}

namespace detail {
namespace {

constexpr std::uint16_t kRoceUdpPort = 4791;

}  // namespace

// INT-MD behind the UDP header, whose shim has the original port.
void Decoder::int_md(Rest rest) {
  const auto telemetry = wire::IntMdView::parse(rest.bytes);
  if (!telemetry || telemetry->next() != wire::IntNext::kUdpPort || telemetry->next_value() != kRoceUdpPort) return;
  const Rest inside = rest.after(telemetry->size_B());
  frame_.dst_port = kRoceUdpPort;
  frame_.encapsulation = Encapsulation::kRoceV2;
  decode_transport(inside.bytes, inside.wire_B, frame_);
}

// IFA: its header before UDP, its metadata behind it.
void Decoder::ifa(Rest rest) {
  if (!wire::IfaHeaderView::parse(rest.bytes)) return;
  rest = rest.after(wire::kIfaHeader_B);
  if (rest.bytes.size() < wire::kUdpSize_B || wire::be16(rest.bytes, 2) != kRoceUdpPort) return;
  frame_.src_port = wire::be16(rest.bytes, 0);
  frame_.dst_port = kRoceUdpPort;
  rest = rest.after(wire::kUdpSize_B);
  const auto metadata = wire::IfaMetadataView::parse(rest.bytes);
  if (!metadata) return;
  const Rest inside = rest.after(metadata->size_B());
  frame_.encapsulation = Encapsulation::kRoceV2;
  decode_transport(inside.bytes, inside.wire_B, frame_);
}

// Protocol 253 is for experiments of anyone: UET is what carries its CRC.
void Decoder::uet_on_ip(Rest rest) {
  const Rest inside = rest.after(wire::kUetEntropy_B);
  constexpr std::size_t kLeast_B = 60;
  if (frame_.cut || frame_.ip.size() <= kLeast_B || inside.bytes.empty()) return;
  frame_.payload = inside.bytes;
  if (uet_crc_fits(frame_)) frame_.kind = FrameKind::kUet;
}

}  // namespace detail
}  // namespace weft::analyze
