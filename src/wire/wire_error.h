// Why bytes are not the frame they were taken for. Every parser of src/wire returns one of these
// or a checked view; none of them throws, reads past its span or guesses.
#pragma once

#include <cstdint>

namespace weft::wire {

enum class WireError : std::uint8_t {
  kTruncated,            // fewer bytes than the header, or than a length field promises
  kNotRoce,              // another EtherType, IP protocol or UDP port
  kNotMacControl,        // not a PFC or PAUSE frame
  kBadIpVersion,         // the version nibble does not match the EtherType
  kBadIpHeaderLength,    // IHL below 5, or a total length below the header
  kIpOptions,            // IPv4 options or IPv6 extension headers: no RoCE NIC sends them
  kBadIpFlags,           // a fragment (RoCEv2 packets are never fragmented), or the reserved flag
  kBadUdpLength,         // UDP length and IP length disagree
  kBadTransportVersion,  // BTH TVer is not 0
  kUnknownOpcode,        // a BTH opcode that opcode.h does not list
  kBadPad,               // payload and pad are not whole words, or the pad exceeds them
  kUnexpectedPayload,    // bytes after the headers of an opcode that carries none
  kNotTelemetry,         // another type or version than INT-MD 2.x or IFA 2.0
  kBadTelemetryLength,   // the stack is not whole hops, or a reserved instruction is set
  kNotErspan,            // GRE with other options, another protocol, version or payload
  kNotCm,                // not a MAD of communication management, or an attribute that is not modelled
};

// One line for a person, e.g. "truncated".
const char* describe(WireError error);

}  // namespace weft::wire
