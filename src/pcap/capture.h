// Content of a capture file, whatever its format: interfaces, packets, and what is wrong with it. Shared by the
// reader of whole files in memory (pcap_reader.h), the stream (capture_stream.h) and the merge of several files
// (merged_capture.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace weft::pcap {

// Counts of the capturing machine for an interface, from the last interface statistics block. Packets that it lost
// are not in the file.
struct InterfaceStatistics {
  std::optional<std::uint64_t> received;
  std::optional<std::uint64_t> dropped_by_interface;
  std::optional<std::uint64_t> dropped_by_os;

  friend bool operator==(const InterfaceStatistics&, const InterfaceStatistics&) = default;
};

struct CaptureInterface {
  std::string name;  // empty in classic pcap
  std::string description;
  std::uint64_t speed_bps = 0;             // 0 = not said
  std::uint16_t link_type = 0;             // kLinkTypeEthernet, ... (link_type.h)
  std::uint32_t snap_B = 0;                // 0 = no limit
  std::optional<std::uint8_t> fcs_B = {};  // frame check sequence at the end of each frame, where the file says it
  InterfaceStatistics statistics = {};

  friend bool operator==(const CaptureInterface&, const CaptureInterface&) = default;
};

struct CapturedPacket {
  std::int64_t time_ns = 0;      // since 1970; 0 in a simple packet block, which has no time
  std::uint32_t interface = 0;   // index into the interfaces of the file or the merge
  std::uint32_t original_B = 0;  // length on the wire; larger than bytes where the capture cut it
  std::span<const std::uint8_t> bytes;
  std::string_view comment;          // the first one, where there are several
  std::uint32_t dropped_before = 0;  // packets that the capturing machine lost just before this one, where it says so
  std::optional<bool> outbound;
};

struct CaptureError {
  std::uint64_t offset_B = 0;  // of the record that is wrong; in a compressed file, of the bytes once unpacked
  const char* message = "";
};

}  // namespace weft::pcap
