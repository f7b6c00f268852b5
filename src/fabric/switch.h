// A switch: classifies, routes, buffers, marks, schedules and pauses. One node of the engine. The way of a packet is in
// switch.cc and switch_gather.cc, rarer turns of it in switch_forward.cc and switch_schedule.cc. At one instant: pause
// frames, service, arrivals, timers, each by port. Not modelled: unknown unicast, learning, IGMP snooping, VLANs.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "base/random.h"
#include "engine/inlet.h"
#include "fabric/forwarder.h"
#include "fabric/link.h"
#include "fabric/link_flow_control.h"
#include "fabric/shared_buffer.h"
#include "fabric/switch_counters.h"
#include "fabric/switch_setup.h"
#include "fabric/switch_state.h"

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
  const TransmitControl& pause(std::uint32_t port) const { return transmit_control_[port]; }
  const SharedBuffer& buffer() const { return buffer_; }
  const DropLog& drops() const { return drops_; }
  const BoundedLog<PauseEvent>& pause_log() const { return pause_log_; }
  const BoundedLog<SwitchEvent>& event_log() const { return event_log_; }  // all but marks
  const MarkLog& mark_log() const { return mark_log_; }
  // Where such a packet left by the routes of that time; nothing without one, or where that depends on the moment.
  std::optional<std::uint32_t> way_of(const engine::PacketBody& packet, Time_ps at_ps) const;
  std::uint64_t queue_B(std::uint32_t port, std::uint32_t queue) const { return ports_[port].lanes[queue].queue.bytes; }
  std::uint8_t paused_queues(std::uint32_t port) const { return ports_[port].paused; }  // by its peer
  std::uint8_t xoff_groups(std::uint32_t port) const { return ports_[port].xoff; }      // that stop its peer
  // How long this port has stopped its peer's class, up to `now_ps`.
  Time_ps pause_tx_ps(std::uint32_t port, std::uint32_t pause_class, Time_ps now_ps) const {
    return receive_control_[port].total_ps(pause_class, now_ps);
  }
  // Ports that packets waiting in this queue came in by, as a mask; for finding circular waits.
  std::vector<std::uint32_t> feeders(std::uint32_t port, std::uint32_t queue) const;
  std::uint64_t held_packets() const { return held_count_ + (forwarder_ ? forwarder_->held() : 0); }
  const Forwarder* forwarder() const { return forwarder_.get(); }  // null: the ASIC forwards
  const RouteTable& routes() const { return *table_; }             // in force
  // switch_change.cc: while the world runs, between two windows: every node has run up to `now_ps`.
  void set_link(std::uint32_t port, bool up, Time_ps now_ps);
  void plan_routes(RouteEpoch epoch);  // in order of time
  void set_ecn(std::uint32_t port, std::uint32_t queue, const EcnRamp& ramp);
  void set_alpha(std::uint32_t port, std::uint32_t number, std::int8_t of_queue, std::int8_t of_group);
  SwitchQos qos(std::uint32_t port) const;                                 // as the port has it now
  void set_pfc(std::uint32_t port, std::uint8_t classes, Time_ps now_ps);  // of those that had it from the start
  std::uint8_t pfc(std::uint32_t port) const { return pfc_[port]; }
  bool balances() const;  // everything that came in went out, was lost for a reason, or is still here
  void settle_ledgers();  // fills in what the receiving ends of its links did not count packet by packet
  Time_ps last_event_ps() const { return last_event_ps_; }
  std::uint64_t events() const { return events_; }

 private:
  static constexpr std::uint32_t kNothing = 0xffffffff;
  // What a packet is to this switch.
  struct Class {
    std::uint16_t bits = 0;
    Class() = default;
    Class(std::uint32_t queue, std::uint32_t group, std::uint32_t ingress)
        : bits(static_cast<std::uint16_t>(queue | group << 3 | ingress << 6)) {}
    std::uint32_t queue() const { return bits & 7u; }
    std::uint32_t group() const { return bits >> 3u & 7u; }
    std::uint32_t ingress() const { return bits >> 6u; }  // of the group: index in Port::ingress
  };
  // A packet that waits: in place of a time the next slot of its queue (or free one), where it came in, its size.
  struct alignas(32) Held {
    engine::PacketBody packet;
    std::uint32_t next = 0;
    std::uint16_t in : 13 = 0;
    std::uint16_t group : 3 = 0;
    std::uint16_t frame_B = 0;

    static constexpr std::uint32_t kMostPorts = 1 << 13;
    Held() = default;
    Held(const engine::PacketBody& body, std::uint32_t in_port, std::uint32_t in_group, std::uint32_t size_B)
        : packet(body),
          next(kNothing),
          in(in_port & (kMostPorts - 1)),
          group(in_group & 7),
          frame_B(static_cast<std::uint16_t>(size_B)) {}
  };
  static_assert(sizeof(Held) == 32);
  struct Queue {
    std::uint32_t head = kNothing, tail = kNothing;  // slots of held_
    std::uint32_t bytes = 0;
    std::uint32_t cells = 0;
  };
  // What one queue of one port is touched for, in one cache line.
  struct alignas(64) Lane {
    Queue queue;
    std::uint32_t max_queue_B = 0;
    std::uint32_t deficit_B = 0;
    std::uint32_t resume_cells = 0;  // when it dropped last: it takes packets again from here on down
    PortTraffic tx;
  };
  // Ingress group.
  struct Ingress {
    PortTraffic rx;
    SharedBuffer::Group held;  // of a buffer of one slice
  };
  struct alignas(64) Port {
    Time_ps free_ps = 0;                // the last frame has left
    Time_ps service_ps = kNever_ps;     // planned, because something waits that may leave
    engine::Inlet* outbound = nullptr;  // where packets go; null when that is in another domain
    Time_ps delay_ps = 0;               // of the link: flight and the far node's pipeline
    Time_ps cut_ps = 0;                 // the far node handles a frame when its first bytes, of so much time, are in
    std::uint32_t ps_per_byte = 0;
    std::uint16_t number = 0;
    std::uint8_t waiting = 0;     // queues with packets
    std::uint8_t paused = 0;      // queues that the peer has stopped
    std::uint8_t reject = 0;      // queues that take nothing: watchdog_drop, or all when the link is down
    std::uint8_t closed = 0;      // paused or reject: nothing passes them by without waiting
    std::uint8_t xoff = 0;        // groups that have stopped the peer
    std::uint8_t turn = 0;        // DWRR
    std::uint32_t longest_B = 0;  // frame that the port's MTU allows
    std::uint8_t full = 0;        // queues that dropped last, until `drop_resume` is free
    // The second line: what arrivals touch. The groups that most packets belong to come first.
    alignas(64) std::array<Ingress, kClasses> ingress;
    std::array<Lane, kClasses> lanes;
    LinkDirection* out = nullptr;
    LinkDirection* in = nullptr;
    std::uint8_t watchdog_drop = 0;  // queues that the watchdog drops
    std::uint8_t ignore_pause = 0;   // queues that the watchdog lets send in spite of pauses
    bool down = false;
    std::uint64_t ledgered = 0;  // of its packets, those that the ledger of `out` knows
    Time_ps expiry_timer_ps = kNever_ps;
    Time_ps release_timer_ps = kNever_ps;
    RarePortCounters counters;

    void set_reject() {
      reject = down ? 0xff : watchdog_drop;
      closed = paused | reject;
    }
  };
  // A packet from its link until its turn comes. No field is of a character type: the compiler knows then that writing
  // one changes nothing but records of this type.
  struct alignas(32) Arrival {
    engine::Packet* packet;
    Port* out;  // null: arrive() looks at it when its turn comes
    Time_ps time_ps;
    std::uint16_t in;
    std::uint16_t line_B;
    Class lane;
    std::uint16_t kind;
  };
  struct Wires {
    engine::Inlet* inbound = nullptr;
    const void* outbound = nullptr;
  };
  // What a visit needs and nothing after it: one for all switches of a thread.
  struct Scratch {
    std::vector<std::uint64_t> due;  // by word of the inbox: ports with something due
    // What arrives, by port, and keys that sort it: time since `first_ps`, kind, place in `arrivals`.
    std::vector<Arrival> arrivals;
    std::size_t count = 0;
    Time_ps first_ps = 0;
    std::vector<std::uint64_t> keys;
    std::vector<std::uint64_t> sorted;
  };
  struct Service {
    Time_ps time_ps;
    Port* port;
    friend bool operator<(const Service& a, const Service& b) {
      return a.time_ps != b.time_ps ? a.time_ps < b.time_ps : a.port < b.port;
    }
  };
  // The routes in force. By edge: the port, or kFan and the number of a group of equal ones in `fans`, or kNoGroup.
  static constexpr std::uint16_t kFan = 0x8000;
  struct Ways {
    const Destination* destinations = nullptr;
    const std::uint16_t* of_edge = nullptr;
    const RouteTable::Group* fans = nullptr;
    const std::uint16_t* members = nullptr;
    std::uint64_t hash_seed = 0;
    std::uint32_t number = 0;  // of this switch
    bool hash_dest_qp = false;
  };
  enum class TimerKind : std::uint8_t {
    kRoutes,
    kLink,
    kPauseExpiry,
    kRefresh,
    kRelease,
    kCpu,
    kWatchdog,
    kInterrupt,
    kSoftirq,
    kTxCompletion
  };
  struct Timer {
    Time_ps time_ps;
    TimerKind kind;
    std::uint32_t port;
    friend bool operator<(const Timer& a, const Timer& b) {
      if (a.time_ps != b.time_ps) return a.time_ps > b.time_ps;
      return a.kind != b.kind ? a.kind > b.kind : a.port > b.port;
    }
  };
  // switch.cc and switch_gather.cc: the visit.
  static Time_ps run_hook(void* self, Time_ps end_ps) { return static_cast<Switch*>(self)->run(end_ps); }
  Time_ps run(Time_ps end_ps);
  void gather(Time_ps end_ps, Scratch& visit);
  Arrival* take_arrivals(engine::Inlet& inlet, std::uint32_t in, Arrival* arrival, Time_ps end_ps);
  static void take_back(Arrival* first, Arrival* last);
  static void sort_arrivals(Scratch& visit, Time_ps length_ps);
  void run_timer(Scratch& visit);
  void add_timer(Time_ps time_ps, TimerKind kind, std::uint32_t port);
  void change_link(std::uint32_t port, bool up, Time_ps now_ps);
  void use_ecn(std::uint32_t queue);
  const EcnRamp& ecn(std::uint32_t port, std::uint32_t queue) const {
    return own_ecn_.empty() ? setup_.qos.queues[queue].ecn : own_ecn_[port][queue];
  }
  void plan_service(Port& port, Time_ps at_ps);
  void grow_services();
  void plan_release(std::uint32_t port);
  void use_routes(const RouteTable& table);

  // switch_forward.cc: a packet comes in.
  void arrive(std::uint32_t in, engine::Packet& packet, Time_ps now_ps);
  void dispatch(std::uint32_t in, engine::Packet& packet, Time_ps now_ps);
  void forward(std::uint32_t in, std::uint32_t out, engine::PacketBody& packet, Time_ps now_ps);
  void pass_to_cpu(std::uint32_t in, const engine::Packet& packet, Time_ps now_ps);
  void hand_to_port(std::uint32_t in, std::uint32_t out, engine::PacketBody& packet, Time_ps now_ps);
  template <bool kMayHaveCold>
  void pass(std::uint32_t in, Port& out, Class lane, std::uint32_t line_bytes, engine::PacketBody& packet,
            Time_ps now_ps);
  void enqueue(std::uint32_t in, Port& out, Class lane, std::uint32_t frame_B, engine::PacketBody& packet,
               Time_ps now_ps);
  bool red_marks(const Port& out, std::uint32_t q);
  bool red_admits(Port& out, std::uint32_t q, engine::PacketBody& packet, Time_ps now_ps);
  bool mark(Port& out, std::uint32_t q, engine::PacketBody& packet);
  std::uint32_t way(const engine::PacketBody& packet) const;
  std::uint32_t route(const engine::PacketBody& packet, Time_ps now_ps);
  std::uint32_t next_hop(const engine::PacketBody& packet, Time_ps now_ps);
  std::uint32_t balance(const RouteTable::Group& group, const engine::PacketBody& packet, Time_ps now_ps);
  const RouteTable::Group* exception(const engine::PacketBody& packet) const;
  void drop(const engine::PacketBody& packet, std::uint32_t in, std::uint32_t out, std::uint32_t q, Fate reason,
            Time_ps now_ps);
  void tail_drop(engine::PacketBody& packet, std::uint32_t in, Port& out, std::uint32_t q, Time_ps now_ps);
  void flood(std::uint32_t in, engine::Packet& packet, Time_ps now_ps);
  const std::vector<std::uint16_t>& flood_ports(std::uint32_t source);
  Class class_of(const engine::PacketBody& packet) const {
    return trust_dscp_ ? class_of_dscp_[packet.tos >> 2] : class_of_pcp_[packet.priority];
  }

  // switch_forwarder.cc: in software.
  void make_forwarder();
  void receive_in_ring(std::uint32_t in, const engine::Packet& packet, Time_ps now_ps);
  void run_interrupt(std::uint32_t queue, Time_ps now_ps);
  void run_softirq(std::uint32_t core, Time_ps now_ps);
  void send_by_qdisc(std::uint32_t in, std::uint32_t out, engine::PacketBody& packet, Time_ps now_ps);
  void run_qdisc(std::uint32_t out, Time_ps now_ps);
  void complete_transmission(std::uint32_t out, Time_ps now_ps);

  // switch_schedule.cc: a packet goes out.
  void serve(Port& port, Time_ps now_ps);
  std::uint32_t choose(Port& port, std::uint8_t eligible);
  template <bool kMayHaveCold>
  void transmit(Port& port, std::uint32_t q, std::uint32_t queue_B, engine::PacketBody& packet,
                std::uint32_t line_bytes, Time_ps now_ps);
  void transmit_by_wrapper_or_mail(Port& port, const engine::Packet& packet, Time_ps now_ps);
  void note_arrival(std::uint32_t in, const engine::PacketBody& packet, Time_ps now_ps);
  void write_telemetry(const Port& port, std::uint32_t q, std::uint32_t queue_B, engine::PacketBody& packet,
                       Time_ps now_ps);
  // The head of a queue leaves it and gives back its part of the egress pool; its slot is still taken.
  void unlink_head(Port& port, std::uint32_t q, const Held& held, std::uint32_t cells) {
    Queue& queue = port.lanes[q].queue;
    queue.head = held.next;
    if (held.next == kNothing) {
      port.waiting = static_cast<std::uint8_t>(port.waiting & ~(1u << q));
    } else {
      __builtin_prefetch(&held_[held.next]);
    }
    buffer_.egress_give(q, queue.cells, cells);
    queue.bytes -= held.frame_B;
    queue.cells -= cells;
  }
  void release_buffer(std::uint32_t in, std::uint32_t out, std::uint32_t g, std::uint32_t cells, Time_ps now_ps);
  void flush_queue(std::uint32_t p, std::uint32_t q, Fate reason, Time_ps now_ps);

  // switch_pfc.cc
  void receive_pause(std::uint32_t p, const engine::Packet& packet, Time_ps now_ps);
  void pauses_changed(std::uint32_t p, std::uint8_t before, PauseEnd end, Time_ps now_ps);
  void expire_pauses(std::uint32_t p, Time_ps now_ps);
  void send_xoff(std::uint32_t p, std::uint32_t slice, std::uint32_t g, Time_ps now_ps);
  void maybe_send_xon(std::uint32_t p, std::uint32_t slice, std::uint32_t g, Time_ps now_ps);
  void send_pause(std::uint32_t p, PauseRequest request, Time_ps now_ps);
  void set_xoff(Port& port, std::uint8_t groups) {
    xoff_ports_ += static_cast<std::uint32_t>(groups != 0) - static_cast<std::uint32_t>(port.xoff != 0);
    port.xoff = groups;
  }
  void end_xoff(std::uint32_t p, std::uint32_t g, PauseEnd end, Time_ps now_ps);
  void refresh(std::uint32_t p, Time_ps now_ps);

  // switch_record.cc
  [[gnu::cold]] void record_mark(const Port& out, std::uint32_t q, const engine::PacketBody& packet, Time_ps now_ps);
  void record_event(SwitchEventKind kind, std::uint32_t p, std::uint32_t q, Time_ps now_ps);
  void record_cause(PauseEvent& event, std::uint32_t p, std::uint32_t g) const;
  // switch_watchdog.cc
  void arm_watchdog(Time_ps now_ps);
  void poll_watchdog(Time_ps now_ps);
  bool watch(std::uint32_t p, std::uint32_t q, Time_ps now_ps);
  Time_ps queue_paused_ps(std::uint32_t p, std::uint32_t q, Time_ps now_ps) const;

  engine::InboxWord& inbox_word(std::size_t w) { return w == 0 ? inbox_ : more_inbox_[w - 1]; }
  std::uint32_t take_slot() {
    if (free_slot_ == kNothing) grow_slots();
    std::uint32_t slot = free_slot_;
    free_slot_ = held_[slot].next;
    ++held_count_;
    return slot;
  }
  void give_slot(std::uint32_t slot) {
    held_[slot].next = free_slot_;
    free_slot_ = slot;
    --held_count_;
  }
  void grow_slots();

  // What every visit touches comes first: the engine fetches engine::kHotLines lines of it ahead.
  std::vector<Port> ports_;
  std::vector<Wires> wires_;  // by port
  // Planned services, sorted, and an end mark: what is no longer planned is skipped, what is over lies before.
  Service* next_service_ = nullptr;
  Service* end_service_ = nullptr;
  Ways ways_;
  Time_ps timer_ps_ = kNever_ps;  // of the first in timers_
  std::uint32_t passes_B_ = 0;    // what takes no more bytes on the line is not too big for any port
  bool trust_dscp_ = true;
  bool careful_ = false;     // the way of a packet is not known before its turn comes
  engine::InboxWord inbox_;  // of the first 64 ports
  std::vector<engine::InboxWord> more_inbox_;
  std::uint32_t xoff_ports_ = 0;  // ports with groups that have stopped the peer
  std::uint32_t free_slot_ = kNothing;
  std::uint64_t held_count_ = 0;
  std::vector<Held> held_;  // waiting packets
  std::vector<Service> services_ = std::vector<Service>(8, Service{kNever_ps, nullptr});
  Time_ps arrival_ps_ = kNever_ps;  // after this visit
  Time_ps last_event_ps_ = 0;
  std::uint64_t events_ = 0;
  std::array<Class, 64> class_of_dscp_{};
  std::array<Class, kClasses> class_of_pcp_{};
  std::array<std::uint32_t, kClasses> ingress_of_group_{};
  std::array<std::uint32_t, kClasses> red_from_B_{};   // on the way in: a shorter queue is not looked at
  std::array<std::uint32_t, kClasses> mark_from_B_{};  // on the way out
  std::uint8_t mark_at_enqueue_ = 0;                   // queues

  std::vector<std::uint16_t> way_of_edge_;
  std::vector<RouteTable::Group> fans_;
  SwitchSetup setup_;
  SharedBuffer buffer_;
  std::uint32_t resume_cells_;
  engine::Domain& domain_;
  std::uint32_t node_;
  std::vector<Timer> timers_;  // heap
  const RouteTable* table_ = nullptr;
  std::size_t next_epoch_ = 1;
  std::size_t next_link_change_ = 0;
  std::uint8_t strict_ = 0;  // queues
  std::array<std::uint32_t, kClasses> quantum_B_{};
  std::vector<std::uint8_t> pfc_;                                // by port: classes, switched off ones left out
  std::vector<TransmitControl> transmit_control_;                // by port
  std::vector<ReceiveControl> receive_control_;                  // by port
  std::vector<std::array<EcnRamp, kClasses>> own_ecn_;           // by port, queue; empty: all have the setup's
  std::vector<RandomStream> random_;                             // by port
  std::vector<std::array<std::int64_t, kClasses>> average_q8_;   // by port, queue: EWMA of its length << 8
  std::vector<std::array<std::uint8_t, kClasses>> xoff_slices_;  // by port, group: slices in XOFF
  std::vector<std::array<WatchState, kClasses>> watch_;          // only with a watchdog
  std::vector<Flowlet> flowlets_;
  std::deque<Flood> floods_;
  RandomStream balancing_;
  std::deque<CpuJob> cpu_;  // by the time it is done with them
  Time_ps cpu_free_ps_ = 0;
  std::unique_ptr<Forwarder> forwarder_;
  bool watchdog_armed_ = false;
  DropLog drops_;  // by port, queue and reason
  BoundedLog<PauseEvent> pause_log_;
  BoundedLog<SwitchEvent> event_log_;
  MarkLog mark_log_;  // by port and queue
};

}  // namespace weft::fabric
