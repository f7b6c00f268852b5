#include "analyze/frames/decoder.h"
#include "wire/opcode.h"

namespace weft::analyze::detail {
namespace {

using wire::be16;
using wire::be32;
using wire::Bytes;

constexpr std::size_t kIcrcField_B = 4;

// FLUSH and ATOMIC WRITE of RC and XRC (IBTA annex A19), reliable datagrams, and what manufacturers may use (0xc0 on).
bool is_defined_elsewhere(std::uint8_t opcode) {
  const bool is_xrc = wire::is_xrc(opcode);
  const std::uint8_t operation = is_xrc ? opcode & ~wire::kTransportMask : opcode;
  return operation == 0x1c || operation == 0x1d || (opcode & wire::kTransportMask) == 0x40 || opcode >= 0xc0;
}

}  // namespace

void decode_transport(Bytes bytes, std::size_t size_B, Frame& frame) {
  if (size_B < wire::kBthSize_B + kIcrcField_B) {
    frame.problems |= kTooShort;
    return;
  }
  if (bytes.size() < wire::kBthSize_B) {  // snapped
    frame.kind = FrameKind::kUnreadable;
    return;
  }
  frame.kind = FrameKind::kRoce;
  frame.opcode = static_cast<wire::Opcode>(bytes[0]);
  frame.solicited = (bytes[1] & 0x80) != 0;
  frame.mig_req = (bytes[1] & 0x40) != 0;
  frame.pad_B = bytes[1] >> 4 & 3;
  if ((bytes[1] & 0xf) != 0) frame.problems |= kTransportVersion;
  frame.p_key = be16(bytes, 2);
  frame.fecn = (bytes[4] & 0x80) != 0;
  frame.becn = (bytes[4] & 0x40) != 0;
  frame.dest_qp = wire::be24(bytes, 5);
  frame.ack_req = (bytes[8] & 0x80) != 0;
  frame.psn = wire::be24(bytes, 9);
  if (!wire::is_valid_opcode(bytes[0])) {
    frame.problems |= is_defined_elsewhere(bytes[0]) ? kOtherOpcode : kUnknownOpcode;
    return;
  }
  const std::size_t headers_B = wire::header_size_B(frame.opcode);
  if (size_B < headers_B + kIcrcField_B) {
    frame.problems |= kTooShort;
    return;
  }
  const std::size_t padded_B = size_B - headers_B - kIcrcField_B;
  if (frame.pad_B > padded_B || padded_B % 4 != 0) {
    frame.problems |= kPadCount;
  }
  frame.payload_B = static_cast<std::uint32_t>(padded_B - std::min<std::size_t>(frame.pad_B, padded_B));

  // The extension headers, in the order in which they follow; `at` is only moved over what is captured.
  std::size_t at = wire::kBthSize_B;
  auto holds = [&](std::size_t header_B) { return bytes.size() >= at + header_B; };
  if (wire::has_deth(frame.opcode)) {
    if (!holds(wire::kDethSize_B)) return;
    frame.has_deth = true;
    frame.qkey = be32(bytes, at);
    frame.src_qp = wire::be24(bytes, at + 5);
    at += wire::kDethSize_B;
  }
  if (wire::has_xrc_eth(frame.opcode)) at += wire::kXrcEthSize_B;
  if (wire::has_reth(frame.opcode)) {
    if (!holds(wire::kRethSize_B)) return;
    frame.has_reth = true;
    frame.va = wire::be64(bytes, at);
    frame.rkey = be32(bytes, at + 8);
    frame.dma_len = be32(bytes, at + 12);
    at += wire::kRethSize_B;
  }
  if (wire::has_atomic_eth(frame.opcode)) {
    if (!holds(wire::kAtomicEthSize_B)) return;
    frame.va = wire::be64(bytes, at);
    frame.rkey = be32(bytes, at + 8);
    at += wire::kAtomicEthSize_B;
  }
  if (wire::has_aeth(frame.opcode)) {
    if (!holds(wire::kAethSize_B)) return;
    frame.has_aeth = true;
    frame.syndrome = bytes[at];
    frame.msn = wire::be24(bytes, at + 1);
    at += wire::kAethSize_B;
  }
  if (wire::has_imm(frame.opcode) && holds(wire::kImmDtSize_B)) frame.imm = be32(bytes, at);
  if (frame.opcode == wire::Opcode::kCnp) {  // its reserved bytes
    frame.payload =
        bytes.subspan(wire::kBthSize_B, std::min(wire::kCnpReservedSize_B, bytes.size() - wire::kBthSize_B));
    return;
  }
  if (bytes.size() > headers_B)
    frame.payload = bytes.subspan(headers_B, std::min<std::size_t>(frame.payload_B, bytes.size() - headers_B));
}

}  // namespace weft::analyze::detail
