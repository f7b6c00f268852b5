// Which packets were retransmitted, from the packets alone: a request or a response with data whose PSN has been seen
// before, at the same place in the same direction and to the same queue pair. Each stream remembers its last 1,024
// PSNs; what is older than that counts as seen. A packet that was lost before this place is seen there once.
#pragma once

#include <bitset>
#include <cstdint>
#include <unordered_map>

#include "analyze/frames/frame.h"

namespace weft::analyze {

class SentAgain {
 public:
  static constexpr std::size_t kMostStreams = 1 << 16;  // others are not looked at

  // Frames in the order of the capture. `place` names the interface.
  bool see(std::uint32_t place, const Frame& frame);

 private:
  static constexpr std::uint32_t kWindow = 1024, kPsnMask = 0xffffff, kHalf = 0x800000;
  static constexpr std::uint32_t kNewConnection = 0x10000;  // so far back: the queue pair's number is in use anew
  struct Key {
    std::uint32_t place, dest_qp;
    AddressId src, dst;
    bool outbound, response;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  struct Stream {
    std::uint32_t highest = 0;
    std::bitset<kWindow> seen;  // by PSN modulo the window
  };
  std::unordered_map<Key, Stream, Hash> streams_;
};

}  // namespace weft::analyze
