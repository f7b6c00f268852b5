// What a switch counts, port by port, and what it remembers of drops and pauses. Names for users are given where they
// are printed (SONiC, WJH); these are the quantities.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/event_log.h"
#include "base/time.h"
#include "spec/ledger.h"
#include "spec/port_log.h"
#include "spec/switch_config.h"

namespace weft::fabric {

struct PortTraffic {
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;  // frames with FCS
};

// What is not counted packet by packet.
struct RarePortCounters {
  std::array<std::uint64_t, kClasses> ecn_marked{};   // by queue
  std::array<std::uint64_t, kClasses> queue_drops{};  // by queue: tail drop, WRED, watchdog, port down
  std::array<std::uint64_t, kClasses> group_drops{};  // by priority group: no buffer, no headroom
  std::array<std::uint64_t, kFateCount> drops{};      // of packets that came in here, by reason
  std::array<std::uint32_t, kClasses> storms{};       // watchdog: detected, by queue
  std::array<std::uint32_t, kClasses> restored{};
  std::array<std::uint64_t, kClasses> watchdog_tx_dropped{};
  std::uint64_t pause_rx_frames = 0;  // all classes, for the ledger
  std::uint64_t replicas = 0;         // of packets to groups that came in here, beyond the first, likewise
};

struct SwitchPortCounters : RarePortCounters {
  std::array<PortTraffic, kClasses> rx{};  // by priority group
  std::array<PortTraffic, kClasses> tx{};  // by queue
  std::array<std::uint64_t, kClasses> max_queue_B{};
  std::array<std::uint64_t, kClasses> pause_tx{};  // pause frames sent, by class, XOFF and XON
  std::array<std::uint64_t, kClasses> xoff_tx{};   // of these, the first XOFF of a pause
  std::array<Time_ps, kClasses> pause_tx_ps{};     // time in XOFF
};

// A lost packet (What Just Happened: reason, port, class, occupancy). Where losses are more than the log holds, the
// first of several at one port and queue, for one reason.
struct DropRecord {
  Time_ps first_ps = 0, last_ps = 0;
  std::uint64_t count = 1;
  std::uint32_t in_port = 0, out_port = 0;  // indices; out_port 0xffffffff: not decided yet
  std::uint8_t queue = 0;
  Fate reason = Fate::kTailDrop;
  std::uint64_t occupancy_B = 0;              // of the queue, the largest
  std::uint32_t source = 0, destination = 0;  // host port ids
  std::uint32_t endpoint = 0;                 // a queue pair, or what the transport has in its place
  std::uint32_t sequence = 0;                 // and the opcode: as the transport describes the packet
  std::uint8_t opcode = 0;
  std::uint16_t udp_src_port = 0;

  void merge(const DropRecord& later) {
    last_ps = std::max(last_ps, later.last_ps);
    count += later.count;
    occupancy_B = std::max(occupancy_B, later.occupancy_B);
  }
};
using DropLog = EventLog<DropRecord, 10'000, 0>;
using MarkLog = EventLog<SwitchEvent, 10'000>;

}  // namespace weft::fabric
