// Memory of a switch: drops and pauses always, and where its setup says so marks, the queue behind a pause, storms
// and links, for whoever asks later why something was slow. Also the records that packets with telemetry carry on. None
// of it is on the way of a packet that is neither marked nor refused.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/domain.h"
#include "fabric/switch/port.h"
#include "fabric/switch/waiting_packets.h"
#include "fabric/switch_setup.h"

namespace weft::fabric {

class SwitchRecords {
 public:
  SwitchRecords(const SwitchSetup& setup, std::vector<SwitchPort>& ports, const WaitingPackets& waiting,
                engine::Domain& domain);
  SwitchRecords(const SwitchRecords&) = delete;
  SwitchRecords& operator=(const SwitchRecords&) = delete;

  const DropLog& drops() const { return drops_; }
  const BoundedLog<PauseEvent>& pauses() const { return pauses_; }
  const BoundedLog<SwitchEvent>& events() const { return events_; }  // all but marks
  const MarkLog& marks() const { return marks_; }

  // The packet ends here. `out` is kNoPort while the egress port is not decided.
  void drop(const engine::PacketBody& packet, std::uint32_t in, std::uint32_t out, std::uint32_t q, Fate reason,
            Time_ps now_ps);
  void event(SwitchEventKind kind, std::uint32_t p, std::uint32_t q, Time_ps now_ps);
  void pause_begins(std::uint32_t p, std::uint8_t pause_class, bool sent, Time_ps now_ps);
  // One that this switch sends for a group, with the queue behind it.
  void group_pause_begins(std::uint32_t p, std::uint32_t g, Time_ps now_ps);
  void pause_ends(std::uint32_t p, std::uint8_t pause_class, bool sent, PauseEnd end, Time_ps now_ps);
  void mark(const SwitchPort& out, std::uint32_t q, const engine::PacketBody& packet, Time_ps now_ps) {
    if (setup_.record) [[unlikely]]
      add_mark(out, q, packet, now_ps);
  }

  // Telemetry of a packet that has a cold side: the record of this hop begins as it comes in, and is written as it
  // leaves, when `queue_B` waits behind it.
  void begin_hop(std::uint32_t in, const engine::PacketBody& packet, Time_ps now_ps);
  void end_hop(const SwitchPort& port, std::uint32_t q, std::uint32_t queue_B, engine::PacketBody& packet,
               Time_ps now_ps);

 private:
  [[gnu::cold]] void add_mark(const SwitchPort& out, std::uint32_t q, const engine::PacketBody& packet, Time_ps now_ps);
  void find_cause(PauseEvent& event, std::uint32_t p, std::uint32_t g) const;
  engine::Telemetry* open_telemetry(const engine::PacketBody& packet);

  const SwitchSetup& setup_;
  std::vector<SwitchPort>& ports_;
  const WaitingPackets& waiting_;
  engine::Domain& domain_;
  DropLog drops_;  // by port, queue and reason
  BoundedLog<PauseEvent> pauses_;
  BoundedLog<SwitchEvent> events_;
  MarkLog marks_;  // by port and queue
};

}  // namespace weft::fabric
