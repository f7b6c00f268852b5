#include "workload/tcp/sender.h"

#include <algorithm>

namespace weft::workload {

namespace {

constexpr Time_ps kMinRto_ps = 200 * kMillisecond_ps, kMaxRto_ps = 120 * kSecond_ps, kFirstRto_ps = kSecond_ps;
constexpr Time_ps kMinProbe_ps = 2 * kMillisecond_ps;  // TCP_TIMEOUT_MIN: two jiffies at 1000 Hz
constexpr std::uint32_t kReordering = 3;
constexpr std::uint64_t kOutputLimit_B = 1 << 20;  // tcp_limit_output_bytes

}  // namespace

TcpSender::TcpSender(TcpAlgorithm algorithm, std::uint32_t mss_B) : congestion(algorithm), mss_B_(mss_B), ring_(1024) {}

void TcpSender::reserve(std::uint64_t segments) {
  if (segments <= ring_.size()) return;
  std::vector<Segment> larger(ring_.size() * 2);
  for (std::uint64_t i = first_; i < first_ + out_; ++i) larger[i & (larger.size() - 1)] = at(i);
  ring_ = std::move(larger);
}

void TcpSender::unmark(Segment& segment) {
  if (segment.flags & kSacked) --sacked_;
  if (segment.flags & kLost) --lost_;
  if (segment.flags & kRetrans) --retrans_;
}

// The first segment that begins there or later.
std::uint64_t TcpSender::first_from(std::uint64_t offset) {
  std::uint64_t low = first_, high = first_ + out_;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (at(middle).begin < offset) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

bool TcpSender::may_send_short() const {
  return finished_ || short_ == Short::kAtOnce || (short_ == Short::kNagle && short_end_ <= una_);
}

std::uint32_t TcpSender::take_acked(std::uint64_t acked_to, Time_ps now_ps) {
  std::uint32_t taken = 0;
  Time_ps oldest_ps = 0;
  for (; out_ > 0 && end_of(first_) <= acked_to; ++first_, --out_, ++taken) {
    Segment& segment = at(first_);
    unmark(segment);
    if ((segment.flags & kSacked) == 0) note_delivered(first_, now_ps);
    if ((segment.flags & (kEver | kSacked)) == 0) {
      rtt_ps_ = now_ps - segment.sent_ps;
      if (oldest_ps == 0) oldest_ps = rtt_ps_;
    }
  }
  una_ = std::max(una_, acked_to);
  if (oldest_ps > 0) measure(oldest_ps);
  return taken;
}

std::uint32_t TcpSender::take_sacked(std::span<const TcpRange> sack, Time_ps now_ps) {
  std::uint32_t taken = 0;
  for (const TcpRange& range : sack) {
    for (std::uint64_t i = first_from(range.begin); i < first_ + out_ && end_of(i) <= range.end; ++i) {
      Segment& segment = at(i);
      if (segment.flags & kSacked) continue;
      unmark(segment);
      if ((segment.flags & kEver) == 0) rtt_ps_ = now_ps - segment.sent_ps;
      note_delivered(i, now_ps);
      segment.flags = static_cast<std::uint8_t>((segment.flags & kEver) | kSacked);
      ++sacked_;
      ++taken;
    }
  }
  return taken;
}

// RFC 8985 6.2, step 2: what comes back sooner than any round trip answers the first transmission, not the second.
void TcpSender::note_delivered(std::uint64_t index, Time_ps now_ps) {
  const Segment& segment = at(index);
  const Time_ps took_ps = now_ps - segment.sent_ps;
  if ((segment.flags & kEver) == 0) {
    min_rtt_ps_ = std::min(min_rtt_ps_, took_ps);
  } else if (took_ps < min_rtt_ps_) {
    return;
  }
  // Segments of one aggregate left at one time, in their order.
  if (segment.sent_ps < newest_sent_ps_ || (segment.sent_ps == newest_sent_ps_ && index < newest_index_)) return;
  newest_sent_ps_ = segment.sent_ps;
  newest_index_ = index;
}

// RFC 6298, with the variance at 1/4 and a mean that starts at the first sample.
void TcpSender::measure(Time_ps rtt_ps) {
  if (srtt_ps_ == 0) {
    srtt_ps_ = rtt_ps;
    rttvar_ps_ = rtt_ps / 2;
    return;
  }
  const Time_ps error_ps = rtt_ps - srtt_ps_;
  srtt_ps_ += error_ps / 8;
  rttvar_ps_ += ((error_ps < 0 ? -error_ps : error_ps) - rttvar_ps_) / 4;
}

// Linux adds the minimum to the round trip rather than taking the larger of both.
Time_ps TcpSender::rto_ps() const {
  const Time_ps base_ps = srtt_ps_ == 0 ? kFirstRto_ps : srtt_ps_ + std::max(kMinRto_ps, 4 * rttvar_ps_);
  return std::min(base_ps << std::min(backoff_, 16u), kMaxRto_ps);
}

void TcpSender::arm(Time_ps now_ps) {
  timer_ = Timer::kNone;
  timer_ps_ = kNever_ps;
  if (out_ > 0) {
    timer_ = Timer::kRto;
    timer_ps_ = now_ps + rto_ps();
    if (state_ > State::kCwr || sacked_ > 0 || srtt_ps_ == 0 || probed_) return;
    const Time_ps probe_ps = now_ps + 2 * srtt_ps_ + (out_ == 1 ? kMinRto_ps : kMinProbe_ps);
    if (probe_ps >= timer_ps_) return;
    timer_ = Timer::kProbe;
    timer_ps_ = probe_ps;
  } else if (waits() && window_end_ <= nxt_) {
    timer_ = Timer::kWindow;
    timer_ps_ = now_ps + rto_ps();
  }
}

void TcpSender::on_ack(const TcpAckEvent& ack) {
  if (ack.acked_to > nxt_) return;
  const bool advances = ack.acked_to > una_;
  const bool opens = ack.window_end > window_end_;
  window_end_ = std::max(window_end_, ack.window_end);
  rtt_ps_ = 0;
  const std::uint32_t acked = take_acked(ack.acked_to, ack.now_ps);
  const std::uint32_t sacked = take_sacked(ack.sack, ack.now_ps);
  congestion.note_ack(acked, ack.ece, una_, nxt_, rtt_ps_, ack.now_ps);
  if (advances) {
    backoff_ = 0;
    probed_ = false;
  }
  check_probe(ack);
  if (state_ != State::kOpen && una_ >= high_) {
    if (state_ != State::kLoss) congestion.cwnd = congestion.ssthresh;
    state_ = State::kOpen;
  }
  if (sacked_ > 0 || state_ >= State::kRecovery) find_lost();
  if (lost_ > 0 && state_ <= State::kCwr) enter_recovery();
  if (state_ == State::kOpen && ack.ece && congestion.uses_ecn()) enter_cwr();
  const bool limited = congestion.in_slow_start() ? congestion.cwnd < 2 * most_out_ : window_limited_;
  if (state_ == State::kRecovery) {
    reduce_in_recovery(acked + sacked);
  } else if (state_ != State::kCwr && acked > 0 && limited) {
    congestion.grow(acked, ack.now_ps);
  }
  if (advances || sacked > 0 || opens || out_ == 0) arm(ack.now_ps);
}

// RACK: what was sent before something that has arrived is lost; the first time only with three segments beyond it.
void TcpSender::find_lost() {
  if (state_ < State::kRecovery && sacked_ < kReordering) return;
  for (std::uint64_t i = first_; i < first_ + out_; ++i) {
    Segment& segment = at(i);
    const bool before = segment.sent_ps < newest_sent_ps_ || (segment.sent_ps == newest_sent_ps_ && i < newest_index_);
    if ((segment.flags & kSacked) != 0 || !before) continue;
    if ((segment.flags & (kLost | kRetrans)) == kLost) continue;
    if (segment.flags & kRetrans) --retrans_;
    if ((segment.flags & kLost) == 0) ++lost_;
    segment.flags = static_cast<std::uint8_t>((segment.flags & ~kRetrans) | kLost);
  }
}

void TcpSender::enter_recovery() {
  prior_cwnd_ = congestion.cwnd;
  if (state_ == State::kOpen) congestion.ssthresh = congestion.reduced_by_loss();
  prr_delivered_ = prr_out_ = 0;
  high_ = nxt_;
  state_ = State::kRecovery;
}

void TcpSender::enter_cwr() {
  congestion.ssthresh = congestion.reduced();
  congestion.cwnd = congestion.ssthresh;
  high_ = nxt_;
  state_ = State::kCwr;
}

// Proportional rate reduction: one segment out for so many delivered, down to the threshold.
void TcpSender::reduce_in_recovery(std::uint32_t delivered) {
  prr_delivered_ += delivered;
  const std::uint32_t flight = in_flight();
  std::uint32_t more = 0;
  if (flight > congestion.ssthresh) {
    const std::uint32_t due = (prr_delivered_ * congestion.ssthresh + prior_cwnd_ - 1) / std::max(prior_cwnd_, 1u);
    more = due > prr_out_ ? due - prr_out_ : 0;
  } else {
    const std::uint32_t owed = prr_delivered_ > prr_out_ ? prr_delivered_ - prr_out_ : 0;
    more = std::min(congestion.ssthresh - flight, std::max(owed, delivered) + 1);
  }
  if (prr_out_ == 0) more = std::max(more, 1u);
  congestion.cwnd = std::max(flight + more, 1u);
}

// A tail loss probe that repaired a loss counts as one; one whose copy the peer reports does not.
void TcpSender::check_probe(const TcpAckEvent& ack) {
  if (probe_high_ == 0) return;
  if (ack.duplicate_reported) {
    probe_high_ = 0;
  } else if (ack.acked_to > probe_high_) {
    probe_high_ = 0;
    if (state_ == State::kOpen) enter_cwr();
  }
}

void TcpSender::on_timer(Time_ps now_ps) {
  if (timer_ps_ > now_ps) return;
  const Timer timer = timer_;
  timer_ = Timer::kNone;
  timer_ps_ = kNever_ps;
  if (timer == Timer::kProbe) {
    probe_due_ = probed_ = true;
  } else if (timer == Timer::kWindow) {
    window_probe_due_ = true;
    ++backoff_;
  } else if (timer == Timer::kRto && out_ > 0) {
    ++timeouts_;
    for (std::uint64_t i = first_; i < first_ + out_; ++i) {
      Segment& segment = at(i);
      if (segment.flags & kSacked) continue;
      if (segment.flags & kRetrans) --retrans_;
      if ((segment.flags & kLost) == 0) ++lost_;
      segment.flags = static_cast<std::uint8_t>((segment.flags & ~kRetrans) | kLost);
    }
    if (state_ != State::kLoss) congestion.on_timeout();
    congestion.cwnd = 1;
    state_ = State::kLoss;
    high_ = nxt_;
    ++backoff_;
  }
  arm(now_ps);
}

// tcp_cwnd_validate: whether the window was the limit at any time since what was sent then.
void TcpSender::note_use(bool full) {
  if (una_ < use_end_ && !full && (window_limited_ || out_ <= most_out_)) return;
  window_limited_ = full;
  most_out_ = out_;
  use_end_ = nxt_;
}

std::optional<TcpPiece> TcpSender::next(std::uint64_t queued_B, Time_ps now_ps) {
  // Program and interrupt both send, and one's pieces may leave while the other is at work: they leave in this order.
  now_ps = latest_ps_ = std::max(latest_ps_, now_ps);
  if (window_probe_due_) {
    window_probe_due_ = false;
    return TcpPiece{una_, 0, false, false};
  }
  if (probe_due_) {
    probe_due_ = false;
    // New data where the window allows it, else the last segment once more.
    if (auto piece = next_new(1, now_ps)) return piece;
    if (out_ > 0) {
      const std::uint64_t index = first_ + out_ - 1;
      const std::uint64_t begin = at(index).begin, end = nxt_;
      at(index).flags = static_cast<std::uint8_t>(at(index).flags | kEver);
      probe_high_ = nxt_;
      ++retransmits_;
      return TcpPiece{begin, static_cast<std::uint32_t>(end - begin), true, finished_ && end == written_};
    }
  }
  const std::uint32_t flight = in_flight();
  note_use(flight >= congestion.cwnd);
  if (flight >= congestion.cwnd) return std::nullopt;
  // TCP small queues.
  const std::uint64_t rate_1ms_B =
      srtt_ps_ == 0 ? 0
                    : 2 * std::uint64_t{congestion.cwnd} * mss_B_ * kMillisecond_ps / std::max<Time_ps>(srtt_ps_, 1);
  if (queued_B >= std::clamp<std::uint64_t>(rate_1ms_B, 2 * kMostAggregate_B, kOutputLimit_B)) return std::nullopt;
  const std::uint32_t room = congestion.cwnd - flight;
  if (lost_ > retrans_) {
    if (auto piece = next_lost(room, now_ps)) return piece;
  }
  return next_new(room, now_ps);
}

std::optional<TcpPiece> TcpSender::next_lost(std::uint32_t room, Time_ps now_ps) {
  std::uint64_t begin = first_;
  const std::uint64_t end = first_ + out_;
  const auto due = [&](std::uint64_t i) { return (at(i).flags & (kLost | kRetrans)) == kLost; };
  while (begin < end && !due(begin)) ++begin;
  std::uint64_t stop = begin;
  while (stop < end && stop - begin < std::min(room, kMostAggregate_B / mss_B_) && due(stop)) {
    at(stop).flags = static_cast<std::uint8_t>(at(stop).flags | kRetrans | kEver);
    at(stop).sent_ps = now_ps;
    ++retrans_;
    ++stop;
  }
  if (stop == begin) return std::nullopt;
  const auto segments = static_cast<std::uint32_t>(stop - begin);
  retransmits_ += segments;
  prr_out_ += segments;
  const std::uint64_t from = at(begin).begin, to = end_of(stop - 1);
  if (timer_ == Timer::kNone) arm(now_ps);
  return TcpPiece{from, static_cast<std::uint32_t>(to - from), true, finished_ && to == written_};
}

std::optional<TcpPiece> TcpSender::next_new(std::uint32_t room, Time_ps now_ps) {
  const std::uint64_t data_B = written_ - nxt_;
  const std::uint64_t window_B = window_end_ > nxt_ ? window_end_ - nxt_ : 0;
  const std::uint32_t most = kMostAggregate_B / mss_B_;
  std::uint64_t segments = std::min<std::uint64_t>({data_B / mss_B_, window_B / mss_B_, room, most});
  // What is left is shorter than a segment.
  bool tail = segments == data_B / mss_B_ && data_B % mss_B_ != 0 && may_send_short() && segments < room &&
              segments < most && window_B >= data_B;
  std::uint64_t tail_B = tail ? data_B % mss_B_ : 0;
  // A window that never has room for a segment must not stop the stream.
  if (segments == 0 && !tail && out_ == 0 && short_ != Short::kNever && window_B > 0 && window_B < data_B) {
    tail = true;
    tail_B = window_B;
  }
  if (data_B == 0 || (segments == 0 && !tail)) {
    if (out_ == 0 && data_B > 0 && timer_ == Timer::kNone) arm(now_ps);
    return std::nullopt;
  }
  // tcp_tso_should_defer: a third of the window is worth waiting for, while ACKs are due.
  const std::uint64_t able = std::min<std::uint64_t>(room, window_B / mss_B_);
  if (segments < most && able < data_B / mss_B_ && out_ > 0 && able * 3 < std::min(congestion.cwnd, most * 3) &&
      room > 1) {
    if (room < window_B / mss_B_) note_use(true);
    return std::nullopt;
  }
  const std::uint64_t size_B = std::min<std::uint64_t>(segments * mss_B_ + tail_B, data_B);
  const TcpPiece piece{nxt_, static_cast<std::uint32_t>(size_B), false, finished_ && nxt_ + size_B == written_};
  const std::uint32_t count = static_cast<std::uint32_t>(segments) + (tail ? 1 : 0);
  for (std::uint32_t i = 0; i < count; ++i) {
    reserve(std::uint64_t{out_} + 1);
    at(first_ + out_) = {now_ps, nxt_ + std::uint64_t{i} * mss_B_, 0};
    ++out_;
  }
  prr_out_ += count;
  nxt_ += size_B;
  if (tail) short_end_ = nxt_;
  note_use(in_flight() >= congestion.cwnd);
  arm(now_ps);
  return piece;
}

}  // namespace weft::workload
