// Writes pcapng (draft-ietf-opsawg-pcapng): one section, one interface description per captured
// port, enhanced packet blocks with direction and comment. Little-endian on every machine, no host,
// operating system or wall time, so that two runs give the same bytes. Times are nanoseconds since
// the epoch of the file. Called by taps; nothing is allocated per packet once the buffer has grown
// to the largest packet. A failed write (disk full) is remembered and told by ok() and close().
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace weft::pcap {

class PcapngWriter {
 public:
  // Writes to `file`, which stays the caller's to close.
  explicit PcapngWriter(std::FILE* file);
  // Creates or replaces the file at `path`; the error gives the reason. `snaplen_B`: the longest that a frame in
  // it is; 0 = not said.
  static tl::expected<PcapngWriter, std::string> create(const std::string& path, std::uint32_t snaplen_B = 0);

  PcapngWriter(PcapngWriter&& other) noexcept;
  PcapngWriter& operator=(PcapngWriter&& other) noexcept;
  ~PcapngWriter();

  // Returns the interface's index. All interfaces are added before the first packet.
  // An empty description is left out.
  std::uint32_t add_interface(std::string_view name, std::uint64_t speed_bps, std::string_view description = {});

  // `outbound`: sent by the interface's owner. An empty comment is left out. `original_B` is the
  // frame's length where `frame` holds only its beginning; 0 = all of it.
  void write(std::uint32_t interface, std::int64_t time_ns, bool outbound, std::span<const std::uint8_t> frame,
             std::string_view comment = {}, std::size_t original_B = 0);

  // False after the first write that failed; later packets are discarded.
  bool ok() const { return !failed_; }

  // Bytes of the file so far.
  std::uint64_t size_B() const { return flushed_B_ + buffer_.size(); }
  // Bytes that write() would add.
  static std::uint64_t block_B(std::size_t frame_B, std::size_t comment_B);

  // Writes what is buffered.
  void sync();

  // Writes what is buffered (and closes the file where create() opened it). True if every byte was
  // written. Nothing may be written after it; a second call does nothing.
  bool close();

 private:
  PcapngWriter(std::FILE* file, bool owns_file);

  void begin_block(std::uint32_t type);
  void end_block();
  void put_u16(std::uint16_t value);
  void put_u32(std::uint32_t value);
  void put_padded(std::span<const std::uint8_t> bytes);
  void put_option(std::uint16_t code, std::span<const std::uint8_t> value);
  void put_option(std::uint16_t code, std::string_view text);
  void flush();

  std::FILE* file_ = nullptr;  // null once closed or moved from
  bool owns_file_ = false;
  bool failed_ = false;
  bool has_packets_ = false;
  std::uint32_t interfaces_ = 0;
  std::size_t block_at_ = 0;  // of the block being written, in buffer_
  std::uint32_t snaplen_B_ = 0;
  std::uint64_t flushed_B_ = 0;
  std::vector<std::uint8_t> buffer_;
};

}  // namespace weft::pcap
