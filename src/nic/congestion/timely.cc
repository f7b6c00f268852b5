// TIMELY (Mittal et al., SIGCOMM'15, algorithm 1): the rate follows the gradient of the round-trip time. One step per
// round trip, as the paper takes one per completion of a segment. Pace only, no window.
#include <algorithm>

#include "nic/congestion.h"
#include "nic/transports/psn.h"

namespace weft::nic {
namespace {

struct Timely {
  double rate_bps = 0;
  double difference_ps = 0;      // smoothed change of the RTT from step to step
  Time_ps previous_rtt_ps = 0;   // 0: none yet
  std::uint32_t falling = 0;     // steps in a row with a gradient of zero or less
  std::uint32_t update_psn = 0;  // the next step is taken when this is acknowledged
};

void publish(CongestionState& state, const Timely& t, const CongestionEnvironment& environment) {
  const auto rate_bps = static_cast<std::int64_t>(t.rate_bps);
  state.pace_q16 = rate_bps < environment.line_rate_bps ? pace_q16_of(rate_bps) : 0;
}

void start(CongestionState& state, const CongestionParameters&, const CongestionEnvironment& environment, Time_ps) {
  Timely& t = new_own_state<Timely>(state);
  t.rate_bps = static_cast<double>(environment.line_rate_bps);
  publish(state, t, environment);
}

void ack(CongestionState& state, const CongestionParameters& parameters, const CongestionEnvironment& environment,
         const AckSignal& signal) {
  if (!signal.rtt_ps) return;
  const TimelyParameters& p = parameters.timely;
  Timely& t = own_state<Timely>(state);
  const Time_ps rtt_ps = *signal.rtt_ps;
  if (t.previous_rtt_ps == 0) {
    t.previous_rtt_ps = rtt_ps;
    t.update_psn = signal.next_psn;
    return;
  }
  if (psn_before(signal.acked_psn, t.update_psn) || signal.acked_psn == t.update_psn) return;
  t.update_psn = signal.next_psn;

  const double smooth = p.ewma_permille / 1000.0;
  const double beta = p.beta_permille / 1000.0;
  t.difference_ps = (1 - smooth) * t.difference_ps + smooth * static_cast<double>(rtt_ps - t.previous_rtt_ps);
  t.previous_rtt_ps = rtt_ps;
  const double gradient = t.difference_ps / (p.min_rtt_ns * 1e3);
  const auto line_bps = static_cast<double>(environment.line_rate_bps);
  const double additive_bps = p.ai_rate_Mbps != 0 ? p.ai_rate_Mbps * 1e6 : line_bps / 1000;  // 10 Mb/s for each 10 Gb/s

  if (rtt_ps < ns(p.t_low_ns)) {
    t.rate_bps += additive_bps;
    t.falling = 0;
  } else if (rtt_ps > ns(p.t_high_ns)) {
    t.rate_bps *= 1 - beta * (1 - static_cast<double>(ns(p.t_high_ns)) / static_cast<double>(rtt_ps));
    t.falling = 0;
  } else if (gradient <= 0) {
    t.falling = std::min(t.falling + 1, p.hai_count);
    t.rate_bps += (t.falling >= p.hai_count ? p.hai_count : 1) * additive_bps;
  } else {
    t.rate_bps *= 1 - beta * gradient;
    t.falling = 0;
  }
  const double lowest_bps = std::clamp(p.min_rate_Mbps * 1e6, 1.0, line_bps);
  t.rate_bps = std::clamp(t.rate_bps, lowest_bps, line_bps);
  publish(state, t, environment);
}

}  // namespace

const CongestionAlgorithm kTimelyAlgorithm = {.name = "timely",
                                              .wants_rtt = true,
                                              .start = start,
                                              .settle = no_reaction,
                                              .ack = ack,
                                              .lost = no_reaction_to_loss};

}  // namespace weft::nic
