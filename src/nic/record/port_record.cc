#include "nic/record/port_record.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "nic/port_numbers.h"
#include "nic/queues/queue_pair.h"
#include "nic/transports/transport.h"

namespace weft::nic {

namespace {

// Rate of a port pace in time per byte; none is the line's.
std::int64_t rate_of_pace(std::int64_t pace_q16, std::int64_t line_rate_bps) {
  if (pace_q16 <= 0) return line_rate_bps;
  const auto rate = static_cast<unsigned __int128>(8 * kSecond_ps) * 65'536 / static_cast<unsigned __int128>(pace_q16);
  return std::min(static_cast<std::int64_t>(rate), line_rate_bps);
}

}  // namespace

void PortEvent::merge(const PortEvent& later) {
  last_ps = std::max(last_ps, later.last_ps);
  count += later.count;
  if (later.to_bps > 0) to_bps = to_bps > 0 ? std::min(to_bps, later.to_bps) : later.to_bps;
}

SenderRecord* PortRecord::find(std::uint32_t context) {
  if (context >= of_context_.size() || of_context_[context] == 0 || of_context_[context] == kLeftOut) return nullptr;
  WEFT_DCHECK(of_context_[context] <= senders_.size(), "a context of no sender");
  return &senders_[of_context_[context] - 1];
}

SenderRecord* PortRecord::find_or_add(const QueuePair& qp, std::uint32_t context, Time_ps now_ps) {
  if (SenderRecord* known = find(context)) return known;
  if (context >= of_context_.size()) of_context_.resize(context + 1);
  if (senders_.size() == kMostSenders) {
    if (of_context_[context] == 0) ++senders_left_out_;
    of_context_[context] = kLeftOut;
    return nullptr;
  }
  SenderRecord& sender = senders_.emplace_back();
  of_context_[context] = static_cast<std::uint32_t>(senders_.size());
  sender.qpn = qp.qpn;
  sender.replies = (context & 1) != 0;
  sender.connected = qp.transport->connected;
  sender.function = qp.function;
  if (context / 2 < owner_of_.size()) sender.owner = owner_of_[context / 2];
  sender.packet = qp.packet;
  sender.first_ps = sender.until_ps = now_ps;
  sender.is_open = true;
  return &sender;
}

// Held by what it waited for until it was ready, then by the port.
void PortRecord::add_times(const SenderRecord& sender, Time_ps now_ps, Times& times) {
  WEFT_CHECK(now_ps >= sender.until_ps, "the time of a sender runs back");
  const Time_ps ready_ps = std::clamp(sender.ready_ps, sender.until_ps, now_ps);
  times[sender.state] += ready_ps - sender.until_ps;
  times[kPortBusy] += now_ps - ready_ps;
}

void PortRecord::advance(SenderRecord& sender, Time_ps now_ps) {
  if (now_ps <= sender.until_ps) return;
  add_times(sender, now_ps, sender.times);
  sender.until_ps = now_ps;
}

void PortRecord::posted(const QueuePair& qp, std::uint32_t context, Time_ps doorbell_ps) {
  SenderRecord* sender = find_or_add(qp, context, doorbell_ps);
  if (sender == nullptr) return;
  // The queue pair knows only now what the time since its last packet was for.
  if (sender->is_open) sender->state = state_of(qp.wait);
  advance(*sender, doorbell_ps);
  sender->ready_ps = kNever_ps;
  sender->state = kStarting;
  sender->is_open = true;
}

void PortRecord::claim(std::uint32_t owner) {
  for (std::uint32_t qpn : unclaimed_) {
    const std::size_t index = QueuePairNumbers::place_of(qpn);
    if (index >= owner_of_.size()) owner_of_.resize(index + 1, kNobody);
    owner_of_[index] = owner;
  }
  unclaimed_.clear();
}

// While others wait for this port to answer them, theirs is the turn: only the first of them waits for the context.
void PortRecord::asked(const QueuePair& qp, std::uint32_t context, Time_ps now_ps, Time_ps context_ps) {
  if (qp.resp.reply_head != qp.resp.reply_tail) return;
  SenderRecord* sender = find_or_add(qp, context, now_ps);
  if (sender == nullptr) return;
  advance(*sender, now_ps);
  sender->ready_ps = kNever_ps;
  sender->state = state_of(Wait::kContext);
  advance(*sender, context_ps);
  sender->state = kStarting;
}

void PortRecord::ready(std::uint32_t context, Time_ps at_ps) {
  if (SenderRecord* sender = find(context)) sender->ready_ps = at_ps;
}

void PortRecord::paused(const QueuePair& qp, std::uint32_t context, Time_ps now_ps) {
  SenderRecord* sender = find_or_add(qp, context, now_ps);
  if (sender == nullptr) return;
  advance(*sender, now_ps);
  sender->ready_ps = kNever_ps;
  sender->state = state_of(Wait::kPause);
}

void PortRecord::resumed(std::uint32_t context, Time_ps now_ps) {
  SenderRecord* sender = find(context);
  if (sender == nullptr) return;
  advance(*sender, now_ps);
  sender->ready_ps = now_ps;
}

void PortRecord::turn_begins(const QueuePair& qp, std::uint32_t context, Time_ps now_ps) {
  SenderRecord* sender = find_or_add(qp, context, now_ps);
  if (sender == nullptr) return;
  advance(*sender, now_ps);
  sender->ready_ps = kNever_ps;
  sender->again_before = qp.retransmitted_packets;
}

void PortRecord::turn_ends(const QueuePair& qp, std::uint32_t context, bool sent, bool question, Time_ps now_ps,
                           Time_ps free_ps) {
  SenderRecord* sender = find(context);
  if (sender == nullptr) return;
  const bool replies = (context & 1) != 0;
  if (sent) {
    ++sender->packets;
    sender->questions += question ? 1 : 0;
    sender->again += qp.retransmitted_packets - sender->again_before;
    if (free_ps > sender->until_ps) {
      sender->times[kSending] += free_ps - std::max(now_ps, sender->until_ps);
      sender->until_ps = free_ps;
    }
  }
  const bool all_sent =
      replies ? qp.resp.reply_head == qp.resp.reply_tail : qp.req.tx == qp.req.tail || qp.req.head == qp.req.tail;
  sender->state = state_of(all_sent && sent ? Wait::kRoundTrip : qp.wait);
  if (!replies && qp.req.head == qp.req.tail) {  // nothing is acknowledged here
    sender->state = kNoWork;
    sender->is_open = false;
  }
  if (!replies && qp.req.queued_ps == kInRing_ps) sender->ready_ps = sender->until_ps;
}

void PortRecord::recovers(std::uint32_t context, Time_ps now_ps) {
  SenderRecord* sender = find(context);
  if (sender == nullptr) return;
  // It had sent everything, or could send no more: what it waited for was lost.
  if (sender->ready_ps == kNever_ps && sender->state == state_of(Wait::kRoundTrip))
    sender->state = state_of(Wait::kRecovery);
  advance(*sender, now_ps);
  sender->ready_ps = kNever_ps;
  sender->state = state_of(Wait::kRecovery);
}

void PortRecord::completed(std::uint32_t context, Time_ps latency_ps) {
  if (SenderRecord* sender = find(context)) {
    sender->latency.add(latency_ps);
    return;
  }
  const bool is_owned = context / 2 < owner_of_.size();
  other_latency_[is_owned ? owner_of_[context / 2] : kNobody].add(latency_ps);
}

void PortRecord::drained(std::uint32_t context, Time_ps now_ps) {
  SenderRecord* sender = find(context);
  if (sender == nullptr) return;
  advance(*sender, now_ps);
  sender->ready_ps = kNever_ps;
  sender->state = kNoWork;
  sender->is_open = false;
}

void PortRecord::destroyed(std::uint32_t context, Time_ps now_ps) {
  for (std::uint32_t each : {context, context + 1}) {
    SenderRecord* sender = find(each);
    if (sender == nullptr) continue;
    if (sender->is_open && !sender->replies) advance(*sender, now_ps);
    of_context_[each] = 0;
  }
}

std::array<Time_ps, kSenderStates> PortRecord::times_at(std::uint32_t context, Time_ps now_ps) const {
  if (context >= of_context_.size() || of_context_[context] == 0 || of_context_[context] == kLeftOut) return {};
  const SenderRecord& sender = senders_[of_context_[context] - 1];
  Times times = sender.times;
  if (sender.is_open && now_ps > sender.until_ps) add_times(sender, now_ps, times);
  return times;
}

void PortRecord::settle(Time_ps end_ps) {
  for (SenderRecord& sender : senders_) {
    if (sender.is_open && !sender.replies) advance(sender, end_ps);
    WEFT_CHECK(
        std::accumulate(sender.times.begin(), sender.times.end(), Time_ps{0}) == sender.until_ps - sender.first_ps,
        "the times of a sender are not all of its time");
    WEFT_CHECK(sender.again <= sender.packets && sender.questions <= sender.packets,
               "a sender has sent less than part");
  }
}

void PortRecord::note(const PortEvent& event) {
  events_[static_cast<std::size_t>(event.kind)].add(QueuePairNumbers::place_of(event.qpn), event);
}

void PortRecord::cnp_sent(const QueuePair& qp, Time_ps now_ps) {
  note({PortEventKind::kCnpSent, now_ps, now_ps, 1, qp.qpn, static_cast<std::uint32_t>(qp.packet.dst), 0, 0, 0});
}

void PortRecord::rate_cut(const QueuePair& qp, std::int64_t before_q16, std::int64_t line_rate_bps, Time_ps now_ps) {
  const std::int64_t before_bps = rate_of_pace(before_q16, line_rate_bps);
  const std::int64_t to_bps = rate_of_pace(qp.congestion.pace_q16, line_rate_bps);
  const std::uint32_t context = QueuePairNumbers::place_of(qp.qpn) * 2;
  const bool sends = find(context) != nullptr || find(context + 1) != nullptr;
  if (!sends || to_bps >= before_bps) return;
  note({PortEventKind::kRateCut, now_ps, now_ps, 1, qp.qpn, static_cast<std::uint32_t>(qp.packet.dst), 0, before_bps,
        to_bps});
}

void PortRecord::lost(const QueuePair& qp, PortEventKind kind, Time_ps now_ps) {
  if (find(QueuePairNumbers::place_of(qp.qpn) * 2) == nullptr) return;
  note({kind, now_ps, now_ps, 1, qp.qpn, static_cast<std::uint32_t>(qp.packet.dst), qp.req.una_psn, 0, 0});
}

void PortRecord::sends_again(const QueuePair& qp, std::uint32_t psn, Time_ps now_ps) {
  if (find(QueuePairNumbers::place_of(qp.qpn) * 2) == nullptr) return;
  note({PortEventKind::kSentAgain, now_ps, now_ps, 1, qp.qpn, static_cast<std::uint32_t>(qp.packet.dst), psn, 0, 0});
}

}  // namespace weft::nic
