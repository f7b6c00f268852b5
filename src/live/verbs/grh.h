// The 40 bytes that a UD receive begins with (IBTA annex A17): the IPv6 header of the packet, or 20 bytes of zeros and
// its IPv4 header, as they were on the wire.
#pragma once

#include <cstdint>
#include <span>

#include "engine/packet.h"
#include "nic/device_config.h"
#include "spec/address_book.h"

namespace weft::live {

// `group`: of a packet to a multicast group; else null.
void write_grh(const engine::Packet& packet, const fabric::AddressBook& book, const nic::GroupGid* group,
               std::span<std::uint8_t, nic::kGrh_B> out);

}  // namespace weft::live
