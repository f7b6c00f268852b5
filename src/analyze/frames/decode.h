// From captured bytes to a Frame. Takes hostile input: whatever the bytes are, every length is checked against what the
// capture holds and what was on the wire; what does not fit is a FrameProblem or an absent field.
#pragma once

#include <cstdint>

#include "analyze/frames/addresses.h"
#include "analyze/frames/frame.h"
#include "wire/bytes.h"

namespace weft::analyze {

struct DecodeOptions {
  bool check_icrc = true;
};

// `bytes` is what the capture holds of a frame that had `wire_B` on the wire; `link_type` as in pcap files. Sets all of
// `frame` but number, time, point and direction.
void decode(std::uint16_t link_type, wire::Bytes bytes, std::uint32_t wire_B, const DecodeOptions& options,
            Addresses& addresses, Frame& frame);

// UET: a whole frame whose `payload` begins with the prologue. False where it has no room for a CRC.
bool uet_crc_fits(const Frame& frame);

}  // namespace weft::analyze
