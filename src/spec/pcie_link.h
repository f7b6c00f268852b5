// The PCIe link of a card: how many bits a second its lanes carry after encoding, and what is left for TLPs
// ([pcie-bench]).
#pragma once

#include <cstdint>

namespace weft::nic {

// Transfers per second and lane of generations 1 to 6: 2.5, 5, then 8 GT/s and twice as many each time.
constexpr std::int64_t pcie_megatransfers_per_s(std::uint32_t generation) {
  return generation < 3 ? std::int64_t{1250} << generation : std::int64_t{1000} << generation;
}

struct PcieLink {
  std::uint32_t generation = 3;  // 1 to 6
  std::uint32_t lanes = 8;
  std::uint32_t max_payload_B = 256;  // of one TLP; a power of two

  // Bits per second after encoding: 8b/10b, 128b/130b from generation 3 on, and in generation 6 flits of 256 bytes with
  // 14 of CRC and FEC.
  constexpr std::int64_t raw_bps() const {
    std::int64_t line_bps = pcie_megatransfers_per_s(generation) * 1'000'000 * lanes;
    if (generation < 3) return line_bps * 8 / 10;
    return generation < 6 ? line_bps * 128 / 130 : line_bps * 242 / 256;
  }
  // Rate left for TLPs after ACK, flow control and skip: 92 % up to x8, 90.5 % at x16; 2 % less with TLPs of 128 B,
  // of which there are twice as many to acknowledge. Within 1.5 % of the table of [pcie-model] for every width,
  // generation and payload size there.
  constexpr std::int64_t tlp_bps() const {
    return raw_bps() / 1000 * ((lanes > 8 ? 905 : 920) - (max_payload_B <= 128 ? 19 : 0));
  }
};

// Header, framing, sequence number and LCRC of a memory write with a 64-bit address. Completions carry 20,
// but arrive split at read-completion boundaries; both directions are counted alike.
inline constexpr std::uint32_t kTlpOverhead_B = 24;

}  // namespace weft::nic
