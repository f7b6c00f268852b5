#include "fabric/qdisc.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "fabric/ecn_marker.h"

namespace weft::fabric {

std::int64_t red_default_burst(const QdiscConfig& red) {
  return (2 * red.min_B + red.max_B) / (3 * red.avpkt_B);
}

int red_weight_exponent(const QdiscConfig& red) {
  const double burst = static_cast<double>(red.burst);
  const double after_min = burst + 1 - static_cast<double>(red.min_B) / static_cast<double>(red.avpkt_B);
  if (after_min < 1) return -1;
  double weight = 0.5;
  for (int exponent = 1; exponent < 32; ++exponent, weight /= 2) {
    if (after_min <= (1 - std::pow(1 - weight, burst)) / weight) return exponent;
  }
  return -1;
}

Qdisc::Qdisc(const QdiscConfig& config, RandomStream random) : config_(config), random_(random) {
  if (config_.kind != QdiscKind::kRed) return;
  weight_ = static_cast<std::uint32_t>(std::max(red_weight_exponent(config_), 1));
  spread_ = static_cast<std::uint64_t>(config_.max_B - config_.min_B) * 1'000'000'000ULL / config_.probability_ppb;
  packet_time_ps_ = std::max<Time_ps>(1, static_cast<Time_ps>(static_cast<double>(config_.avpkt_B) * 8e12 /
                                                              static_cast<double>(config_.bandwidth_bps)));
}

// An idle queue counts as so many empty packets.
Qdisc::Action Qdisc::red(Time_ps now_ps) {
  if (idle_since_ps_ != kNever_ps) {
    WEFT_CHECK(now_ps >= idle_since_ps_ && packets_.empty(), "an idle qdisc is empty");
    constexpr Time_ps kMost = 1 << 20;
    for (Time_ps left = std::min((now_ps - idle_since_ps_) / packet_time_ps_, kMost); left > 0 && average_ > 0; --left)
      average_ -= (average_ >> weight_) + 1;
  } else {
    average_ += counters_.backlog_B - (average_ >> weight_);
  }
  const auto average_B = static_cast<std::int64_t>(average_ >> weight_);
  if (average_B < config_.min_B) {
    count_ = -1;
    return Action::kPass;
  }
  if (average_B >= config_.max_B) {
    count_ = -1;
    return Action::kForce;
  }
  if (++count_ > 0) {
    if (static_cast<std::uint64_t>(average_B - config_.min_B) * static_cast<std::uint64_t>(count_) < threshold_)
      return Action::kPass;
    count_ = 0;
    threshold_ = random_.below(spread_);
    return Action::kMark;
  }
  threshold_ = random_.below(spread_);
  return Action::kPass;
}

Qdisc::Verdict Qdisc::enqueue(engine::PacketBody& packet, std::uint32_t in, std::uint32_t length_B, Time_ps now_ps) {
  if (config_.kind == QdiscKind::kRed) {
    if (red(now_ps) != Action::kPass) {
      ++counters_.overlimits;
      if (!config_.ecn || (packet.tos & kEcnMask) == 0) {
        ++counters_.early;
        ++counters_.dropped;
        return Verdict::kEarlyDrop;
      }
      ++counters_.marked;
      packet.tos |= kEcnCe;
    }
    if (counters_.backlog_B + length_B > static_cast<std::uint64_t>(config_.limit)) {
      ++counters_.pdrop;
      ++counters_.dropped;
      return Verdict::kOverLimit;
    }
  } else if (counters_.backlog_packets >= static_cast<std::uint64_t>(config_.limit)) {
    ++counters_.dropped;
    return Verdict::kOverLimit;
  }
  idle_since_ps_ = kNever_ps;
  WEFT_CHECK(counters_.backlog_packets == packets_.size(), "the backlog of a qdisc is that of its packets");
  if (packets_.empty()) {
    packets_.push_first(packet, in);
  } else {
    packets_.push(packet, in);
  }
  ++counters_.backlog_packets;
  counters_.backlog_B += length_B;
  counters_.max_backlog_B = std::max(counters_.max_backlog_B, counters_.backlog_B);
  return Verdict::kQueued;
}

void Qdisc::pop(std::uint32_t length_B, Time_ps now_ps) {
  WEFT_CHECK(counters_.backlog_packets > 0 && counters_.backlog_B >= length_B, "a qdisc has what leaves it");
  packets_.pop();
  --counters_.backlog_packets;
  counters_.backlog_B -= length_B;
  ++counters_.sent_packets;
  counters_.sent_B += length_B;
  WEFT_CHECK(counters_.backlog_packets == packets_.size() && (!packets_.empty() || counters_.backlog_B == 0),
             "the backlog of a qdisc is that of its packets");
  if (packets_.empty()) idle_since_ps_ = now_ps;
}

}  // namespace weft::fabric
