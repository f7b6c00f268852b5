// Several captures as one: packets in the order of their times, interfaces numbered through. Within a file the order
// of the file stays, also where its times go back. Files with equal times keep the order in which they were given. A
// file that is cut or wrong ends there; the others go on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "pcap/capture_stream.h"
#include "pcap/file_clock.h"

namespace weft::pcap {

class MergedCapture {
 public:
  // The error names the file that cannot be opened.
  static tl::expected<MergedCapture, std::string> open(const std::vector<std::string>& paths);
  explicit MergedCapture(std::vector<CaptureStream> files);

  // Times of packets are those of these clocks, one for each file. Before the first packet.
  void use_clocks(std::vector<FileClock> clocks) { clocks_ = std::move(clocks); }

  // As CaptureStream::next: valid until the next call.
  bool next(CapturedPacket& packet) {
    if (files_.size() != 1) return next_of_several(packet);
    return files_[0].next(packet);
  }

  // For errors, cuts and formats of each file, in the order given.
  const std::vector<CaptureStream>& files() const { return files_; }

  std::size_t interface_count() const;
  const CaptureInterface& interface(std::size_t index) const;
  // The file that an interface is of.
  std::size_t file_of(std::size_t index) const;

  // Sums over the files; the size is missing if one file has none (a pipe).
  std::uint64_t consumed_B() const;
  std::optional<std::uint64_t> file_B() const;

 private:
  struct Place {
    std::uint32_t file = 0;
    std::uint32_t interface = 0;
  };
  struct Head {  // the next packet of one file
    CapturedPacket packet;
    std::vector<std::uint32_t> numbers;  // interface of the file -> of the merge
  };

  bool next_of_several(CapturedPacket& packet);
  void advance(std::uint32_t file);
  bool is_later(std::uint32_t a, std::uint32_t b) const;

  std::vector<CaptureStream> files_;
  std::vector<FileClock> clocks_;  // empty: times are those of the files
  std::vector<Head> heads_;
  std::vector<std::uint32_t> heap_;  // files that have a packet, earliest first
  std::vector<Place> places_;
  bool started_ = false;
};

}  // namespace weft::pcap
