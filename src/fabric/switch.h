// A switch: classifies, routes, buffers, marks, schedules and pauses. One node of the engine. Its parts are objects in
// src/fabric/switch; here is the visit of a window that takes each packet through them: switch_gather.cc finds what is
// due, switch.cc has the way of a packet. At one instant: pause frames, service, arrivals, timers, each by port. Not
// modelled: unknown unicast, learning, IGMP snooping, VLANs.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/inlet.h"
#include "fabric/link.h"
#include "fabric/link_flow_control.h"
#include "fabric/shared_buffer.h"
#include "fabric/switch/admission.h"
#include "fabric/switch/classifier.h"
#include "fabric/switch/management_cpu.h"
#include "fabric/switch/pause_engine.h"
#include "fabric/switch/port.h"
#include "fabric/switch/records.h"
#include "fabric/switch/router.h"
#include "fabric/switch/scheduler.h"
#include "fabric/switch/service_plan.h"
#include "fabric/switch/software_path.h"
#include "fabric/switch/timers.h"
#include "fabric/switch/visit.h"
#include "fabric/switch/watchdog.h"
#include "fabric/switch/ways.h"
#include "fabric/switch_setup.h"
#include "spec/switch_counters.h"

namespace weft::fabric {

class alignas(64) Switch {
 public:
  Switch(SwitchSetup setup, engine::Domain& domain);
  Switch(const Switch&) = delete;
  Switch& operator=(const Switch&) = delete;

  std::uint32_t node() const { return node_; }
  engine::Inbox inbox(std::uint32_t port) { return {&inbox_word(port / 64), static_cast<std::uint8_t>(port % 64)}; }
  void attach(std::uint32_t port, LinkDirection& out, LinkDirection& in);

  std::uint32_t port_count() const { return static_cast<std::uint32_t>(ports_.size()); }
  const SwitchSetup& setup() const { return setup_; }
  SwitchPortCounters counters(std::uint32_t port) const;
  const TransmitControl& pause(std::uint32_t port) const { return pauses_.transmit(port); }
  const SharedBuffer& buffer() const { return admission_.buffer(); }
  const DropLog& drops() const { return records_.drops(); }
  const BoundedLog<PauseEvent>& pause_log() const { return records_.pauses(); }
  const BoundedLog<SwitchEvent>& event_log() const { return records_.events(); }  // all but marks
  const MarkLog& mark_log() const { return records_.marks(); }
  // Where such a packet left by the routes of that time; nothing without one, or where that depends on the moment.
  std::optional<std::uint32_t> way_of(const engine::PacketBody& packet, Time_ps at_ps) const {
    return router_.way_of(packet, at_ps);
  }
  std::uint64_t queue_B(std::uint32_t port, std::uint32_t queue) const { return ports_[port].lanes[queue].queue.bytes; }
  std::uint8_t paused_queues(std::uint32_t port) const { return ports_[port].paused; }  // by its peer
  std::uint8_t xoff_groups(std::uint32_t port) const { return ports_[port].xoff; }      // that stop its peer
  // How long this port has stopped its peer's class, up to `now_ps`.
  Time_ps pause_tx_ps(std::uint32_t port, std::uint32_t pause_class, Time_ps now_ps) const {
    return pauses_.receive(port).total_ps(pause_class, now_ps);
  }
  // Ports that packets waiting in this queue came in by; for finding circular waits.
  std::vector<std::uint32_t> feeders(std::uint32_t port, std::uint32_t queue) const {
    return admission_.feeders(port, queue);
  }
  std::uint64_t held_packets() const {
    return admission_.waiting().count() + (software_ ? software_->forwarder().held() : 0);
  }
  const Forwarder* forwarder() const {
    return software_ ? &software_->forwarder() : nullptr;
  }                                                             // null: the ASIC forwards
  const RouteTable& routes() const { return router_.table(); }  // in force
  // While the world runs, between two windows: every node has run up to `now_ps`.
  void set_link(std::uint32_t port, bool up, Time_ps now_ps);
  void plan_routes(RouteEpoch epoch);  // in order of time
  void set_ecn(std::uint32_t port, std::uint32_t queue, const EcnRamp& ramp);
  void set_alpha(std::uint32_t port, std::uint32_t number, std::int8_t of_queue, std::int8_t of_group);
  SwitchQos qos(std::uint32_t port) const;                                 // as the port has it now
  void set_pfc(std::uint32_t port, std::uint8_t classes, Time_ps now_ps);  // of those that had it from the start
  std::uint8_t pfc(std::uint32_t port) const { return pauses_.classes(port); }
  bool balances() const;  // everything that came in went out, was lost for a reason, or is still here
  void settle_ledgers();  // fills in what the receiving ends of its links did not count packet by packet
  // Queues, buffer, pauses and plan say the same. DCHECK builds ask now and then.
  bool is_consistent() const;
  Time_ps last_event_ps() const { return last_event_ps_; }
  std::uint64_t events() const { return events_; }

 private:
  using Arrival = SwitchVisit::Arrival;
  struct Wires {
    engine::Inlet* inbound = nullptr;
    const void* outbound = nullptr;
  };
  // The visit.
  static Time_ps run_hook(void* self, Time_ps end_ps) { return static_cast<Switch*>(self)->run(end_ps); }
  Time_ps run(Time_ps end_ps);
  void gather(Time_ps end_ps, SwitchVisit& visit);
  Arrival* take_arrivals(engine::Inlet& inlet, std::uint32_t in, Arrival* arrival, Time_ps end_ps);
  void run_timer(SwitchVisit& visit);
  void run_next_link_change();
  void change_link(std::uint32_t port, bool up, Time_ps now_ps);
  void plan_release(std::uint32_t port);
  engine::InboxWord& inbox_word(std::size_t w) { return w == 0 ? inbox_ : more_inbox_[w - 1]; }

  // A packet comes in and goes out.
  void arrive(std::uint32_t in, engine::Packet& packet, Time_ps now_ps);
  void dispatch(std::uint32_t in, engine::Packet& packet, Time_ps now_ps);
  void flood(std::uint32_t in, engine::Packet& packet, Time_ps now_ps);
  void forward(std::uint32_t in, std::uint32_t out, engine::PacketBody& packet, Time_ps now_ps);
  void run_qdisc(std::uint32_t out, Time_ps now_ps);
  void hand_to_port(std::uint32_t in, std::uint32_t out, engine::PacketBody& packet, Time_ps now_ps);
  template <bool kMayHaveCold>
  void pass(std::uint32_t in, SwitchPort& out, PacketClass lane, std::uint32_t line_bytes, engine::PacketBody& packet,
            Time_ps now_ps);
  void serve(SwitchPort& port, Time_ps now_ps);
  template <bool kMayHaveCold>
  void transmit(SwitchPort& port, std::uint32_t q, std::uint32_t queue_B, engine::PacketBody& packet,
                std::uint32_t line_bytes, Time_ps now_ps);
  void transmit_by_wrapper_or_mail(SwitchPort& port, const engine::Packet& packet, Time_ps now_ps);
  void receive_pause(std::uint32_t in, const engine::Packet& packet, Time_ps now_ps);

  // Members that every visit touches come first: the engine fetches engine::kHotLines lines of it ahead.
  std::vector<SwitchPort> ports_;
  ServicePlan plan_;
  Ways ways_;
  std::unique_ptr<Wires[]> wires_;  // by port
  std::uint32_t passes_B_ = 0;      // what takes no more bytes on the line is not too big for any port
  SwitchTimers timers_;
  engine::InboxWord inbox_;  // of the first 64 ports
  std::vector<engine::InboxWord> more_inbox_;
  Time_ps arrival_ps_ = kNever_ps;  // after this visit
  Time_ps last_event_ps_ = 0;
  std::uint64_t events_ = 0;
  SwitchSetup setup_;
  Classifier classifier_;
  Scheduler scheduler_;
  Admission admission_;
  SwitchRecords records_;
  PauseEngine pauses_;
  Router router_;
  Watchdog watchdog_;
  ManagementCpu cpu_;
  std::unique_ptr<SoftwarePath> software_;  // null: the ASIC forwards
  engine::Domain& domain_;
  std::uint32_t node_;
  std::size_t next_link_change_ = 0;
};

}  // namespace weft::fabric
