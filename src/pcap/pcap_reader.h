// Reads captures of any origin: classic pcap (microsecond and nanosecond, either byte
// order) and pcapng (either byte order, several sections, enhanced and simple packet blocks; other
// blocks are skipped), from bytes in memory, e.g. a mapped file. Hostile input gives an error with
// its offset, never more memory than the input warrants. Not read: the obsolete packet block,
// name resolution, decryption secrets, compressed files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "pcap/pcapng_blocks.h"

namespace weft::pcap {

struct CaptureInterface {
  std::string_view name;  // empty in classic pcap
  std::string_view description;
  std::uint64_t speed_bps = 0;  // 0 = not said
  std::uint16_t link_type = 0;  // kLinkTypeEthernet, ...
  std::uint32_t snap_B = 0;     // 0 = no limit

  friend bool operator==(const CaptureInterface&, const CaptureInterface&) = default;
};

struct CapturedPacket {
  std::int64_t time_ns = 0;     // since 1970; 0 in a simple packet block, which has no time
  std::uint32_t interface = 0;  // index into CaptureFile::interfaces
  std::span<const std::uint8_t> bytes;
  std::uint32_t original_B = 0;  // length on the wire; larger than bytes where the capture cut it
  std::string_view comment;      // the first one, where there are several
  std::optional<bool> outbound;
};

// Points into the bytes it was read from.
struct CaptureFile {
  std::vector<CaptureInterface> interfaces;
  std::vector<CapturedPacket> packets;
  // Where the last record begins, when the file ends within it: a capture that was interrupted.
  std::optional<std::size_t> cut_at_B;
};

struct CaptureError {
  std::size_t offset_B = 0;  // of the record that is wrong
  const char* message = "";
};

tl::expected<CaptureFile, CaptureError> read_capture(std::span<const std::uint8_t> file);

}  // namespace weft::pcap
