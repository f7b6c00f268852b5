// Packets with telemetry of the switches inside: what they carried before it is decoded. The ICRC was computed without
// it, so it is not checked. Such a packet carries the record of every hop so far; the records themselves are not read.
#include "analyze/frames/decoder.h"
#include "wire/flow.h"
#include "wire/ifa.h"
#include "wire/int_md.h"
#include "wire/udp.h"

namespace weft::analyze::detail {

// INT-MD behind the UDP header, whose shim has the original port.
void Decoder::int_md(Rest rest) {
  const auto telemetry = wire::IntMdView::parse(rest.bytes);
  if (!telemetry || telemetry->next() != wire::IntNext::kUdpPort || telemetry->next_value() != wire::kRoceUdpPort)
    return;
  const Rest inside = rest.after(telemetry->size_B());
  frame_.dst_port = wire::kRoceUdpPort;
  frame_.encapsulation = Encapsulation::kRoceV2;
  decode_transport(inside.bytes, inside.wire_B, frame_);
}

// IFA: its header before UDP, its metadata behind it.
void Decoder::ifa(Rest rest) {
  if (!wire::IfaHeaderView::parse(rest.bytes)) return;
  rest = rest.after(wire::kIfaHeader_B);
  if (rest.bytes.size() < wire::kUdpSize_B || wire::be16(rest.bytes, 2) != wire::kRoceUdpPort) return;
  frame_.src_port = wire::be16(rest.bytes, 0);
  frame_.dst_port = wire::kRoceUdpPort;
  rest = rest.after(wire::kUdpSize_B);
  const auto metadata = wire::IfaMetadataView::parse(rest.bytes);
  if (!metadata) return;
  const Rest inside = rest.after(metadata->size_B());
  frame_.encapsulation = Encapsulation::kRoceV2;
  decode_transport(inside.bytes, inside.wire_B, frame_);
}

}  // namespace weft::analyze::detail
