#include "wire/aeth_syndrome.h"

namespace weft::wire {

const char* describe_syndrome(std::uint8_t syndrome) {
  switch (aeth_kind(syndrome)) {
    case AethKind::kAck:
      return "ACK";
    case AethKind::kRnrNak:
      return "RNR NAK";
    case AethKind::kReserved:
      return "reserved syndrome";
    case AethKind::kNak:
      break;
  }
  switch (static_cast<NakCode>(aeth_value(syndrome))) {
    case NakCode::kPsnSequenceError:
      return "NAK PSN sequence error";
    case NakCode::kInvalidRequest:
      return "NAK invalid request";
    case NakCode::kRemoteAccessError:
      return "NAK remote access error";
    case NakCode::kRemoteOperationalError:
      return "NAK remote operational error";
    case NakCode::kInvalidRdRequest:
      return "NAK invalid RD request";
  }
  return "NAK reserved code";
}

}  // namespace weft::wire
