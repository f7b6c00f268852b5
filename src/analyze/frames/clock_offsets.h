// Clocks of several files: how far apart are they, and does one gain on the other? A packet that two files hold was
// seen by both clocks. What goes from the first to the second is late there by the offset and the way: a bound from
// above. What comes back is late by the offset less the way: a bound from below. The clock is the line that lies in the
// middle between all bounds; where no single line does, because a clock was set or its rate changed, there are several
// pieces. Packets are chosen by bits of their PSN, so that all files choose the same, and thinned out as a file grows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyze/frames/frame.h"
#include "pcap/file_clock.h"
#include "wire/bytes.h"

namespace weft::analyze {

// The clock of `file` is ahead of that of `reference` by so much at `clock.pieces[0].from_ns`.
struct ClockOffset {
  std::size_t file = 0;
  pcap::FileClock clock;  // without pieces: the two agree, to within the ways between them
  std::int64_t ahead_ns = 0, uncertainty_ns = 0;
  std::uint64_t packets = 0;  // that both hold
  bool is_one_way = false;    // all of one direction: the way is in the offset
};

class ClockOffsets {
 public:
  // False: `see` has no use for this frame of an Ethernet capture, so it need not be decoded.
  bool may_use(std::size_t file, wire::Bytes frame) const;
  // A frame of one file, seen at one of its interfaces.
  void see(std::size_t file, std::uint32_t interface, const Frame& frame);
  // One of each file that shares packets with an earlier one, or with one that does: packets of both directions, or of
  // one where the clocks are far apart. A file is held against the one that tells most about it.
  std::vector<ClockOffset> offsets() const;

 private:
  static constexpr std::size_t kMostPackets = 1024;  // of each file

  struct Sighting {
    std::uint64_t print = 0;  // what no hop changes; its low bits are of the PSN alone
    std::int64_t time_ns = 0;
    std::uint32_t place = 0;  // interface and TTL: copies of one mirror differ in it
    AddressId low = 0, high = 0;
    bool is_up = false;  // from the lower address to the higher one
  };
  struct File {
    std::vector<Sighting> sightings{};
    std::uint64_t mask = 0;  // packets whose print has one of these bits are left out
  };
  std::vector<File> files_;
};

}  // namespace weft::analyze
