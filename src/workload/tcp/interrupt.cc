// A TCP socket on the CPU of its NIC queue's interrupt: NAPI, GRO, what TCP does with what arrives, and its timers.
#include <algorithm>

#include "workload/tcp/connection.h"

namespace weft::workload {

using wire::kTcpAck;
using wire::kTcpEce;
using wire::kTcpFin;
using wire::kTcpPsh;
using wire::kTcpRst;
using wire::kTcpSyn;

namespace {

// How often Linux tries: tcp_syn_retries, tcp_synack_retries, tcp_orphan_retries, tcp_retries2. The first is no retry.
constexpr std::uint32_t kSynTries = 7, kSynAckTries = 6, kFinTries = 9, kDataTries = 15;
// So much interrupt work makes a connection a busy one, which has a queue of its own.
constexpr Time_ps kBusy_ps = us(100);

}  // namespace

Time_ps TcpConnection::timer_ps() const {
  if (state_ == State::kDead) return kNever_ps;
  return std::min({sender_.timer_ps(), receiver_.timer_ps(), handshake_ps_, fin_ps_});
}

// What was begun is done; then the next thing. Nothing left: the interrupt is enabled again.
Time_ps TcpConnection::step_interrupt(Time_ps now_ps) {
  if (item_ != Item::kNone) {
    if (now_ps < item_end_ps_) return item_end_ps_;
    end_item(now_ps);
  }
  const Time_ps end_ps = begin_item(now_ps);
  if (item_ != Item::kNone) {
    item_end_ps_ = std::max(end_ps, now_ps + 1);
    return item_end_ps_;
  }
  scheduled_ = false;
  const Time_ps due_ps = timer_ps();
  return due_ps == kNever_ps ? kNever_ps : std::max(due_ps, now_ps + 1);
}

Time_ps TcpConnection::begin_item(Time_ps now_ps) {
  Time_ps work_ps = interrupt_debt_ps_;
  if (ring_head_ != ring_tail_) {
    item_ = Item::kPackets;
    work_ps += take_aggregate();
  } else if (sent_due_) {
    item_ = Item::kSent;
    sent_due_ = false;
    work_ps += cost_.tcp_ack_ps;
  } else if (timer_ps() <= now_ps) {
    item_ = Item::kTimer;
    work_ps += cost_.tcp_ack_ps;
  } else if (work_ps == 0) {
    return now_ps;
  }
  interrupt_debt_ps_ = 0;
  if (tcp_.shares_interrupt && interrupt_busy_ps_ > kBusy_ps) {
    tcp_.shares_interrupt = false;
    interrupt_cpu_ = cpus_.place_interrupt(end_.guest);
  }
  const Time_ps end_ps = cpus_.run(interrupt_cpu_, host::CpuWork::kInterrupt, now_ps, work_ps);
  interrupt_busy_ps_ += work_ps;
  return end_ps;
}

// GRO: packets of the ring that follow each other, equally marked, up to 64 KB. Returns what they cost.
Time_ps TcpConnection::take_aggregate() {
  const auto at = [&](std::uint64_t index) -> const Received& { return ring_[index & (ring_.size() - 1)]; };
  aggregate_ = at(ring_head_++);
  Time_ps cost_ps = cost_.tcp_receive_packet_ps;
  if (aggregate_.payload_B == 0) return cost_ps + cost_.tcp_ack_ps;
  constexpr std::uint8_t kPlain = kTcpAck | kTcpPsh;
  while (ring_head_ != ring_tail_ && (aggregate_.words.flags & ~kPlain) == 0) {
    const Received& next = at(ring_head_);
    if (next.payload_B == 0 || next.marked != aggregate_.marked ||
        next.words.sequence != aggregate_.words.sequence + aggregate_.payload_B ||
        aggregate_.payload_B + next.payload_B > TcpSender::kMostAggregate_B)
      break;
    aggregate_.payload_B += next.payload_B;
    aggregate_.words.flags |= next.words.flags;
    aggregate_.words.acknowledgment = next.words.acknowledgment;
    aggregate_.words.ts_value = next.words.ts_value;
    cost_ps += cost_.tcp_receive_packet_ps;
    ++ring_head_;
  }
  return cost_ps + cost_.tcp_receive_skb_ps;
}

void TcpConnection::end_item(Time_ps now_ps) {
  const Item item = item_;
  item_ = Item::kNone;
  on_work_done(now_ps);
  if (item == Item::kPackets) {
    deliver(aggregate_, now_ps);
  } else if (item == Item::kSent) {
    interrupt_debt_ps_ += push(now_ps);
  } else if (item == Item::kTimer) {
    on_timers(now_ps);
  }
}

bool TcpConnection::gives_up() const {
  const std::uint32_t most = state_ == State::kSynSent ? kSynTries : kSynAckTries;
  return tcp_.gives_up && (handshake_tries_ >= most || fin_tries_ >= kFinTries || sender_.backoff() >= kDataTries);
}

void TcpConnection::die(Death why, Time_ps now_ps) {
  state_ = State::kDead;
  handshake_ps_ = fin_ps_ = kNever_ps;
  on_death(why, now_ps);
}

void TcpConnection::on_timers(Time_ps now_ps) {
  if ((handshake_ps_ <= now_ps || fin_ps_ <= now_ps || sender_.timer_ps() <= now_ps) && gives_up()) {
    die(Death::kTimedOut, now_ps);
    return;
  }
  if (receiver_.timer_ps() <= now_ps) {
    receiver_.on_timer();
    send_ack(now_ps);
  }
  if (handshake_ps_ <= now_ps) send_control(state_ == State::kSynSent ? kTcpSyn : kTcpSyn | kTcpAck, now_ps);
  if (fin_ps_ <= now_ps) send_control(kTcpFin | kTcpAck, now_ps);
  if (sender_.timer_ps() <= now_ps) {
    sender_.on_timer(now_ps);
    interrupt_debt_ps_ += push(now_ps);
  }
}

void TcpConnection::deliver(const Received& received, Time_ps now_ps) {
  const nic::TcpWords& words = received.words;
  peer_ts_ = words.ts_value;
  if ((words.flags & kTcpRst) != 0) {
    if (state_ != State::kDead && state_ != State::kClosed)
      die(state_ == State::kSynSent ? Death::kRefused : Death::kReset, now_ps);
    return;
  }
  if (state_ == State::kDead) {
    send_reset(now_ps);
    return;
  }
  if ((words.flags & kTcpSyn) != 0 || state_ != State::kEstablished) deliver_handshake(words, now_ps);
  if ((words.flags & kTcpSyn) != 0 || state_ != State::kEstablished) return;
  if ((words.flags & kTcpAck) != 0) deliver_ack(words, now_ps);
  const bool last = (words.flags & kTcpFin) != 0;
  const bool probe = received.payload_B == 0 && !last && offset_of(words.sequence) < receiver_.received();
  if (received.payload_B == 0 && !last && !probe) return;
  const bool due =
      receiver_.receive(offset_of(words.sequence), received.payload_B, received.marked, last, now_ps) || last;
  if (receiver_.owes_earlier()) {
    send_ack(now_ps, true);
    interrupt_debt_ps_ += cost_.tcp_ack_ps;
  }
  if (due) {
    send_ack(now_ps);
    interrupt_debt_ps_ += cost_.tcp_ack_ps;
  } else {
    plan_interrupt(now_ps);
  }
  if (receiver_.unread_B() > 0 || receiver_.ended()) on_readable(now_ps);
}

void TcpConnection::deliver_handshake(const nic::TcpWords& words, Time_ps now_ps) {
  const bool syn = (words.flags & kTcpSyn) != 0, ack = (words.flags & kTcpAck) != 0;
  if (syn) {
    peer_isn_ = words.sequence;
    peer_scale_ = static_cast<std::uint8_t>(words.sack[0].end);
    sender_.set_window_end(words.window);  // not scaled in a SYN
  }
  if (syn && !ack && !tcp_.client && state_ != State::kEstablished) {
    const Syn then = state_ == State::kSynReceived ? Syn::kAccept : on_syn(now_ps);
    if (then == Syn::kAccept) answer_syn(now_ps);
    if (then == Syn::kRefuse) send_reset(now_ps);
    return;
  }
  if (!ack || (state_ != State::kSynSent && state_ != State::kSynReceived)) {
    if (syn && ack && state_ == State::kEstablished) send_ack(now_ps);  // ours was lost
    return;
  }
  state_ = State::kEstablished;
  handshake_ps_ = kNever_ps;
  if (syn) send_ack(now_ps);
  on_established(now_ps);
}

void TcpConnection::deliver_ack(const nic::TcpWords& words, Time_ps now_ps) {
  TcpAckEvent event;
  event.acked_to = sent_offset(words.acknowledgment);
  if (fin_sent_ && event.acked_to > sender_.written()) {
    event.acked_to = sender_.written();
    fin_ps_ = kNever_ps;
    fin_acked_ = true;
  }
  event.window_end = event.acked_to + (std::uint64_t{words.window} << peer_scale_);
  std::array<TcpRange, wire::kTcpMostSack> ranges;
  std::size_t count = 0;
  for (std::size_t i = 0; i < words.sack_count; ++i) {
    const TcpRange range{sent_offset(words.sack[i].begin), sent_offset(words.sack[i].end)};
    if (range.end <= event.acked_to) {
      event.duplicate_reported = true;
    } else {
      ranges[count++] = range;
    }
  }
  event.sack = std::span(ranges).first(count);
  event.ece = (words.flags & kTcpEce) != 0;
  event.now_ps = now_ps;
  sender_.on_ack(event);
  if (tcp_.sends) {
    const std::uint64_t cwnd_B = std::uint64_t{sender_.congestion.cwnd} * tcp_.mss_B;
    max_cwnd_B_ = std::max(max_cwnd_B_, cwnd_B);
    if (sender_.srtt_ps() > 0) {
      min_rtt_ps_ = std::min(min_rtt_ps_, sender_.srtt_ps());
      max_rtt_ps_ = std::max(max_rtt_ps_, sender_.srtt_ps());
    }
    interrupt_debt_ps_ += push(now_ps);
    // sk_stream_write_space: a third of the buffer is free.
    if (used_B() + send_buffer_B() / 3 <= send_buffer_B()) on_writable(now_ps);
  }
  plan_interrupt(now_ps);
  if (fin_acked_) on_fin_acked(now_ps);
}

}  // namespace weft::workload
