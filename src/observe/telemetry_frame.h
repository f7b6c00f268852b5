// Telemetry in a captured frame: INT-MD behind the UDP header, or IFA around it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "spec/telemetry.h"

namespace weft::observe {

// The port for INT was never assigned; this one is ours.
inline constexpr std::uint16_t kIntUdpPort = 5000;

// `out` holds a whole RoCEv2 frame of `size_B`; puts the telemetry in, with lengths, port or protocol and checksum as
// they have to be then. The ICRC is that of the packet without it, which the receiver restores. Returns the new size.
std::size_t insert_telemetry(std::span<std::uint8_t> out, std::size_t size_B, const engine::Telemetry& telemetry,
                             std::uint8_t ecn);

}  // namespace weft::observe
