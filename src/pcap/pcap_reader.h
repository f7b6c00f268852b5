// Reads a whole capture from bytes in memory (capture_stream.h says which formats). For files that may be large or
// compressed, use CaptureStream.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <tl/expected.hpp>
#include <vector>

#include "pcap/capture.h"
#include "pcap/link_type.h"

namespace weft::pcap {

// Packets point into the bytes that the file was read from.
struct CaptureFile {
  std::vector<CaptureInterface> interfaces;
  std::vector<CapturedPacket> packets;
  // Where the last record begins, when the file ends within it: a capture that was interrupted.
  std::optional<std::uint64_t> cut_at_B;
};

tl::expected<CaptureFile, CaptureError> read_capture(std::span<const std::uint8_t> file);

}  // namespace weft::pcap
