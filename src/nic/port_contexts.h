// Contexts of a port's schedule beside its queue pairs, and a few numbers of its own.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/time.h"

namespace weft::nic {

// Contexts that are no queue pair's requester or responder.
inline constexpr std::uint32_t kCnpContext = 0xffffffff;
inline constexpr std::uint32_t kCqContext = 0x8000'0000;    // of a timer: a completion queue
inline constexpr std::uint32_t kLoopContext = 0x4000'0000;  // of a timer: a packet to this port

// A context whose class is stopped.
struct Parked {
  std::uint32_t context;
  bool control;
};

inline constexpr std::uint32_t kGeneralServicesQpn = 1;
inline constexpr std::uint32_t kCqe_B = 64;
inline constexpr std::size_t kRestingQps = 64;    // destroyed numbers that are not used again yet
inline constexpr std::size_t kPlacesForAcks = 8;  // of a QP's replies that READ and atomics leave free

}  // namespace weft::nic
