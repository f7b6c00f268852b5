// Schedule of a port: when it does something next, and which contexts send. A context is the requester or the responder
// of a queue pair. It is in a ring when it can send now, in the waiting heap until a time, parked while its class is
// stopped, or nowhere. Control replies (ACK, NAK, CNP) go first; READ data and requests share round robin. Times in ps.
// Driven by Port::run_until (nic/port_loop.cc); filled by transports and by the other parts of the port.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "base/time.h"
#include "fabric/link.h"
#include "nic/port_contexts.h"
#include "nic/work_heap.h"

namespace weft::nic {

class alignas(64) PortSchedule {
  // Fields for every packet, by cache line.
  Time_ps service_ps_ = kNever_ps, pause_due_ps_ = kNever_ps;
  Time_ps release_ps_ = kNever_ps;  // of a frame that a fault of the cable holds back
  Time_ps free_ps_ = 0;             // the port has sent its last frame
  engine::Inlet& arrivals_;
  fabric::LinkDirection* wire_;  // the cable in use
  Time_ps last_event_ps_ = 0;
  std::uint64_t events_ = 0;
  WorkHeap<1> timers_;           // QPs with an ACK timeout to check, and what is not of a queue pair
  std::vector<Parked> parked_;   // contexts whose class is stopped
  WorkHeap<2> waiting_;          // contexts that become ready at a time
  std::uint8_t blocked_ = 0;     // classes that the peer of the cable in use has stopped (nic/bond.cc)
  ContextRing control_, ready_;  // contexts that can send now

 public:
  PortSchedule(engine::Inlet& arrivals, fabric::LinkDirection& wire) : arrivals_(arrivals), wire_(&wire) {}

  // At one instant: release of a delayed frame, service, arrival, timer.
  Time_ps next_ps() const { return std::min(std::min(service_ps_, arrivals_.next_ps()), rare_ps()); }
  Time_ps service_ps() const { return service_ps_; }
  Time_ps rare_ps() const { return std::min(std::min(timers_.next_ps(), pause_due_ps_), release_ps_); }
  Time_ps release_ps() const { return release_ps_; }
  Time_ps pause_due_ps() const { return pause_due_ps_; }
  Time_ps free_ps() const { return free_ps_; }
  engine::Inlet& arrivals() const { return arrivals_; }
  Time_ps last_event_ps() const { return last_event_ps_; }
  std::uint64_t events() const { return events_; }
  void count_event() { ++events_; }
  void begin_event(Time_ps now_ps) {
    WEFT_DCHECK(now_ps >= last_event_ps_, "the events of a port run back in time");
    last_event_ps_ = now_ps;
  }
  fabric::LinkDirection& wire() const { return *wire_; }
  void set_wire(fabric::LinkDirection& wire) { wire_ = &wire; }
  void set_pause_due(Time_ps due_ps) { pause_due_ps_ = due_ps; }
  void set_release(Time_ps release_ps) { release_ps_ = release_ps; }

  // The port sends until then: a frame of a context, in its turn …
  void occupy(Time_ps until_ps) {
    WEFT_DCHECK(until_ps >= free_ps_, "two frames overlap on the wire");
    free_ps_ = until_ps;
  }
  // … or something between two turns, for which the next turn waits.
  void delay_turns(Time_ps until_ps) {
    WEFT_CHECK(until_ps >= free_ps_, "a frame between two turns ends before the one ahead of it");
    free_ps_ = until_ps;
    if (service_ps_ != kNever_ps) service_ps_ = std::max(service_ps_, free_ps_);
  }
  void service_by(Time_ps at_ps) { service_ps_ = std::min(service_ps_, std::max(at_ps, free_ps_)); }

  // A context waits in at most one place: an older, later entry of the heap is ignored when it comes up. `queued_ps` is
  // the context's own note of where it is.
  void queue(Time_ps& queued_ps, std::uint32_t context, Time_ps at_ps) {
    if (queued_ps <= at_ps) return;
    queued_ps = at_ps;
    wait(context, at_ps);
    service_by(at_ps);
  }
  void wait(std::uint32_t context, Time_ps at_ps) { waiting_.push(at_ps, context); }
  void make_ready(std::uint32_t context, bool control) { (control ? control_ : ready_).push(context); }
  void push_ready(std::uint32_t context) { ready_.push(context); }

  // A turn: contexts whose wait is over, then one after the other, then when the next turn is.
  bool has_waited(Time_ps now_ps) const { return waiting_.next_ps() <= now_ps; }
  WorkHeap<2>::Entry end_wait() { return waiting_.pop(); }
  bool has_ready() const { return !control_.empty() || !ready_.empty(); }
  bool control_is_next() const { return !control_.empty(); }
  std::uint32_t take(bool control) { return control ? control_.pop() : ready_.pop(); }
  void plan_service(Time_ps now_ps) {
    const Time_ps from_ps = has_ready() ? now_ps : waiting_.next_ps();
    service_ps_ = from_ps == kNever_ps ? kNever_ps : std::max(from_ps, free_ps_);
  }
  // One of the contexts that send soon; false: none does.
  bool has_context() const { return !ready_.empty() || !waiting_.empty(); }
  std::uint32_t likely_context() const { return !ready_.empty() ? ready_.front() : waiting_.next_context(); }

  // Classes that may not send, and contexts that wait for the end of a pause, in the order in which they were parked.
  std::uint8_t blocked() const { return blocked_; }
  void set_blocked(std::uint8_t classes) { blocked_ = classes; }
  void park(std::uint32_t context, bool control) { parked_.push_back({context, control}); }
  template <class IsPaused, class Resumed>
  void unpark(Time_ps now_ps, IsPaused is_paused, Resumed resumed) {
    if (parked_.empty()) return;
    std::size_t left = 0;
    for (const Parked& parked : parked_) {
      if (is_paused(parked.context)) {
        parked_[left++] = parked;
        continue;
      }
      make_ready(parked.context, parked.control);
      resumed(parked);
      service_by(now_ps);
    }
    parked_.resize(left);
  }

  void add_timer(std::uint32_t context, Time_ps at_ps) { timers_.push(at_ps, context); }
  bool has_timers() const { return !timers_.empty(); }
  std::uint32_t next_timer() const { return timers_.next_context(); }
  std::uint32_t take_timer() { return timers_.pop().context; }
};
static_assert(sizeof(PortSchedule) == 256);

}  // namespace weft::nic
