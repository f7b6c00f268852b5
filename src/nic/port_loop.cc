// The loop of a port: what it does next, and which queue pair sends the next packet.
#include <algorithm>

#include "nic/device.h"
#include "nic/pcie_path.h"

namespace weft::nic {

using engine::Packet;

namespace {

// The port was idle between these two, and `wait` is of the queue pair that ended it. One that was held back by its
// pace may take payload that others have waited for: so long PCIe was the limit.
[[gnu::noinline]] void count_idle(Counters& counters, Wait wait, const PcieFunction& function, Time_ps from_ps,
                                  Time_ps now_ps) {
  from_ps = std::max(from_ps, std::min(counters.idle_from_ps, now_ps));
  if (wait == Wait::kPace && function.path() != nullptr) {
    const Time_ps held_ps = std::clamp(function.path()->held_until_ps(), from_ps, now_ps) - from_ps;
    counters.idle_ps[static_cast<std::size_t>(function.read_wait())] += held_ps;
    from_ps += held_ps;
  }
  counters.idle_ps[static_cast<std::size_t>(wait)] += now_ps - from_ps;
}

}  // namespace

Time_ps Device::run_until(Time_ps end_ps, const Time_ps* programs_ps) {
  for (;;) {
    const Time_ps arrival_ps = arrivals_.next_ps();
    Time_ps now_ps = std::min(service_ps_, arrival_ps);
    const Time_ps other_ps = rare_ps();
    const Time_ps next_ps = std::min(now_ps, other_ps);
    if (next_ps >= end_ps || next_ps > *programs_ps) return next_ps;
    ++events_;
    if (other_ps <= now_ps) [[unlikely]] {
      // A release comes before everything at its instant, a timer after everything.
      bool release = release_ps_ == other_ps;
      if (release || other_ps < now_ps) {
        last_event_ps_ = other_ps;
        if (release) {
          // What it holds back on its own cable waits for that one, whichever it sends by now.
          out_->release(other_ps);
          wire_.release(other_ps);
          release_ps_ = std::min(out_->next_release_ps(), wire_.next_release_ps());
        } else if (pause_due_ps_ == other_ps) {
          on_pause_due(other_ps);
        } else {
          on_timer(other_ps);
        }
        continue;
      }
    }
    last_event_ps_ = now_ps;
    if (service_ps_ > arrival_ps || (service_ps_ == arrival_ps && arrivals_.pause_is_next())) {
      receive(now_ps);
      continue;
    }
    // One packet after the other, until something else comes in between.
    const Time_ps limit_ps = std::min(arrival_ps, end_ps);
    for (;;) {
      serve(now_ps);
      now_ps = service_ps_;
      if (now_ps >= limit_ps || now_ps >= rare_ps() || now_ps > *programs_ps) break;
      ++events_;
      last_event_ps_ = now_ps;
    }
  }
}

inline void Device::receive(Time_ps now_ps) {
  Packet packet = arrivals_.front();
  arrivals_.pop();
  if (arrivals_.tapped) [[unlikely]]
    in_.tap(packet);
  if (packet.transport == engine::kLinkControl) [[unlikely]] {
    receive_pause(packet, now_ps);
    return;
  }
  receive_packet(packet, now_ps);
}

// Contexts that have waited for this time are ready.
[[gnu::noinline]] void Device::end_waits(Time_ps now_ps) {
  while (waiting_.next_ps() <= now_ps) {
    auto [time_ps, context] = waiting_.pop();
    if (context == kCnpContext) {
      control_.push(context);
      continue;
    }
    QueuePair& qp = qps_[context / 2];
    bool reply = (context & 1) != 0;
    Time_ps& queued_ps = reply ? qp.resp.queued_ps : qp.req.queued_ps;
    if (queued_ps != time_ps) continue;
    queued_ps = kInRing_ps;
    bool control = reply && qp.resp.reply_head != qp.resp.reply_tail && qp.resp.next_reply().kind != Reply::Kind::kRead;
    (control ? control_ : ready_).push(context);
    if (records_ && !control) recorder_->ready(context, time_ps);
  }
}

[[gnu::always_inline]] inline void Device::serve(Time_ps now_ps) {
  if (waiting_.next_ps() <= now_ps) end_waits(now_ps);
  while (!control_.empty() || !ready_.empty()) {
    bool control = !control_.empty();
    std::uint32_t context = control ? control_.pop() : ready_.pop();
    if (blocked_ != 0 && is_paused(context)) [[unlikely]] {
      parked_.push_back({context, control});
      if (records_ && !control) recorder_->paused(qps_[context / 2], context, now_ps);
      continue;
    }
    const Time_ps idle_from_ps = free_ps_;
    if (!(records_ && !control ? serve_recorded(context, now_ps) : serve_context(context, now_ps))) continue;
    if (now_ps > idle_from_ps && !control)
      count_idle(counters, qps_[context / 2].wait, functions_[qps_[context / 2].function], idle_from_ps, now_ps);
    break;
  }
  bool ready = !control_.empty() || !ready_.empty();
  Time_ps from_ps = ready ? now_ps : waiting_.next_ps();
  service_ps_ = from_ps == kNever_ps ? kNever_ps : std::max(from_ps, free_ps_);
}

inline bool Device::serve_context(std::uint32_t context, Time_ps now_ps) {
  if (context == kCnpContext) return send_cnp(now_ps);
  QueuePair& qp = qps_[context / 2];
  return (context & 1) == 0 ? send_request(qp, now_ps) : send_reply(qp, now_ps);
}

// The same, and what it waited for is noted.
[[gnu::noinline]] bool Device::serve_recorded(std::uint32_t context, Time_ps now_ps) {
  const QueuePair& qp = qps_[context / 2];
  const bool question = (context & 1) == 0 && qp.req.tx != qp.req.tail && qp.req.wqes != nullptr &&
                        needs_response(qp.req.wqes[qp.req.tx & qp.req.mask].request.opcode);
  recorder_->turn_begins(qp, context, now_ps);
  const bool sent = serve_context(context, now_ps);
  recorder_->turn_ends(qp, context, sent, question, now_ps, std::max(free_ps_, now_ps));
  return sent;
}

}  // namespace weft::nic
