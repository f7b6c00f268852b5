// Marks on packets of a stream beside their payload: class, ECN, MigReq, source port. One small record of each
// stream; the checks of traffic classes, entropy, MigReq and pauses look at it when the capture has been read.
#pragma once

#include <cstdint>
#include <vector>

#include "analyze/findings/analysis.h"
#include "analyze/frames/addresses.h"
#include "analyze/streams/streams.h"

namespace weft::analyze {

struct StreamMarks {
  static constexpr std::uint8_t kMigReqSet = 1, kMigReqClear = 2, kOddPort = 4, kManyPorts = 8, kCnpPortZero = 16;

  std::uint64_t src_mac = 0, dst_mac = 0;
  std::uint64_t changed_frame = 0;  // first one in another class
  std::int64_t changed_ns = 0;
  std::uint32_t frames = 0, data = 0, not_ect = 0, ce = 0, changed = 0;  // without CNPs
  std::uint16_t src_port = 0;
  std::uint8_t dscp = 0, changed_dscp = 0, ttl = 0;
  std::int8_t pcp = -1, changed_pcp = -1;
  std::uint8_t flags = 0;
  Direction direction = Direction::kUnknown;
  bool has_cnp = false;
  std::uint8_t cnp_dscp = 0;
  std::int8_t cnp_pcp = -1;
};

// Input of a section when it reports its findings.
struct Reading {
  const CaptureSummary& capture;
  const Streams& streams;
  const Addresses& addresses;
  const std::vector<StreamMarks>& marks;

  std::int64_t span_ns() const { return capture.last_ns - capture.first_ns; }
};

// "10.0.0.1 > 10.0.0.2 qp 0x1a": a stream as findings name it.
std::string place_of(const Reading& reading, StreamId id);
// "leaf0:swp3", or "interface 2" where it has no name.
std::string point_name(const Reading& reading, PointId point);

}  // namespace weft::analyze
