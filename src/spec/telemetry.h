// Telemetry that switches write into a packet that asks for it: one record per hop (INT-MD, IFA, HPCC). The record has
// the union of what the formats need; wire:: writes the one that was asked for. A slot of the domain's telemetry pool.
#pragma once

#include <array>
#include <cstdint>

#include "base/time.h"
#include "wire/ifa.h"
#include "wire/int_md.h"

namespace weft::engine {

enum class TelemetryFormat : std::uint8_t { kNone, kInt, kIfa };

// INT asks every hop for these.
inline constexpr std::uint16_t kIntInstructions =
    wire::kIntNodeId | wire::kIntHopLatency | wire::kIntQueue | wire::kIntEgressTime | wire::kIntTxUtilisation;
// 4-byte words that a format adds to a packet, and that each hop adds then.
constexpr std::uint8_t telemetry_words(TelemetryFormat format) {
  return format == TelemetryFormat::kInt ? (wire::kIntShim_B + wire::kIntMdHeader_B) / 4
                                         : (wire::kIfaHeader_B + wire::kIfaMetadataHeader_B) / 4;
}
constexpr std::uint8_t telemetry_hop_words(TelemetryFormat format) {
  return format == TelemetryFormat::kInt ? 6 : wire::kIfaHop_B / 4;
}

struct HopRecord {
  Time_ps arrived_ps = 0;     // handled at the switch
  Time_ps left_ps = 0;        // first bit at the egress port
  std::uint64_t tx_B = 0;     // bytes that the egress port has sent so far
  std::uint32_t queue_B = 0;  // what waits in the egress queue behind the packet as it leaves
  std::uint32_t rate_Mbps = 0;
  std::uint32_t node = 0;
  std::uint16_t in_port = 0;  // index within the switch
  std::uint16_t out_port = 0;
  std::uint8_t queue = 0;
  std::uint8_t ttl = 0;  // on the way out
};

struct Telemetry {
  static constexpr std::size_t kMaxHops = 6;
  TelemetryFormat format = TelemetryFormat::kInt;
  bool echo = false;    // the sender wants it back, for its congestion control
  bool closed = false;  // echoed by an acknowledgement: no records are added
  std::uint8_t count = 0;
  std::array<HopRecord, kMaxHops> hops{};
};

}  // namespace weft::engine
