#include "workload/tcp/receiver.h"

#include <algorithm>

namespace weft::workload {

namespace {

constexpr Time_ps kRound_ps = ms(1);

}  // namespace

TcpReceiver::TcpReceiver(std::uint32_t mss_B, std::uint64_t window_B, bool echoes_each_mark)
    : mss_B_(mss_B),
      sized_(window_B != 0),
      echoes_each_mark_(echoes_each_mark),
      window_B_(window_B != 0 ? window_B : kFirstWindow_B),
      advertised_end_(window_B_),
      advertised_B_(window_B_),
      space_B_(std::uint64_t{10} * mss_B) {}

void TcpReceiver::set_window(std::uint64_t window_B) {
  sized_ = true;
  window_B_ = advertised_end_ = advertised_B_ = window_B;
}

std::uint64_t TcpReceiver::free_B() const {
  return window_B_ > unread_B() ? window_B_ - unread_B() : 0;
}

void TcpReceiver::add_beyond(TcpRange range) {
  for (auto each = beyond_.begin(); each != beyond_.end();) {
    if (each->begin > range.end || each->end < range.begin) {
      ++each;
      continue;
    }
    range = {std::min(range.begin, each->begin), std::max(range.end, each->end)};
    each = beyond_.erase(each);
  }
  beyond_.insert(beyond_.begin(), range);
}

void TcpReceiver::join() {
  for (bool again = true; again;) {
    again = false;
    for (auto each = beyond_.begin(); each != beyond_.end(); ++each) {
      if (each->begin > next_) continue;
      next_ = std::max(next_, each->end);
      beyond_.erase(each);
      again = true;
      break;
    }
  }
}

bool TcpReceiver::receive(std::uint64_t offset, std::uint64_t size_B, bool marked, bool last, Time_ps now_ps) {
  if (last) {
    has_end_ = true;
    end_ = offset + size_B;
  }
  if (size_B == 0) return true;  // a probe, or a bare FIN
  received_ps_ = now_ps;
  owes_earlier_ = echoes_each_mark_ && marked != marked_ && next_ > acked_;
  before_ = next_;
  earlier_marked_ = marked_;
  marked_ = marked;
  const std::uint64_t end = offset + size_B;
  if (end <= next_) {
    duplicate_ = {offset, end};
    return true;
  }
  if (offset > next_) {
    add_beyond({offset, end});
    return true;
  }
  next_ = end;
  if (size_B % mss_B_ != 0) ++short_;
  if (!beyond_.empty()) {
    join();
    return true;
  }
  // __tcp_ack_snd_check: more than a segment, and the program keeps up; else whoever reads sends it, or the timer.
  if (last || (next_ - acked_ > mss_B_ && free_B() >= advertised_B_)) return true;
  if (quick_left_ > 0 && !answers_) return true;
  if (timer_ps_ == kNever_ps) timer_ps_ = now_ps + kDelayedAck_ps;
  return owes_earlier_;
}

bool TcpReceiver::read(std::uint64_t size_B, Time_ps now_ps) {
  read_ += size_B;
  if (!sized_ && now_ps - round_ps_ >= kRound_ps) {
    const std::uint64_t copied_B = read_ - round_read_;
    if (copied_B > space_B_) {
      // tcp_rcv_space_adjust.
      std::uint64_t wanted_B = 2 * copied_B + std::uint64_t{16} * mss_B_;
      const std::uint64_t grow_B = wanted_B * (copied_B - space_B_) / space_B_;
      wanted_B += 2 * grow_B;
      window_B_ = std::clamp(wanted_B, window_B_, kMostWindow_B);
      space_B_ = copied_B;
    }
    round_ps_ = now_ps;
    round_read_ = read_;
  }
  // tcp_cleanup_rbuf: an ACK is owed for more than a segment, or the window at least doubles.
  const std::uint64_t offered_B = advertised_end_ > next_ ? advertised_end_ - next_ : 0;
  const bool doubles = 2 * offered_B <= window_B_ && free_B() >= 2 * offered_B && free_B() >= mss_B_;
  if ((timer_ps_ != kNever_ps && next_ - acked_ > mss_B_) || doubles) return true;
  // ICSK_ACK_PUSHED.
  return interactive_ && next_ > acked_ && unread_B() == 0 && (short_ > 1 || (short_ == 1 && !answers_));
}

TcpReceiver::Ack TcpReceiver::take_ack(bool earlier) {
  Ack ack;
  ack.to = earlier ? before_ : next_;
  ack.ece = earlier ? earlier_marked_ : marked_;
  owes_earlier_ = false;
  if (!earlier) {
    if (duplicate_.end > 0) ack.sack[ack.sack_count++] = duplicate_;
    duplicate_ = {};
    for (const TcpRange& range : beyond_) {
      if (ack.sack_count == ack.sack.size()) break;
      ack.sack[ack.sack_count++] = range;
    }
    timer_ps_ = kNever_ps;
  }
  if (quick_left_ > 0 && ack.to > acked_) --quick_left_;
  if (!earlier) short_ = 0;
  acked_ = ack.to;
  // A window never shrinks (RFC 9293 3.8.6).
  advertised_end_ = std::max(advertised_end_, next_ + free_B());
  advertised_B_ = free_B();
  ack.window_B = advertised_end_ - ack.to;
  return ack;
}

}  // namespace weft::workload
