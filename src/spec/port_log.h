// What a port remembers of its past, up to a limit: pauses as they begin and end. Switches and NICs keep one each; the
// report merges them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time.h"

namespace weft::fabric {

// Why a NIC stops its peer: its receive buffer is full, because of a fault of its memory or not; a storm of a fault.
enum class NicPauseCause : std::uint8_t { kReceiveBuffer, kSlowMemory, kStorm };
// kLogFull is of readers: the log had no room for the end.
enum class PauseEnd : std::uint8_t { kStart, kXon, kExpired, kLinkDown, kWatchdog, kLogFull };
// A class of a port begins or ends to be stopped: `sent` by this node's group, or received from the peer.
struct PauseEvent {
  Time_ps time_ps = 0;
  std::uint32_t port = 0;  // index; 0 at a NIC
  std::uint8_t pause_class = 0;
  bool sent = false;
  PauseEnd what = PauseEnd::kStart;
  NicPauseCause nic_cause = NicPauseCause::kReceiveBuffer;  // of one that a NIC sends
  // Of an XOFF that a switch sends, where it records: the queue that holds most of what the group has, and how much.
  std::uint8_t queue = 0;
  std::uint32_t queue_port = kNoQueuePort;  // index; without: not recorded
  std::uint32_t queue_B = 0;                // of this group in that queue
  std::uint32_t group_B = 0;                // of this group in all queues
  std::uint32_t egress_B = 0;               // all that waits in that queue, of every ingress port

  static constexpr std::uint32_t kNoQueuePort = 0xffffffff;
};

// What a switch remembers beyond pauses and drops, where it records.
enum class SwitchEventKind : std::uint8_t { kMarked, kStorm, kStormOver, kLinkDown, kLinkUp };
// CE marks of one queue that follow each other closely are one event.
struct SwitchEvent {
  SwitchEventKind kind = SwitchEventKind::kMarked;
  Time_ps first_ps = 0, last_ps = 0;
  std::uint64_t count = 1;
  std::uint32_t port = 0;  // index
  std::uint8_t queue = 0;
  std::uint32_t queue_B = 0;  // the longest that it was
  // Of the first packet: host port ids, and where it goes.
  std::uint32_t source = 0, destination = 0, endpoint = 0, sequence = 0;

  void merge(const SwitchEvent& later) {
    last_ps = std::max(last_ps, later.last_ps);
    count += later.count;
    queue_B = std::max(queue_B, later.queue_B);
  }
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
