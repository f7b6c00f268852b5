// Records of RoCE packets, for tests that make them by hand.
#pragma once

#include "nic/transports/roce_packet.h"
#include "nic/transports/transport.h"

namespace weft::support {

// Into a record that is no packet of a transport yet.
inline void make_roce(engine::Packet& packet, wire::Opcode opcode, std::uint32_t psn = 0) {
  packet.transport = nic::transport_number(opcode) & (engine::kTransports - 1);
  nic::add_bth(packet, opcode, psn);
}

}  // namespace weft::support
