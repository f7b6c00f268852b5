// Swift (Kumar et al., SIGCOMM'20, algorithms 1 and 2): a window that keeps the delay at a target. The delay is the
// whole round trip; the paper's separate window for the delay of the end host is not modelled. A window below one
// packet is one packet, paced so that it leaves once in RTT / cwnd.
#include <algorithm>
#include <cmath>

#include "nic/congestion.h"

namespace weft::nic {
namespace {

// The range of windows over which flow scaling moves the target (Swift section 3.5).
constexpr double kScaleLow = 0.1;
constexpr double kScaleHigh = 100;
constexpr double kLowestWindow = 0.001;  // packets

struct Swift {
  double window = 0;          // packets
  double highest_window = 0;  // more than the line carries in the longest target is never in flight
  double acked = 0;           // packets since the last measured round trip
  Time_ps rtt_ps = 0;
  Time_ps decreased_ps = 0;
  bool decreased = false;
};

double longest_target_ns(const SwiftParameters& p, std::uint32_t hops) {
  return p.base_target_ns + double{1} * hops * p.hop_scale_ns + p.flow_scale_range_ns;
}

Time_ps target_ps(const Swift& s, const SwiftParameters& p, std::uint32_t hops) {
  const double low = 1 / std::sqrt(kScaleLow);
  const double high = 1 / std::sqrt(kScaleHigh);
  const double part = std::clamp((1 / std::sqrt(s.window) - high) / (low - high), 0.0, 1.0);
  const double target_ns = longest_target_ns(p, hops) - (1 - part) * p.flow_scale_range_ns;
  return static_cast<Time_ps>(target_ns * 1e3);
}

double highest_window(const CongestionEnvironment& environment, double target_ns) {
  return std::max(1.0, static_cast<double>(environment.line_rate_bps) / 8e9 * target_ns / environment.mtu_B);
}

void publish(CongestionState& state, Swift& s, const CongestionEnvironment& environment) {
  s.window = std::clamp(s.window, kLowestWindow, s.highest_window);
  state.pace_q16 = 0;
  state.window_B = environment.mtu_B;
  if (s.window >= 1) {
    state.window_B = static_cast<std::uint32_t>(std::min(s.window * environment.mtu_B, 4e9));
  } else {
    state.pace_q16 = static_cast<std::int64_t>(static_cast<double>(s.rtt_ps) * 65536 / (s.window * environment.mtu_B));
  }
}

// At most one decrease per round trip.
void decrease(Swift& s, double factor, Time_ps now_ps) {
  if (s.decreased && now_ps - s.decreased_ps < s.rtt_ps) return;
  s.window *= factor;
  s.decreased = true;
  s.decreased_ps = now_ps;
}

void start(CongestionState& state, const CongestionParameters& parameters, const CongestionEnvironment& environment,
           Time_ps) {
  Swift& s = new_own_state<Swift>(state);
  s.rtt_ps = ns(parameters.swift.base_target_ns);
  s.highest_window = highest_window(environment, longest_target_ns(parameters.swift, 0));
  s.window = highest_window(environment, parameters.swift.base_target_ns);
  publish(state, s, environment);
}

void ack(CongestionState& state, const CongestionParameters& parameters, const CongestionEnvironment& environment,
         const AckSignal& signal) {
  const SwiftParameters& p = parameters.swift;
  Swift& s = own_state<Swift>(state);
  s.acked += static_cast<double>(signal.acked_B) / environment.mtu_B;
  if (!signal.rtt_ps || *signal.rtt_ps <= 0) return;
  s.rtt_ps = *signal.rtt_ps;
  s.highest_window = highest_window(environment, longest_target_ns(p, signal.hops));
  const Time_ps target = target_ps(s, p, signal.hops);
  if (s.rtt_ps < target) {
    s.window += p.ai_permille / 1000.0 * s.acked / std::max(1.0, s.window);
  } else {
    const double excess = static_cast<double>(s.rtt_ps - target) / static_cast<double>(s.rtt_ps);
    decrease(s, 1 - std::min(p.beta_permille / 1000.0 * excess, p.max_mdf_permille / 1000.0), signal.now_ps);
  }
  s.acked = 0;
  publish(state, s, environment);
}

void lost(CongestionState& state, const CongestionParameters& parameters, const CongestionEnvironment& environment,
          Loss, Time_ps now_ps) {
  Swift& s = own_state<Swift>(state);
  decrease(s, 1 - parameters.swift.max_mdf_permille / 1000.0, now_ps);
  publish(state, s, environment);
}

}  // namespace

const CongestionAlgorithm kSwiftAlgorithm = {
    .name = "swift", .wants_rtt = true, .start = start, .settle = no_reaction, .ack = ack, .lost = lost};

}  // namespace weft::nic
