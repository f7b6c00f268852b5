// Lossless headroom: the room of a priority group for what still arrives after it asked its peer to stop. Three
// answers: what the vendor's formula gives (SONiC on Spectrum), what `headroom: auto` of a lab therefore takes, and
// what this simulated world really needs, in closed form. Derived in docs/mechanisms/shared-buffer.md. Called when a
// lab is resolved, never while time runs. Sizes in bytes of buffer: whole cells.
#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"
#include "spec/switch_model.h"

namespace weft::fabric {

// The largest frame with RoCE of a port with this MTU: a payload of 4096 bytes with all headers that Linux keeps room
// for, Ethernet's header and FCS.
constexpr std::int64_t largest_roce_frame_B(std::int64_t mtu_B) {
  constexpr std::int64_t kEthernet_B = 18, kLargestRoce_B = 4096 + 96;
  return (mtu_B < kLargestRoce_B ? mtu_B : kLargestRoce_B) + kEthernet_B;
}

// A row of SONiC's pg_profile_lookup.ini.
struct SonicHeadroom {
  std::int64_t size_B = 0;  // of the whole priority group
  std::int64_t xon_B = 0;
  std::int64_t xoff_B = 0;  // what may arrive after XOFF
};

inline constexpr std::int64_t kSonicMtu_B = 9216;          // port MTU behind every published table
inline constexpr std::int64_t kSonicLosslessMtu_B = 1024;  // frames of the lossless class, as the same tables assume

// The longest time that a peer may take from a pause frame to silence, in quanta of 512 bit times (802.3 31B.3.7);
// nothing for a rate that the standard's table does not have.
std::optional<std::int64_t> pause_response_quanta(std::int64_t rate_bps);
std::optional<Time_ps> pause_response_max_ps(std::int64_t rate_bps);

// SONiC's formula for Mellanox switches. `model` gives cell, pipeline, tile and the peer's response.
SonicHeadroom spectrum_headroom(const SwitchModel& model, std::int64_t rate_bps, std::int64_t length_mm,
                                std::int64_t mtu_B = kSonicMtu_B, std::int64_t lossless_mtu_B = kSonicLosslessMtu_B);

// xoff that the vendor would configure for a port of this switch at this rate and cable.
std::int64_t auto_headroom_B(const SwitchModel& model, std::int64_t rate_bps, std::int64_t length_mm);

// One link, seen from the priority group that sends XOFF. Frames are counted from destination MAC to FCS; on the line
// each has 20 bytes more (preamble and gap), which no buffer stores.
struct HeadroomPath {
  std::int64_t rate_bps = 0;
  Time_ps flight_in_ps = 0;    // peer -> here: both ports, propagation, FEC
  Time_ps flight_out_ps = 0;   // here -> peer
  Time_ps pipeline_ps = 0;     // at the port -> admitted here
  Time_ps response_ps = 0;     // of the peer: last bit of the PFC frame at its port -> it starts no new frame
  std::int64_t max_out_B = 0;  // largest frame, of any class, that XOFF may have to wait for
  std::int64_t min_lossless_B = 64;
  std::int64_t max_lossless_B = 0;
  std::int64_t cell_B = 1;
  // Cut-through: bytes of line time after which a frame is handled. 0: store and forward, handled at its end.
  std::int64_t cut_through_B = 0;
  std::uint32_t lossless_groups = 1;  // of this port: a pause of each other one, and this one's last XON, may be ahead
  bool trigger_in_headroom = true;    // the packet that found no shared room is itself kept in the headroom
};

// From the end, on the peer's transmitter, of the packet that triggered XOFF until the peer falls silent: the line time
// in which it may start frames, when the trigger is as small as a lossless frame can be.
Time_ps headroom_window_ps(const HeadroomPath& path);

// What a group needs when every lossless frame has `frame_B` bytes: exact, attained at the worst alignment.
std::int64_t headroom_need_B(const HeadroomPath& path, std::int64_t frame_B);

// What a group needs whatever the sizes between min_lossless_B and max_lossless_B: never exceeded, and with store
// and forward attained to within one frame of the worst size.
std::int64_t headroom_need_B(const HeadroomPath& path);

// How much `configured_B` lacks; 0 when it suffices.
std::int64_t headroom_shortfall_B(const HeadroomPath& path, std::int64_t configured_B);

}  // namespace weft::fabric
