// The loop of a port: what it does next, and which queue pair sends the next packet.
#include <algorithm>

#include "base/check.h"
#include "nic/cnp_notifier.h"
#include "nic/pcie/path.h"
#include "nic/port.h"
#include "nic/receive.h"
#include "nic/transmit.h"
#include "nic/transports/recovery.h"
#include "nic/transports/reply.h"
#include "nic/transports/transport.h"

namespace weft::nic {

using engine::Packet;

namespace {

// The port was idle between these two, and `wait` is of the queue pair that ended it. One that was held back by its
// pace may take payload that others have waited for: so long PCIe was the limit.
[[gnu::noinline]] void count_idle(Counters& counters, Wait wait, const PcieFunction& function, Time_ps from_ps,
                                  Time_ps now_ps) {
  from_ps = std::max(from_ps, std::min(counters.idle_from_ps, now_ps));
  WEFT_DCHECK(from_ps <= now_ps, "a port was idle for less than no time");
  if (wait == Wait::kPace && function.path() != nullptr) {
    const Time_ps held_ps = std::clamp(function.path()->held_until_ps(), from_ps, now_ps) - from_ps;
    counters.idle_ps[static_cast<std::size_t>(function.read_wait())] += held_ps;
    from_ps += held_ps;
  }
  counters.idle_ps[static_cast<std::size_t>(wait)] += now_ps - from_ps;
}

void run_rare(Port& port, bool release, Time_ps now_ps) {
  if (release) {
    // Packets held back on its own cable wait for that one, whichever it sends by now.
    port.schedule.wire().release(now_ps);
    port.wire.release(now_ps);
    port.schedule.set_release(std::min(port.schedule.wire().next_release_ps(), port.wire.next_release_ps()));
  } else if (port.schedule.pause_due_ps() == now_ps) {
    if (port.pauses.on_due(now_ps)) port.unpark(now_ps);
  } else {
    on_timer(port, now_ps);
  }
}

inline void receive_next(Port& port, Time_ps now_ps) {
  engine::Inlet& arrivals = port.schedule.arrivals();
  Packet packet = arrivals.front();
  arrivals.pop();
  if (arrivals.tapped) [[unlikely]]
    port.in.tap(packet);
  if (packet.transport == engine::kLinkControl) [[unlikely]] {
    port.pauses.receive(fabric::PauseRequest::of(packet), now_ps);
    port.in.received.count(fabric::Fate::kPause);
    port.unpark(now_ps);
    return;
  }
  receive_packet(port, packet, now_ps);
}

// Contexts that have waited for this time are ready.
[[gnu::noinline]] void end_waits(Port& port, Time_ps now_ps) {
  while (port.schedule.has_waited(now_ps)) {
    auto [time_ps, context] = port.schedule.end_wait();
    WEFT_DCHECK(context == kCnpContext || port.qps.has_context(context), "a context of no queue pair waits");
    if (context == kCnpContext) {
      port.schedule.make_ready(context, true);
      continue;
    }
    QueuePair& qp = port.qps.of_context(context);
    bool reply = (context & 1) != 0;
    Time_ps& queued_ps = reply ? qp.resp.queued_ps : qp.req.queued_ps;
    if (queued_ps != time_ps) continue;
    queued_ps = kInRing_ps;
    bool control = reply && qp.resp.reply_head != qp.resp.reply_tail && qp.resp.next_reply().kind != Reply::Kind::kRead;
    port.schedule.make_ready(context, control);
    if (port.records && !control) port.recorder->ready(context, time_ps);
  }
}

bool is_paused(const Port& port, std::uint32_t context) {
  if (context == kCnpContext) return (port.schedule.blocked() >> port.config.qos.cnp_priority & 1) != 0;
  const QueuePair& qp = port.qps.of_context(context);
  std::uint32_t priority = qp.packet.priority;
  if (!qp.transport->connected && (context & 1) == 0 && qp.req.tx != qp.req.tail) {
    const SendRequest& request = qp.req.wqes[qp.req.tx & qp.req.mask].request;
    if (request.has_class) priority = port.classes.to_send(request.tos, request.priority);
  }
  return (port.schedule.blocked() >> priority & 1) != 0;
}

inline bool serve_context(Port& port, std::uint32_t context, Time_ps now_ps) {
  if (context == kCnpContext) return send_cnp(port, now_ps);
  QueuePair& qp = port.qps.of_context(context);
  return (context & 1) == 0 ? send_request(port, qp, now_ps) : send_reply(port, qp, now_ps);
}

// The same, and what it waited for is noted.
[[gnu::noinline]] bool serve_recorded(Port& port, std::uint32_t context, Time_ps now_ps) {
  const QueuePair& qp = port.qps.of_context(context);
  const bool question = (context & 1) == 0 && qp.req.tx != qp.req.tail && qp.req.wqes != nullptr &&
                        needs_response(qp.req.wqes[qp.req.tx & qp.req.mask].request.opcode);
  port.recorder->turn_begins(qp, context, now_ps);
  const bool sent = serve_context(port, context, now_ps);
  port.recorder->turn_ends(qp, context, sent, question, now_ps, std::max(port.schedule.free_ps(), now_ps));
  return sent;
}

[[gnu::always_inline]] inline void serve(Port& port, Time_ps now_ps) {
  WEFT_DCHECK(port.schedule.free_ps() <= now_ps, "a turn begins before the last frame has left");
  if (port.schedule.has_waited(now_ps)) end_waits(port, now_ps);
  while (port.schedule.has_ready()) {
    bool control = port.schedule.control_is_next();
    std::uint32_t context = port.schedule.take(control);
    if (port.schedule.blocked() != 0 && is_paused(port, context)) [[unlikely]] {
      port.schedule.park(context, control);
      if (port.records && !control) port.recorder->paused(port.qps.of_context(context), context, now_ps);
      continue;
    }
    const Time_ps idle_from_ps = port.schedule.free_ps();
    if (!(port.records && !control ? serve_recorded(port, context, now_ps) : serve_context(port, context, now_ps)))
      continue;
    if (now_ps > idle_from_ps && !control)
      count_idle(port.counters, port.qps.of_context(context).wait,
                 port.functions[port.qps.of_context(context).function], idle_from_ps, now_ps);
    break;
  }
  port.schedule.plan_service(now_ps);
}

}  // namespace

Time_ps Port::run_until(Time_ps end_ps, const Time_ps* programs_ps) {
  for (;;) {
    const Time_ps arrival_ps = schedule.arrivals().next_ps();
    Time_ps now_ps = std::min(schedule.service_ps(), arrival_ps);
    const Time_ps other_ps = schedule.rare_ps();
    const Time_ps next_ps = std::min(now_ps, other_ps);
    if (next_ps >= end_ps || next_ps > *programs_ps) return next_ps;
    schedule.count_event();
    if (other_ps <= now_ps) [[unlikely]] {
      // A release comes before everything at its instant, a timer after everything.
      const bool release = schedule.release_ps() == other_ps;
      if (release || other_ps < now_ps) {
        schedule.begin_event(other_ps);
        run_rare(*this, release, other_ps);
        continue;
      }
    }
    schedule.begin_event(now_ps);
    const Time_ps service_ps = schedule.service_ps();
    if (service_ps > arrival_ps || (service_ps == arrival_ps && schedule.arrivals().pause_is_next())) {
      receive_next(*this, now_ps);
      continue;
    }
    // One packet after the other, until something else comes in between.
    const Time_ps limit_ps = std::min(arrival_ps, end_ps);
    for (;;) {
      serve(*this, now_ps);
      now_ps = schedule.service_ps();
      if (now_ps >= limit_ps || now_ps >= schedule.rare_ps() || now_ps > *programs_ps) break;
      schedule.count_event();
      schedule.begin_event(now_ps);
    }
  }
}

// Contexts that are no longer stopped take their place again, in the order in which they were parked.
void Port::unpark(Time_ps now_ps) {
  schedule.unpark(
      now_ps, [this](std::uint32_t context) { return is_paused(*this, context); },
      [this, now_ps](const Parked& parked) {
        if (parked.context != kCnpContext) qps.of_context(parked.context).wait = Wait::kPause;
        if (records && !parked.control) recorder->resumed(parked.context, now_ps);
      });
}

}  // namespace weft::nic
