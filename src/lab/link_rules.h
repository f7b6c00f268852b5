// What follows from a cable, a rate and an MTU: the Ethernet rates, the FEC that two ports agree on by
// themselves, and the RoCE MTU that Linux derives from the netdev's.
#pragma once

#include <cstdint>
#include <span>

#include "lab/lab_model.h"

namespace weft::lab {

// 1 Gb/s to 800 Gb/s, highest first. ps_per_byte is exact for each.
std::span<const std::int64_t> ethernet_rates_bps();

// The FEC that ports choose when nobody says otherwise (facts CATALOG 9; the 25G rows are Cumulus
// Linux 5.19 "Switch Port Attributes" with the reach of CA-N, 100G is CL91, PAM4 needs RS(544,514)).
Fec auto_fec(std::int64_t rate_bps, CableKind cable, std::int64_t length_mm);

// 256, 512, 1024, 2048 or 4096; 0 when even 256 does not fit (linux include/rdma/ib_addr.h
// iboe_get_mtu: 96 B are taken off for headers).
std::uint32_t roce_mtu_B(std::int64_t netdev_mtu_B);
inline constexpr std::int64_t kRoceHeadroom_B = 96;
inline constexpr std::int64_t kMinRoceNetdevMtu_B = 256 + kRoceHeadroom_B;

}  // namespace weft::lab
