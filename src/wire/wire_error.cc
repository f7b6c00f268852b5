#include "wire/wire_error.h"

namespace weft::wire {

const char* describe(WireError error) {
  switch (error) {
    case WireError::kTruncated:
      return "truncated";
    case WireError::kNotRoce:
      return "not RoCE";
    case WireError::kNotMacControl:
      return "not a pause frame";
    case WireError::kBadIpVersion:
      return "IP version does not match the EtherType";
    case WireError::kBadIpHeaderLength:
      return "bad IP header length";
    case WireError::kIpOptions:
      return "IP options or extension headers";
    case WireError::kBadIpFlags:
      return "IP fragment or reserved flag";
    case WireError::kBadUdpLength:
      return "UDP and IP length disagree";
    case WireError::kBadTransportVersion:
      return "BTH transport version is not 0";
    case WireError::kUnknownOpcode:
      return "unknown BTH opcode";
    case WireError::kBadPad:
      return "payload and pad are not whole words";
    case WireError::kUnexpectedPayload:
      return "payload on an opcode that carries none";
    case WireError::kNotTelemetry:
      return "not INT-MD 2 or IFA 2";
    case WireError::kBadTelemetryLength:
      return "telemetry stack is not whole hops";
    case WireError::kNotErspan:
      return "not ERSPAN type II or III";
    case WireError::kNotCm:
      return "not a MAD of communication management";
  }
  return "unknown error";
}

}  // namespace weft::wire
