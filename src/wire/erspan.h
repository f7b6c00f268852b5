// ERSPAN (draft-foschiano-erspan-03): a mirrored frame inside GRE inside IPv4, as a switch sends it to an analyser.
// Type II has a session and an index; type III adds a hardware timestamp, whose seconds are in a platform subheader of
// id 5. GRE has its sequence number and nothing else (RFC 2890). Type I, without sequence number, is not read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <tl/expected.hpp>
#include <vector>

#include "base/time.h"
#include "wire/bytes.h"
#include "wire/ethernet.h"
#include "wire/ipv4.h"
#include "wire/wire_error.h"

namespace weft::wire {

inline constexpr std::uint8_t kIpProtocolGre = 47;
inline constexpr std::uint16_t kGreErspan2 = 0x88be;
inline constexpr std::uint16_t kGreErspan3 = 0x22eb;
inline constexpr std::size_t kGre_B = 8;  // with sequence number
inline constexpr std::size_t kErspan2_B = 8;
inline constexpr std::size_t kErspan3_B = 12;
inline constexpr std::size_t kErspanSubheader_B = 8;

enum class ErspanType : std::uint8_t { kII, kIII };
// Unit of the type III timestamp. kIeee1588: nanoseconds here, seconds in the subheader.
enum class ErspanGranularity : std::uint8_t { k100us = 0, k100ns = 1, kIeee1588 = 2, kOther = 3 };

struct Erspan {
  ErspanType type = ErspanType::kII;
  std::uint32_t sequence = 0;
  std::uint16_t vlan = 0;     // 12 bits, of the mirrored frame
  std::uint8_t priority = 0;  // 3 bits, COS
  bool truncated = false;
  std::uint16_t session = 0;  // 10 bits

  std::uint32_t index = 0;  // type II, 20 bits: the mirrored port

  // Type III.
  std::uint32_t timestamp = 0;
  ErspanGranularity granularity = ErspanGranularity::k100us;
  std::uint8_t hardware_id = 0;  // 6 bits
  bool egress = false;           // mirrored as it left, not as it came
  struct Port {
    std::uint16_t switch_id = 0;  // 10 bits
    std::uint16_t port = 0;
    std::uint32_t seconds = 0;
    friend bool operator==(const Port&, const Port&) = default;
  };
  std::optional<Port> port{};  // subheader of platform 5

  friend bool operator==(const Erspan&, const Erspan&) = default;
};

// A type III header for a frame that was mirrored at `time_ps`.
Erspan erspan3_at(Time_ps time_ps, std::uint16_t session, std::uint16_t switch_id, std::uint16_t port, bool egress);

class ErspanView {
 public:
  // `gre` is the payload of an IP packet of protocol 47.
  static tl::expected<ErspanView, WireError> parse(Bytes gre);

  const Erspan& header() const { return header_; }
  Bytes frame() const { return frame_; }  // the mirrored one, from its destination MAC on

 private:
  ErspanView(const Erspan& header, Bytes frame) : header_(header), frame_(frame) {}
  Erspan header_;
  Bytes frame_;
};

struct ErspanTunnel {
  MacAddress dst_mac{};
  MacAddress src_mac{};
  Ipv4Address src_ip{};
  Ipv4Address dst_ip{};
  std::uint8_t tos = 0;
  std::uint8_t ttl = 64;
};

std::size_t erspan_overhead_B(const Erspan& header);  // Ethernet, IPv4, GRE and ERSPAN
// The whole outer frame without FCS. `mirrored` is at most what an IPv4 packet can hold.
std::vector<std::uint8_t> build_erspan_frame(const ErspanTunnel& tunnel, const Erspan& header, Bytes mirrored);

}  // namespace weft::wire
