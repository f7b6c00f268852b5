// Reads a capture of any origin packet by packet in constant memory: classic pcap (microsecond and nanosecond, either
// byte order, also with the longer records of the "modified" format) and pcapng (pcapng_parser.h), from a file,
// standard input or bytes in memory; gzip is unpacked on the way. A file that ends within a record gives the packets
// before it and says where it was cut; hostile input gives an error with its offset. Memory: one buffer that holds the
// longest record (16 MiB at most) and what the file says of its interfaces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "pcap/byte_order.h"
#include "pcap/byte_source.h"
#include "pcap/capture.h"
#include "pcap/pcapng_parser.h"

namespace weft::pcap {

class CaptureStream {
 public:
  // A file, or standard input for "-". The error gives the reason why it cannot be opened.
  static tl::expected<CaptureStream, std::string> open(const std::string& path);
  explicit CaptureStream(std::unique_ptr<ByteSource> source);
  // Bytes in memory, which packets point into: they stay valid as long as the bytes.
  explicit CaptureStream(std::span<const std::uint8_t> file);

  // The next packet, whose bytes and comment are valid until the next call. False at the end of the file, where it is
  // cut, and at an error: ask for those two then.
  bool next(CapturedPacket& packet) { return next_classic(packet) || next_slow(packet); }

  // Everything a file said before a place in it: with this, reading can go on there (frame_index.h).
  class State;
  // Nothing where reading cannot go on there: a gzip file, bytes in memory.
  std::optional<std::uint64_t> position_B() const {
    return source_ == nullptr || unpacked_ ? std::nullopt : std::optional(offset_B());
  }
  bool has_state(const State& state) const;
  State state() const;
  static tl::expected<CaptureStream, std::string> resume(const std::string& path, const State& state,
                                                         std::uint64_t position_B);

  const std::optional<CaptureError>& error() const { return error_; }
  // Where the last record begins, when the file ends within it: a capture that was interrupted.
  std::optional<std::uint64_t> cut_at_B() const { return cut_at_B_; }

  // Grows as the file describes interfaces; a packet's interface is in it. Statistics usually stand at the end.
  const std::vector<CaptureInterface>& interfaces() const { return interfaces_; }
  // "pcap", "pcapng"; "" before the first packet was asked for.
  const char* format_name() const;

  // For progress: bytes read of the file as it lies on disk, and its size where it has one.
  std::uint64_t consumed_B() const;
  std::optional<std::uint64_t> file_B() const;

 private:
  enum class Format : std::uint8_t { kUnknown, kClassic, kPcapng };

  // No program writes a longer packet or block (Wireshark's limit for pcapng).
  static constexpr std::uint32_t kMaxRecord_B = 16 * 1024 * 1024;

  bool next_classic(CapturedPacket& packet);
  bool next_slow(CapturedPacket& packet);
  bool detect();
  bool unpack_gzip();
  bool begin_classic(bool nanoseconds, std::size_t record_header_B);
  bool prepare_record();
  bool read_block(CapturedPacket& packet);

  std::size_t available_B() const { return static_cast<std::size_t>(end_ - at_); }
  std::uint64_t offset_B() const { return window_offset_B_ + static_cast<std::uint64_t>(at_ - begin_); }
  bool ensure(std::size_t need_B) { return available_B() >= need_B || refill(need_B); }
  bool refill(std::size_t need_B);
  void grow(std::size_t rest_B);
  bool fail(const char* message);
  bool end_or_cut();

  // The window: what is at hand of the file, in buffer_ or in the caller's memory.
  const std::uint8_t* begin_ = nullptr;
  const std::uint8_t* at_ = nullptr;
  const std::uint8_t* end_ = nullptr;
  Format format_ = Format::kUnknown;
  bool finished_ = false;
  bool source_ended_ = false;
  bool unpacked_ = false;
  ByteOrder order_;                     // of classic pcap
  std::uint32_t record_header_B_ = 16;  // of classic pcap
  std::uint32_t fraction_ns_ = 1000;    // unit of the time after the second, of classic pcap
  std::uint64_t window_offset_B_ = 0;   // of begin_ in the (unpacked) file
  std::uint64_t memory_B_ = 0;          // size of the caller's memory
  std::unique_ptr<ByteSource> source_;  // null for bytes in memory
  std::vector<std::uint8_t> buffer_;
  std::vector<CaptureInterface> interfaces_;
  PcapngParser pcapng_;
  std::optional<CaptureError> error_;
  std::optional<std::uint64_t> cut_at_B_;
};

class CaptureStream::State {
 public:
  std::size_t size_B() const;

 private:
  friend class CaptureStream;
  Format format_ = Format::kUnknown;
  ByteOrder order_;
  std::uint32_t record_header_B_ = 16, fraction_ns_ = 1000;
  std::vector<CaptureInterface> interfaces_;
  PcapngParser pcapng_;
};

// The way of almost every packet: a whole record of classic pcap in the window.
inline bool CaptureStream::next_classic(CapturedPacket& packet) {
  if (format_ != Format::kClassic || available_B() < record_header_B_) return false;
  const std::uint32_t captured_B = order_.u32(at_ + 8);
  if (captured_B > kMaxRecord_B || captured_B > available_B() - record_header_B_) return false;
  packet.time_ns = std::int64_t{order_.u32(at_)} * 1'000'000'000 + std::int64_t{order_.u32(at_ + 4)} * fraction_ns_;
  packet.interface = 0;
  packet.original_B = order_.u32(at_ + 12);
  packet.bytes = {at_ + record_header_B_, captured_B};
  packet.comment = {};
  packet.dropped_before = 0;
  packet.outbound.reset();
  at_ += record_header_B_ + captured_B;
  return true;
}

}  // namespace weft::pcap
