// Inband Flow Analyzer 2.0 (draft-kumar-ippm-ifa-08, as Trident 3 and later write it). Two places in a packet: the IFA
// header between IP and the transport, and behind the transport header a metadata header with one record of 32 bytes
// for each hop, the last hop first. The IP protocol number was never assigned; 131 is what implementations use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tl/expected.hpp>
#include <vector>

#include "wire/bytes.h"
#include "wire/wire_error.h"

namespace weft::wire {

inline constexpr std::uint8_t kIpProtocolIfa = 131;
inline constexpr std::uint8_t kIfaVersion = 2;
inline constexpr std::size_t kIfaHeader_B = 4;
inline constexpr std::size_t kIfaMetadataHeader_B = 4;
inline constexpr std::size_t kIfaHop_B = 32;
inline constexpr std::size_t kIfaMaxHops = 0xff / (kIfaHop_B / 4);

enum IfaFlag : std::uint8_t {
  kIfaChecksum = 1 << 0,
  kIfaTurnAround = 1 << 1,
  kIfaInband = 1 << 2,
  kIfaTailStamp = 1 << 3,
  kIfaMetadataFragment = 1 << 4,
};

struct IfaHeader {
  std::uint8_t name_space = 0;  // GNS, 4 bits: what the records look like; 0xf: each says so itself (LNS)
  std::uint8_t next_header = 0;
  std::uint8_t flags = 0;
  std::uint8_t max_length = 0;  // words of 4 bytes that the stack may grow to

  friend bool operator==(const IfaHeader&, const IfaHeader&) = default;
};

class IfaHeaderView {
 public:
  static tl::expected<IfaHeaderView, WireError> parse(Bytes bytes);

  IfaHeader header() const { return {static_cast<std::uint8_t>(bytes_[0] & 0xf), bytes_[1], bytes_[2], bytes_[3]}; }

 private:
  explicit IfaHeaderView(Bytes bytes) : bytes_(bytes) {}
  Bytes bytes_;
};

// Writes kIfaHeader_B bytes.
void write_ifa_header(const IfaHeader& header, MutableBytes out);

// Speeds of the record's port, by code.
enum class IfaSpeed : std::uint8_t { k10G, k25G, k40G, k50G, k100G, k200G, k400G };

struct IfaHop {
  std::uint8_t name_space = 0;  // LNS, 4 bits
  std::uint32_t device_id = 0;  // 20 bits
  std::uint8_t ttl = 0;
  std::uint8_t speed = 0;       // 4 bits, IfaSpeed
  std::uint8_t congestion = 0;  // 2 bits: the packet's ECN field
  std::uint8_t queue_id = 0;    // 6 bits
  std::uint32_t rx_s = 0;       // 20 bits
  std::uint16_t egress_port = 0;
  std::uint16_t ingress_port = 0;
  std::uint32_t rx_ns = 0;
  std::uint32_t residence_ns = 0;
  std::uint32_t queue_B = 0;
  std::uint16_t queue_cells = 0;

  friend bool operator==(const IfaHop&, const IfaHop&) = default;
};

struct IfaMetadata {
  std::uint8_t request = 0;  // which fields are asked for; 0: those of the name space
  std::uint8_t action = 0;   // colour and loss bits
  std::uint8_t hop_limit = 0;
  std::vector<IfaHop> hops;  // the first hop first

  friend bool operator==(const IfaMetadata&, const IfaMetadata&) = default;
};

class IfaMetadataView {
 public:
  // `bytes` start at the metadata header. Checks that the stack is whole records within `bytes`.
  static tl::expected<IfaMetadataView, WireError> parse(Bytes bytes);

  std::size_t size_B() const { return bytes_.size(); }  // the transport's payload follows
  std::size_t hop_count() const { return (bytes_.size() - kIfaMetadataHeader_B) / kIfaHop_B; }
  IfaHop hop(std::size_t index) const;  // 0: the first switch of the path
  IfaMetadata header() const;

 private:
  explicit IfaMetadataView(Bytes bytes) : bytes_(bytes) {}
  Bytes bytes_;
};

// Header and stack, at most kIfaMaxHops records. Fields are cut to their widths.
std::vector<std::uint8_t> build_ifa_metadata(const IfaMetadata& metadata);

}  // namespace weft::wire
