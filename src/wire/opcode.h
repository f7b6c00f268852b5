// BTH opcodes of the Reliable Connected, Unreliable Connected, Unreliable Datagram and Extended Reliable Connected
// transports (IBTA vol 1, 9.2; XRC: annex A14) and the Congestion Notification Packet (Annex A17, 0x81 on the wire),
// and what each says about the packet: which extension headers follow, and its place in a message. Not listed: RD,
// FLUSH (0x1c), ATOMIC WRITE (0x1d), manufacturer opcodes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace weft::wire {

enum class Opcode : std::uint8_t {
  kSendFirst = 0x00,
  kSendMiddle = 0x01,
  kSendLast = 0x02,
  kSendLastImm = 0x03,
  kSendOnly = 0x04,
  kSendOnlyImm = 0x05,
  kWriteFirst = 0x06,
  kWriteMiddle = 0x07,
  kWriteLast = 0x08,
  kWriteLastImm = 0x09,
  kWriteOnly = 0x0a,
  kWriteOnlyImm = 0x0b,
  kReadRequest = 0x0c,
  kReadResponseFirst = 0x0d,
  kReadResponseMiddle = 0x0e,
  kReadResponseLast = 0x0f,
  kReadResponseOnly = 0x10,
  kAck = 0x11,
  kAtomicAck = 0x12,
  kCompareSwap = 0x13,
  kFetchAdd = 0x14,
  kSendLastInv = 0x16,
  kSendOnlyInv = 0x17,
  kUcSendFirst = 0x20,
  kUcSendMiddle = 0x21,
  kUcSendLast = 0x22,
  kUcSendLastImm = 0x23,
  kUcSendOnly = 0x24,
  kUcSendOnlyImm = 0x25,
  kUcWriteFirst = 0x26,
  kUcWriteMiddle = 0x27,
  kUcWriteLast = 0x28,
  kUcWriteLastImm = 0x29,
  kUcWriteOnly = 0x2a,
  kUcWriteOnlyImm = 0x2b,
  kUdSendOnly = 0x64,
  kUdSendOnlyImm = 0x65,
  kCnp = 0x81,
};

// The top three bits name the transport: RC 0, UC 0x20, UD 0x60, XRC 0xa0.
inline constexpr std::uint8_t kTransportMask = 0xe0;
inline constexpr std::uint8_t kUcTransport = 0x20;
constexpr bool is_uc(std::uint8_t opcode) {
  return (opcode & kTransportMask) == kUcTransport;
}
// UC has the SENDs and WRITEs of RC under the same low bits; not SEND with invalidate.
constexpr std::uint8_t uc_opcode(Opcode rc) {
  return static_cast<std::uint8_t>(static_cast<std::uint8_t>(rc) | kUcTransport);
}
// XRC has all of RC under the same low bits; its requests name a shared receive queue in an XRCETH behind the BTH.
inline constexpr std::uint8_t kXrcTransport = 0xa0;
constexpr bool is_xrc(std::uint8_t opcode) {
  return (opcode & kTransportMask) == kXrcTransport;
}
constexpr Opcode xrc_opcode(Opcode rc) {
  return static_cast<Opcode>(static_cast<std::uint8_t>(rc) | kXrcTransport);
}
constexpr Opcode without_transport(std::uint8_t opcode) {
  return static_cast<Opcode>(opcode & ~kTransportMask);
}

inline constexpr std::size_t kBthSize_B = 12;
inline constexpr std::size_t kRethSize_B = 16;
inline constexpr std::size_t kAethSize_B = 4;
inline constexpr std::size_t kAtomicEthSize_B = 28;
inline constexpr std::size_t kAtomicAckEthSize_B = 8;
inline constexpr std::size_t kImmDtSize_B = 4;
inline constexpr std::size_t kIethSize_B = 4;
inline constexpr std::size_t kDethSize_B = 8;
inline constexpr std::size_t kXrcEthSize_B = 4;
inline constexpr std::size_t kCnpReservedSize_B = 16;

namespace detail {

enum OpcodeTrait : std::uint16_t {
  kValid = 1 << 0,
  kReth = 1 << 1,
  kAeth = 1 << 2,
  kImm = 1 << 3,
  kIeth = 1 << 4,
  kAtomicEth = 1 << 5,
  kAtomicAckEth = 1 << 6,
  kDeth = 1 << 7,
  kRequest = 1 << 8,
  kResponse = 1 << 9,
  kFirst = 1 << 10,
  kMiddle = 1 << 11,
  kLast = 1 << 12,
  kOnly = 1 << 13,
  kPayload = 1 << 14,
  kXrcEth = 1 << 15,
};

// Indexed by the opcode byte; 0 for what is not an opcode here.
constexpr std::array<std::uint16_t, 256> make_opcode_traits() {
  std::array<std::uint16_t, 256> traits{};
  auto set = [&traits](Opcode opcode, int bits) {
    traits[static_cast<std::uint8_t>(opcode)] = static_cast<std::uint16_t>(kValid | bits);
  };
  constexpr int kData = kRequest | kPayload;
  constexpr int kReply = kResponse | kPayload;
  set(Opcode::kSendFirst, kData | kFirst);
  set(Opcode::kSendMiddle, kData | kMiddle);
  set(Opcode::kSendLast, kData | kLast);
  set(Opcode::kSendLastImm, kData | kLast | kImm);
  set(Opcode::kSendOnly, kData | kOnly);
  set(Opcode::kSendOnlyImm, kData | kOnly | kImm);
  set(Opcode::kWriteFirst, kData | kFirst | kReth);
  set(Opcode::kWriteMiddle, kData | kMiddle);
  set(Opcode::kWriteLast, kData | kLast);
  set(Opcode::kWriteLastImm, kData | kLast | kImm);
  set(Opcode::kWriteOnly, kData | kOnly | kReth);
  set(Opcode::kWriteOnlyImm, kData | kOnly | kReth | kImm);
  set(Opcode::kReadRequest, kRequest | kOnly | kReth);
  set(Opcode::kReadResponseFirst, kReply | kFirst | kAeth);
  set(Opcode::kReadResponseMiddle, kReply | kMiddle);
  set(Opcode::kReadResponseLast, kReply | kLast | kAeth);
  set(Opcode::kReadResponseOnly, kReply | kOnly | kAeth);
  set(Opcode::kAck, kResponse | kOnly | kAeth);
  set(Opcode::kAtomicAck, kResponse | kOnly | kAeth | kAtomicAckEth);
  set(Opcode::kCompareSwap, kRequest | kOnly | kAtomicEth);
  set(Opcode::kFetchAdd, kRequest | kOnly | kAtomicEth);
  set(Opcode::kSendLastInv, kData | kLast | kIeth);
  set(Opcode::kSendOnlyInv, kData | kOnly | kIeth);
  for (std::uint8_t rc = 0; rc <= static_cast<std::uint8_t>(Opcode::kWriteOnlyImm); ++rc)
    traits[uc_opcode(static_cast<Opcode>(rc))] = traits[rc];
  for (std::uint8_t rc = 0; rc <= static_cast<std::uint8_t>(Opcode::kSendOnlyInv); ++rc) {
    const int header = (traits[rc] & kRequest) != 0 ? kXrcEth : 0;
    if (traits[rc] != 0) set(xrc_opcode(static_cast<Opcode>(rc)), traits[rc] | header);
  }
  set(Opcode::kUdSendOnly, kData | kOnly | kDeth);
  set(Opcode::kUdSendOnlyImm, kData | kOnly | kDeth | kImm);
  set(Opcode::kCnp, 0);
  return traits;
}
inline constexpr std::array<std::uint16_t, 256> kOpcodeTraits = make_opcode_traits();

constexpr bool has(Opcode opcode, OpcodeTrait trait) {
  return (kOpcodeTraits[static_cast<std::uint8_t>(opcode)] & trait) != 0;
}

}  // namespace detail

constexpr bool is_valid_opcode(std::uint8_t byte) {
  return detail::kOpcodeTraits[byte] != 0;
}

constexpr bool has_reth(Opcode opcode) {
  return detail::has(opcode, detail::kReth);
}
constexpr bool has_aeth(Opcode opcode) {
  return detail::has(opcode, detail::kAeth);
}
constexpr bool has_imm(Opcode opcode) {
  return detail::has(opcode, detail::kImm);
}
constexpr bool has_ieth(Opcode opcode) {
  return detail::has(opcode, detail::kIeth);
}
constexpr bool has_atomic_eth(Opcode opcode) {
  return detail::has(opcode, detail::kAtomicEth);
}
constexpr bool has_atomic_ack_eth(Opcode opcode) {
  return detail::has(opcode, detail::kAtomicAckEth);
}
constexpr bool has_deth(Opcode opcode) {
  return detail::has(opcode, detail::kDeth);
}
constexpr bool has_xrc_eth(Opcode opcode) {
  return detail::has(opcode, detail::kXrcEth);
}
// May bytes of a message follow the headers? (Zero of them is always allowed on an Only packet.)
constexpr bool has_payload(Opcode opcode) {
  return detail::has(opcode, detail::kPayload);
}

// A CNP is neither a request nor a response: it has no place in the PSN space.
constexpr bool is_request(Opcode opcode) {
  return detail::has(opcode, detail::kRequest);
}
// RC opcodes; for another transport take it off first.
constexpr bool is_write(Opcode opcode) {
  return opcode >= Opcode::kWriteFirst && opcode <= Opcode::kWriteOnlyImm;
}
constexpr bool is_response(Opcode opcode) {
  return detail::has(opcode, detail::kResponse);
}

constexpr bool is_rc_request(Opcode opcode) {
  return static_cast<std::uint8_t>(opcode) < kUcTransport && is_request(opcode);
}

// Place in the message. READ request, ACK and atomics are Only; a CNP is none of the four.
constexpr bool is_first(Opcode opcode) {
  return detail::has(opcode, detail::kFirst);
}
constexpr bool is_middle(Opcode opcode) {
  return detail::has(opcode, detail::kMiddle);
}
constexpr bool is_last(Opcode opcode) {
  return detail::has(opcode, detail::kLast);
}
constexpr bool is_only(Opcode opcode) {
  return detail::has(opcode, detail::kOnly);
}

namespace detail {

constexpr std::array<std::uint8_t, 256> make_header_sizes_B() {
  std::array<std::uint8_t, 256> sizes_B{};
  for (std::size_t byte = 0; byte < 256; ++byte) {
    const auto opcode = static_cast<Opcode>(byte);
    if (!is_valid_opcode(static_cast<std::uint8_t>(byte))) continue;
    std::size_t size_B = kBthSize_B;
    if (has_deth(opcode)) size_B += kDethSize_B;
    if (has_xrc_eth(opcode)) size_B += kXrcEthSize_B;
    if (has_reth(opcode)) size_B += kRethSize_B;
    if (has_atomic_eth(opcode)) size_B += kAtomicEthSize_B;
    if (has_aeth(opcode)) size_B += kAethSize_B;
    if (has_atomic_ack_eth(opcode)) size_B += kAtomicAckEthSize_B;
    if (has_imm(opcode)) size_B += kImmDtSize_B;
    if (has_ieth(opcode)) size_B += kIethSize_B;
    if (opcode == Opcode::kCnp) size_B += kCnpReservedSize_B;
    sizes_B[byte] = static_cast<std::uint8_t>(size_B);
  }
  return sizes_B;
}
inline constexpr std::array<std::uint8_t, 256> kHeaderSizes_B = make_header_sizes_B();

}  // namespace detail

// BTH and the extension headers that follow it (CNP: BTH and 16 reserved bytes). 0 for a byte
// that is not an opcode.
constexpr std::size_t header_size_B(Opcode opcode) {
  return detail::kHeaderSizes_B[static_cast<std::uint8_t>(opcode)];
}
inline constexpr std::size_t kMaxHeaderSize_B = kBthSize_B + kXrcEthSize_B + kAtomicEthSize_B;

// "RC RDMA WRITE First"; "unknown opcode" for a byte that is not listed above.
const char* name(Opcode opcode);

}  // namespace weft::wire
