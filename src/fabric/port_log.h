// What a port remembers of its past, up to a limit: pauses as they begin and end. Switches and NICs keep one each; the
// report merges them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time.h"

namespace weft::fabric {

enum class PauseEnd : std::uint8_t { kStart, kXon, kExpired, kLinkDown, kWatchdog };
// A class of a port begins or ends to be stopped: `sent` by this node's group, or received from the peer.
struct PauseEvent {
  Time_ps time_ps = 0;
  std::uint32_t port = 0;  // index; 0 at a NIC
  std::uint8_t pause_class = 0;
  bool sent = false;
  PauseEnd what = PauseEnd::kStart;
};

// Records are kept up to a limit, and counted beyond it.
template <typename Record, std::size_t kLimit = 10'000>
struct BoundedLog {
  std::vector<Record> records;
  std::uint64_t total = 0;
  void add(const Record& record) {
    ++total;
    if (records.size() < kLimit) records.push_back(record);
  }
};

// Of one NIC port; a fabric has many more of them than switches.
using PortPauseLog = BoundedLog<PauseEvent, 1'000>;

}  // namespace weft::fabric
