#include "workload/tcp/congestion.h"

#include <algorithm>

namespace weft::workload {

namespace {

// tcp_cubic.c: C = 0.4 as bic_scale 41 / 1024 with time in 1/1024 s, beta 717 / 1024, growth of a Reno flow 15 / 8.
constexpr std::uint64_t kBicScale = 41, kCubeScale = kBicScale * 10;
constexpr std::uint64_t kCubeFactor = (std::uint64_t{1} << 40) / kCubeScale;
constexpr std::uint32_t kBeta = 717, kBetaUnit = 1024, kFriendlyScale = 15;
constexpr std::uint32_t kMostPer = 20;  // 5 % per round trip before the first loss
constexpr Time_ps kUpdate_ps = kSecond_ps / 32, kJiffy_ps = kMillisecond_ps;
constexpr std::uint64_t kTicks_per_s = 1024;
// HyStart: from 16 segments on; a train of ACKs, or the round trip above its minimum by 4 to 16 ms.
constexpr std::uint32_t kLowWindow = 16, kMinSamples = 8;
constexpr Time_ps kAckDelta_ps = 2 * kMillisecond_ps, kMinDelay_ps = 4 * kMillisecond_ps,
                  kMaxDelay_ps = 16 * kMillisecond_ps;
constexpr std::uint32_t kAlphaUnit = 1024, kGainShift = 4;

std::uint64_t cube_root(std::uint64_t a) {
  std::uint64_t low = 0, high = 1 << 21;
  while (low < high) {
    const std::uint64_t middle = (low + high + 1) / 2;
    if (middle * middle * middle <= a) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

std::uint64_t ticks(Time_ps time_ps) {
  return static_cast<std::uint64_t>(time_ps / kMicrosecond_ps) * kTicks_per_s / 1'000'000;
}

}  // namespace

void TcpCongestion::note_ack(std::uint32_t acked, bool ece, std::uint64_t una, std::uint64_t nxt, Time_ps rtt_ps,
                             Time_ps now_ps) {
  if (algorithm_ == TcpAlgorithm::kDctcp) update_alpha(acked, ece, una, nxt);
  if (rtt_ps <= 0) return;
  if (delay_min_ps_ == 0 || rtt_ps < delay_min_ps_) delay_min_ps_ = rtt_ps;
  if (algorithm_ == TcpAlgorithm::kCubic && !found_ && in_slow_start() && cwnd >= kLowWindow)
    detect_slow_start_end(una, nxt, rtt_ps, now_ps);
}

void TcpCongestion::detect_slow_start_end(std::uint64_t una, std::uint64_t nxt, Time_ps rtt_ps, Time_ps now_ps) {
  if (una > round_end_ || round_end_ == 0) {
    round_end_ = nxt;
    round_start_ps_ = last_ack_ps_ = now_ps;
    round_rtt_ps_ = kNever_ps;
    samples_ = 0;
  }
  if (now_ps - last_ack_ps_ <= kAckDelta_ps) {
    last_ack_ps_ = now_ps;
    // hystart_ack_delay: what GRO may hold back, at most 1 ms; half of it all where nothing paces.
    const Time_ps held_ps = std::min(kMillisecond_ps, 2 * delay_min_ps_);
    if (now_ps - round_start_ps_ > (delay_min_ps_ + held_ps) / 2) found_ = true;
  }
  round_rtt_ps_ = std::min(round_rtt_ps_, rtt_ps);
  if (samples_ < kMinSamples) {
    ++samples_;
  } else if (round_rtt_ps_ > delay_min_ps_ + std::clamp(delay_min_ps_ >> 3, kMinDelay_ps, kMaxDelay_ps)) {
    found_ = true;
  }
  if (found_) ssthresh = cwnd;
}

void TcpCongestion::update_alpha(std::uint32_t acked, bool ece, std::uint64_t una, std::uint64_t nxt) {
  delivered_ += acked;
  if (ece) marked_ += acked;
  if (una < window_end_) return;
  const std::uint32_t drop = std::max(alpha_ >> kGainShift, std::min(alpha_, 1u));
  alpha_ -= drop;
  if (marked_ > 0) alpha_ = std::min(alpha_ + (marked_ << (10 - kGainShift)) / std::max(delivered_, 1u), kAlphaUnit);
  delivered_ = marked_ = 0;
  window_end_ = nxt;
}

void TcpCongestion::grow(std::uint32_t acked, Time_ps now_ps) {
  if (in_slow_start()) {
    const std::uint32_t up = std::min(acked, ssthresh - cwnd);
    cwnd += up;
    acked -= up;
    if (acked == 0) return;
  }
  if (algorithm_ == TcpAlgorithm::kCubic) {
    grow_cubic(acked, now_ps);
  } else {
    add(cwnd, acked);
  }
}

void TcpCongestion::add(std::uint32_t per, std::uint32_t acked) {
  if (grown_ >= per) {
    grown_ = 0;
    ++cwnd;
  }
  grown_ += acked;
  if (grown_ < per) return;
  cwnd += grown_ / per;
  grown_ %= per;
}

void TcpCongestion::grow_cubic(std::uint32_t acked, Time_ps now_ps) {
  acks_ += acked;
  if (last_cwnd_ != cwnd || now_ps - last_ps_ > kUpdate_ps) {
    const bool same_jiffy = epoch_ps_ >= 0 && now_ps / kJiffy_ps == last_ps_ / kJiffy_ps;
    if (!same_jiffy) {
      last_cwnd_ = cwnd;
      last_ps_ = now_ps;
      if (epoch_ps_ < 0) {
        epoch_ps_ = now_ps;
        acks_ = acked;
        friendly_ = cwnd;
        k_ = last_max_ <= cwnd ? 0 : cube_root(kCubeFactor * (last_max_ - cwnd));
        origin_ = std::max(last_max_, cwnd);
      }
      const std::uint64_t t = ticks(now_ps - epoch_ps_ + delay_min_ps_);
      const std::uint64_t offset = std::min<std::uint64_t>(t < k_ ? k_ - t : t - k_, 1 << 16);
      const auto delta = static_cast<std::uint32_t>(kCubeScale * offset * offset * offset >> 40);
      const std::uint32_t target = t < k_ ? origin_ - std::min(delta, origin_) : origin_ + delta;
      per_ = target > cwnd ? cwnd / (target - cwnd) : 100 * cwnd;
      if (last_max_ == 0) per_ = std::min(per_, kMostPer);
    }
    const std::uint32_t delta = std::max(cwnd * kFriendlyScale >> 3, 1u);
    friendly_ += acks_ / delta;
    acks_ %= delta;
    if (friendly_ > cwnd) per_ = std::min(per_, cwnd / (friendly_ - cwnd));
    per_ = std::max(per_, 2u);
  }
  add(std::max(per_, 2u), acked);
}

std::uint32_t TcpCongestion::reduced() {
  constexpr std::uint32_t kLeast = 2;
  if (algorithm_ == TcpAlgorithm::kReno) return std::max(cwnd / 2, kLeast);
  if (algorithm_ == TcpAlgorithm::kDctcp) return std::max(cwnd - (cwnd * alpha_ >> 11), kLeast);
  epoch_ps_ = -1;
  last_max_ = cwnd < last_max_ ? cwnd * (kBetaUnit + kBeta) / (2 * kBetaUnit) : cwnd;
  return std::max(cwnd * kBeta / kBetaUnit, kLeast);
}

// DCTCP halves its window then, as Reno does (RFC 8257 3.5).
std::uint32_t TcpCongestion::reduced_by_loss() {
  return algorithm_ == TcpAlgorithm::kDctcp ? std::max(cwnd / 2, 2u) : reduced();
}

void TcpCongestion::on_timeout() {
  ssthresh = reduced_by_loss();
  cwnd = 1;
  found_ = false;
  round_end_ = 0;
}

}  // namespace weft::workload
