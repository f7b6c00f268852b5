// Where the bytes of a capture come from, piece by piece: a file, standard input, what a gzip file holds. Read by
// CaptureStream; tests have sources of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tl/expected.hpp>

namespace weft::pcap {

class ByteSource {
 public:
  virtual ~ByteSource() = default;

  // Reads at least one byte and at most `into` has room for; 0 = the end. Called no more after the end or an error.
  virtual tl::expected<std::size_t, const char*> read(std::span<std::uint8_t> into) = 0;

  // After the end: the file ends where it should not (a gzip file without its last bytes).
  virtual bool is_cut() const { return false; }

  // For progress: bytes read of the file as it lies on disk, and its size where it has one.
  virtual std::uint64_t consumed_B() const { return 0; }
  virtual std::optional<std::uint64_t> file_B() const { return std::nullopt; }
};

// A file, or standard input for "-", from an offset on. The error gives the reason.
tl::expected<std::unique_ptr<ByteSource>, std::string> open_file_source(const std::string& path,
                                                                        std::uint64_t offset_B = 0);

// Content of a gzip file of one or several members. `head` is what was read of `packed` already.
std::unique_ptr<ByteSource> make_gzip_source(std::unique_ptr<ByteSource> packed, std::span<const std::uint8_t> head);

}  // namespace weft::pcap
