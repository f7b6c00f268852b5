// The way of packets through a switch that is a software forwarder (fabric/forwarder.h): they wait in RX rings for a
// CPU, which puts them into the qdisc of their egress port; what the byte queue limit lets through goes to the port's
// own queues, here the NIC's TX ring. Sets the timers; the switch routes packets and hands them to their ports.
#pragma once

#include <cstdint>
#include <vector>

#include "fabric/forwarder.h"
#include "fabric/switch/port.h"
#include "fabric/switch/records.h"
#include "fabric/switch/timers.h"
#include "fabric/switch_setup.h"

namespace weft::fabric {

class SoftwarePath {
 public:
  SoftwarePath(const SwitchSetup& setup, std::vector<SwitchPort>& ports, SwitchTimers& timers, SwitchRecords& records);
  SoftwarePath(const SoftwarePath&) = delete;
  SoftwarePath& operator=(const SoftwarePath&) = delete;

  const Forwarder& forwarder() const { return forwarder_; }

  // RX: a frame came in; interrupts and polls; then a CPU has handled a packet, which is to be routed.
  void receive(std::uint32_t in, const engine::Packet& packet, Time_ps now_ps);
  void run_interrupt(std::uint32_t queue, Time_ps now_ps);
  void run_softirq(std::uint32_t core, engine::Packet& packet, std::uint32_t& in, Time_ps now_ps);

  // TX, of a packet whose egress port is known and takes its size: false when it was dropped.
  bool enqueue(std::uint32_t in, std::uint32_t out, engine::PacketBody& packet, Time_ps now_ps);
  // The next packet that may go to the port's queues, its time_ps the port that it came in by. Then posted().
  bool next(std::uint32_t out, engine::Packet& packet, Time_ps now_ps);
  void posted(std::uint32_t out, Time_ps now_ps);
  // Everything that has left the TX ring is completed at once; more may go then. Then plan_completion().
  void complete(std::uint32_t out, Time_ps now_ps);
  void plan_completion(std::uint32_t out, Time_ps now_ps);

 private:
  static Forwarder make(const SwitchSetup& setup);

  const SwitchSetup& setup_;
  std::vector<SwitchPort>& ports_;
  SwitchTimers& timers_;
  SwitchRecords& records_;
  Forwarder forwarder_;
};

}  // namespace weft::fabric
