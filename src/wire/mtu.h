// Sizes: path MTU from a network interface's MTU as Linux computes it (include/rdma/ib_addr.h:
// iboe_get_mtu), and what a frame costs on the line (802.3 4.4.2). Bytes throughout.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace weft::wire {

inline constexpr std::size_t kPreamble_B = 8;  // preamble and start-of-frame delimiter
inline constexpr std::size_t kInterFrameGap_B = 12;
inline constexpr std::size_t kFcs_B = 4;
inline constexpr std::size_t kMinFrame_B = 64;  // with FCS
inline constexpr std::size_t kIcrc_B = 4;

// Line time of a frame, in bytes: preamble, frame padded to the minimum, FCS, gap.
constexpr std::size_t line_size_B(std::size_t frame_without_fcs_B) {
  return kPreamble_B + std::max(frame_without_fcs_B + kFcs_B, kMinFrame_B) + kInterFrameGap_B;
}

// Linux reserves below the interface's MTU: GRH 40, UDP 8, BTH 12, XRC ETH 4, AtomicETH 28, ICRC 4.
inline constexpr std::uint32_t kIboeHeaderReserve_B = 96;

constexpr bool is_path_mtu(std::uint32_t mtu_B) {
  return mtu_B == 256 || mtu_B == 512 || mtu_B == 1024 || mtu_B == 2048 || mtu_B == 4096;
}

// The largest IB path MTU that fits, or 0 where not even 256 does.
constexpr std::uint32_t path_mtu_from_netdev_mtu(std::uint32_t netdev_mtu_B) {
  if (netdev_mtu_B < kIboeHeaderReserve_B) return 0;
  const std::uint32_t room_B = netdev_mtu_B - kIboeHeaderReserve_B;
  for (std::uint32_t mtu_B = 4096; mtu_B >= 256; mtu_B /= 2) {
    if (room_B >= mtu_B) return mtu_B;
  }
  return 0;
}

}  // namespace weft::wire
