// Turns a packet record into the bytes of its frame, for captures and ports to the outside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/domain.h"
#include "spec/address_book.h"

namespace weft::observe {

inline constexpr std::size_t kMaxFrame_B = 9216 + 512;

// Writes the frame without FCS and returns its size. `domain` holds the packet's cold side and the format of its
// transport; `from` and `to` are the ports of the cable that it is seen on, whose MAC addresses a routed packet has.
std::size_t frame_of(const engine::Packet& packet, const engine::Domain& domain, const fabric::AddressBook& book,
                     std::uint32_t from, std::uint32_t to, std::span<std::uint8_t> out);

}  // namespace weft::observe
