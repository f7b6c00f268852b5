// One frame as one line of a list, as Wireshark's columns: who, to whom, which protocol, what it says.
#pragma once

#include <string>

#include "analyze/frames/addresses.h"
#include "analyze/frames/frame.h"

namespace weft::analyze {

struct PacketLine {
  std::string source, destination;  // IP address, GID or LID; MAC address where there is none
  std::string protocol;             // "RC", "UD", "CNP", "PFC", "UET", ...
  std::string info;                 // "RDMA WRITE First, QP 0x11, PSN 123, 4096 B"
};

PacketLine packet_line(const Frame& frame, const Addresses& addresses);

// A NAK, RNR included, or a NACK of UET.
bool is_nak(const Frame& frame);
bool is_rnr_nak(const Frame& frame);
// A pause that pauses; those that resume are not.
bool pauses(const Frame& frame);

}  // namespace weft::analyze
