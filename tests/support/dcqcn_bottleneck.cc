#include "support/dcqcn_bottleneck.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <queue>
#include <vector>

#include "base/random.h"

namespace weft::support {
namespace {

class Bottleneck {
 public:
  Bottleneck(const DcqcnLink& link, const nic::DcqcnParameters& dcqcn, const BottleneckRun& run)
      : link_(link), run_(run), random_(run.seed, 0, RandomPurpose::kTest), senders_(run.flows) {
    parameters_.kind = nic::CongestionKind::kDcqcn;
    parameters_.dcqcn = dcqcn;
    environment_ = {static_cast<std::int64_t>(link.capacity_bps), static_cast<std::uint32_t>(link.packet_B)};
    byte_ps_ = ps_per_byte(environment_.line_rate_bps);
    for (int i = 0; i < run.flows; ++i) {
      algorithm_.start(senders_[i].state, parameters_, environment_, 0);
      // One after the other: the queue has no end, and all at once would fill it for longer than a CNP can be late.
      sends_.push({ms(2) * i + static_cast<Time_ps>(random_.below(us(10))), i});
    }
  }

  BottleneckResult run() {
    const Time_ps end_ps = run_.settle_ps + run_.measure_ps;
    for (;;) {
      const Time_ps send_ps = sends_.top().at_ps;
      const Time_ps cnp_ps = cnps_.empty() ? kNever_ps : cnps_.top().at_ps;
      const Time_ps leave_ps = queue_.empty() ? kNever_ps : queue_.front().at_ps;
      if (std::min({send_ps, cnp_ps, leave_ps}) > end_ps) break;
      if (cnp_ps <= std::min(send_ps, leave_ps)) {
        take_cnp();
      } else if (leave_ps <= send_ps) {
        leave();
      } else {
        send();
      }
    }
    return result();
  }

 private:
  static constexpr Time_ps kForward_ps = us(2);
  static constexpr Time_ps kBack_ps = us(2);

  struct Event {
    Time_ps at_ps;
    int flow;
    bool operator<(const Event& other) const { return at_ps > other.at_ps; }
  };
  struct Sender {
    nic::CongestionState state;
    Time_ps last_cnp_ps = -kSecond_ps;  // of its notification point
    std::int64_t sent_B = 0;
  };

  bool measuring(Time_ps now_ps) const { return now_ps > run_.settle_ps; }
  double backlog_B(Time_ps now_ps) const {
    return static_cast<double>(std::max<Time_ps>(0, busy_until_ps_ - now_ps)) / static_cast<double>(byte_ps_);
  }

  // The area under the queue since the last arrival: it falls by the line rate.
  void integrate(Time_ps now_ps) {
    if (measuring(last_ps_)) {
      const double before_B = backlog_B(last_ps_);
      const double after_B = backlog_B(now_ps);
      const double byte_ps = static_cast<double>(byte_ps_);
      area_ += (before_B * before_B - after_B * after_B) / 2 * byte_ps;
      square_ += (before_B * before_B * before_B - after_B * after_B * after_B) / 3 * byte_ps;
      const double kmax_B = link_.kmax_B;
      beyond_ += std::max(0.0, before_B - std::max(after_B, kmax_B)) * byte_ps;
    }
    last_ps_ = now_ps;
  }

  void send() {
    const auto [now_ps, flow] = sends_.top();
    sends_.pop();
    Sender& sender = senders_[flow];
    nic::CongestionState& state = sender.state;
    if (now_ps >= state.until_ps || state.until_bytes_B <= 0) {
      algorithm_.settle(state, parameters_, environment_, now_ps);
    }
    const auto packet_B = static_cast<std::int64_t>(link_.packet_B);
    integrate(now_ps);
    const Time_ps start_ps = std::max(busy_until_ps_, now_ps);
    const Time_ps gone_ps = start_ps + packet_B * byte_ps_;
    if (run_.mark_at_enqueue) {
      mark(flow, backlog_B(now_ps), now_ps, gone_ps);
    } else {
      queue_.push_back({start_ps, flow});
    }
    busy_until_ps_ = gone_ps;
    if (measuring(now_ps)) sender.sent_B += packet_B;
    state.until_bytes_B -= packet_B;
    const Time_ps gap_ps = state.pace_q16 == 0 ? packet_B * byte_ps_ : (packet_B * state.pace_q16) >> 16;
    sends_.push({now_ps + gap_ps, flow});
  }

  void leave() {
    const auto [now_ps, flow] = queue_.front();
    queue_.pop_front();
    mark(flow, backlog_B(now_ps), now_ps, now_ps + static_cast<Time_ps>(link_.packet_B) * byte_ps_);
  }

  void mark(int flow, double queue_B, Time_ps now_ps, Time_ps gone_ps) {
    double p = 0;
    if (queue_B > link_.kmin_B) p = (queue_B - link_.kmin_B) / (link_.kmax_B - link_.kmin_B) * link_.pmax;
    if (queue_B > link_.kmax_B) p = 1;
    if (measuring(now_ps)) {
      marked_ += p;
      ++packets_;
    }
    if (!random_.chance_ppb(static_cast<std::uint64_t>(p * 1e9))) return;
    const Time_ps arrived_ps = gone_ps + kForward_ps;
    Sender& sender = senders_[flow];
    if (static_cast<double>(arrived_ps - sender.last_cnp_ps) < link_.cnp_interval_s * 1e12) return;
    sender.last_cnp_ps = arrived_ps;
    cnps_.push({arrived_ps + kBack_ps, flow});
  }

  void take_cnp() {
    const auto [now_ps, flow] = cnps_.top();
    cnps_.pop();
    algorithm_.cnp(senders_[flow].state, parameters_, environment_, now_ps);
    if (measuring(now_ps)) ++cnp_count_;
  }

  BottleneckResult result() const {
    const auto measured_ps = static_cast<double>(run_.measure_ps);
    BottleneckResult r;
    r.queue_B = area_ / measured_ps;
    r.deviation_B = std::sqrt(std::max(0.0, square_ / measured_ps - r.queue_B * r.queue_B));
    r.beyond_kmax = beyond_ / measured_ps;
    r.marked = marked_ / static_cast<double>(packets_);
    r.cnp_per_s = static_cast<double>(cnp_count_) / (measured_ps * 1e-12) / run_.flows;
    r.lowest_bps = 1e18;
    for (const Sender& sender : senders_) {
      const double rate_bps = static_cast<double>(sender.sent_B) * 8e12 / measured_ps;
      r.total_bps += rate_bps;
      r.lowest_bps = std::min(r.lowest_bps, rate_bps);
      r.highest_bps = std::max(r.highest_bps, rate_bps);
    }
    return r;
  }

  DcqcnLink link_;
  BottleneckRun run_;
  RandomStream random_;
  std::vector<Sender> senders_;
  nic::CongestionParameters parameters_;
  nic::CongestionEnvironment environment_;
  const nic::CongestionAlgorithm& algorithm_ = *nic::congestion_algorithm(nic::CongestionKind::kDcqcn);
  Time_ps byte_ps_ = 0;
  std::priority_queue<Event> sends_;
  std::priority_queue<Event> cnps_;
  std::deque<Event> queue_;  // when each packet's first bit leaves
  Time_ps busy_until_ps_ = 0;
  Time_ps last_ps_ = 0;
  double area_ = 0;
  double square_ = 0;
  double beyond_ = 0;
  double marked_ = 0;
  std::int64_t packets_ = 0;
  std::int64_t cnp_count_ = 0;
};

}  // namespace

BottleneckResult run_bottleneck(const DcqcnLink& link, const nic::DcqcnParameters& dcqcn, const BottleneckRun& run) {
  return Bottleneck(link, dcqcn, run).run();
}

}  // namespace weft::support
