// Which frame of a capture belongs to an event: its kind, its port, and whether it is before or after the event. Filled
// in by the reader of events, found by packets/event_packets.h.
#pragma once

#include <cstdint>
#include <string>

namespace weft::serve {

enum class EventFrameKind : std::uint8_t {
  kNone,     // no frame belongs to it
  kMarked,   // CE, with this destination, QP and PSN, out of the port
  kCnp,      // to this destination and QP, out of the port
  kCnpIn,    // to this QP, into the port
  kNakIn,    // to this QP, into the port
  kRnrIn,    // to this QP, into the port
  kRequest,  // with this destination, QP and PSN, out of the port
  kLost,     // the same at any port
  kPause,    // XOFF of this class, out of the port
  kFault,    // the capture's comment names the fault, at any port
};

struct EventFrame {
  EventFrameKind kind = EventFrameKind::kNone;
  std::string port, peer;   // the port of the event, and the other end of the cable if a capture there is enough
  std::string destination;  // the destination host port
  std::uint32_t qp = 0, psn = 0;
  int pause_class = 0;
  std::string fault;
};

// True for events that follow from a frame: it is the last frame that is not later. For others it is the first frame
// that is not earlier.
constexpr bool comes_before_event(EventFrameKind kind) {
  return kind == EventFrameKind::kCnpIn || kind == EventFrameKind::kNakIn || kind == EventFrameKind::kRnrIn ||
         kind == EventFrameKind::kLost;
}

}  // namespace weft::serve
