// The parameters of one switch model: ASIC memory, cells, pipeline, ports. Values come from
// catalog/switches.yaml, each with its source; nothing here has a default that a device would silently inherit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"

namespace weft::fabric {

// How the ASIC divides its packet memory, because that decides who starves ([juniper-qfx5k]).
enum class BufferSplit : std::uint8_t {
  kShared,       // one pool that every port can use (Spectrum, Trident 3)
  kIngressPipe,  // a slice per ingress pipe or half of them (Tomahawk 3, 4, 5)
  kPipePair,     // a slice chosen by ingress and egress pipe (Tomahawk, Tomahawk 2)
  kVoq,          // virtual output queues at the ingress in deep memory (Jericho)
};

// How the vendor sizes lossless headroom (docs/mechanisms/shared-buffer.md).
enum class HeadroomMethod : std::uint8_t {
  kSpectrum,  // the formula of SONiC's Mellanox platform
  kFixed,     // one value for every rate and cable, from the vendor's profile table
};

struct FrontPorts {
  std::uint32_t count = 0;
  std::vector<std::int64_t> rates_bps;  // highest first
  std::uint32_t lanes = 0;              // of the highest rate
};

struct SwitchModel {
  std::string name;         // catalog key, e.g. "sn3700c"
  std::string description;  // "NVIDIA SN3700C, Spectrum-2, 32x 100GbE QSFP28"
  std::string asic;
  std::string oui;  // of the made-up MAC addresses
  std::string sonic_platform;
  std::vector<FrontPorts> ports;  // in front-panel order
  std::string port_prefix;        // "swp" names ports swp1, swp2, …

  std::int64_t buffer_B = 0;  // usable packet memory
  std::uint32_t cell_B = 0;
  BufferSplit buffer_split = BufferSplit::kShared;
  std::uint32_t buffer_slices = 1;  // memories of the split
  std::uint32_t pipes = 1;          // ports are dealt to pipes in equal runs

  bool cut_through = false;
  Time_ps pipeline_ps = 0;      // header at the ingress MAC -> frame can start at an idle egress
  Time_ps port_latency_ps = 0;  // MAC, PCS and SerDes of one port, one direction, without FEC
  Time_ps pfc_response_ps = 0;  // pause frame received -> no new frame of that priority starts
  std::int64_t max_mtu_B = 0;   // largest IP packet

  HeadroomMethod headroom_method = HeadroomMethod::kSpectrum;
  std::int64_t headroom_pipeline_B = 0;  // kSpectrum: pipeline term, also XON (19 KiB)
  bool headroom_pause_quanta = false;    // kSpectrum: peer response from 802.3 31B.3.7 instead of 3.8 KiB
  Time_ps headroom_tile_ps = 0;          // kSpectrum: Spectrum-4's tile crossing
  std::int64_t headroom_fixed_B = 0;     // kFixed: xoff
  std::int64_t headroom_fixed_reserved_B = 0;
  std::int64_t headroom_fixed_xon_B = 0;
  std::int64_t headroom_fixed_xon_offset_B = 0;
  std::int64_t headroom_pool_B = 0;  // shared headroom pool of the default configuration, 0 = own headroom
  std::int64_t ingress_pool_B = 0;   // shared ingress pool of the default configuration
  std::int64_t egress_lossy_pool_B = 0;
  std::int64_t drop_resume_B = 0;  // a queue that dropped takes packets again when it is shorter by this

  std::uint32_t max_lossless_priorities = 0;
  bool fec_autonegotiation = true;  // false: RS-FEC must be set at both ends, or the link may stay down
  bool has_pfc = false, has_ecn = false, has_wjh = false, has_int = false, has_ifa = false, has_erspan = false;
  bool has_adaptive_routing = false;
  std::int64_t cpu_packets_per_s = 0;  // of what is not forwarded in hardware
};

}  // namespace weft::fabric
