// What follows from a cable and a rate: the Ethernet rates, and the FEC that two ports agree on by themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "catalog/cable.h"

namespace weft::lab {

// 1 Gb/s to 800 Gb/s, highest first. ps_per_byte is exact for each.
inline constexpr std::size_t kEthernetRateCount = 9;
std::span<const std::int64_t> ethernet_rates_bps();
// What the catalog calls the latency of a FEC at each of these rates: "latency_800G".
std::span<const std::string_view> fec_latency_keys();

// The FEC that ports choose by default (25G: Cumulus Linux 5.19 "Switch Port Attributes" with the reach of CA-N,
// [cumulus-docs]; 100G is CL91, PAM4 needs RS(544,514)).
Fec auto_fec(std::int64_t rate_bps, CableKind cable, std::int64_t length_mm);

}  // namespace weft::lab
