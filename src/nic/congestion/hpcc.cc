// HPCC (Li et al., SIGCOMM'19, algorithm 1): switches write their queue and what they have sent into each packet, the
// receiver echoes it, and the sender computes how full the fullest link of its path is. Window and pace come from one
// number, pace = window / base RTT. Reacts to every ACK from a reference window that moves once per round trip.
#include <algorithm>

#include "nic/congestion.h"
#include "nic/transports/psn.h"

namespace weft::nic {
namespace {

struct Link {
  std::uint64_t tx_B = 0;
  Time_ps left_ps = 0;
  std::uint32_t queue_B = 0;
  std::uint32_t node = 0;
};

struct Hpcc {
  double window_B = 0;
  double reference_B = 0;        // W^c
  double utilisation = 1;        // U, of the fullest link, smoothed over a base RTT
  std::uint32_t update_psn = 0;  // the reference moves when this is acknowledged
  std::uint32_t stage = 0;       // additive steps since the last multiplicative one
  std::uint32_t hops = 0;        // records in `links`; 0: none yet
  std::array<Link, engine::Telemetry::kMaxHops> links{};
};

double full_window_B(const CongestionParameters& parameters, const CongestionEnvironment& environment) {
  return static_cast<double>(environment.line_rate_bps) / 8e9 * parameters.hpcc.base_rtt_ns;
}

double additive_bps(const CongestionParameters& parameters, const CongestionEnvironment& environment) {
  if (parameters.hpcc.ai_rate_Mbps != 0) return parameters.hpcc.ai_rate_Mbps * 1e6;
  return static_cast<double>(environment.line_rate_bps) / 2500;  // 10 Mb/s for each 25 Gb/s
}

void publish(CongestionState& state, const Hpcc& h, const CongestionParameters& parameters,
             const CongestionEnvironment& environment) {
  const double rate_bps = h.window_B * 8e9 / parameters.hpcc.base_rtt_ns;
  state.pace_q16 = rate_bps < static_cast<double>(environment.line_rate_bps)
                       ? pace_q16_of(std::max<std::int64_t>(1, static_cast<std::int64_t>(rate_bps)))
                       : 0;
  // Less than a packet would never be sent; below that the pace alone holds the flow back.
  state.window_B = std::max(environment.mtu_B, static_cast<std::uint32_t>(std::min(h.window_B, 4e9)));
}

bool same_path(const Hpcc& h, const engine::Telemetry& telemetry) {
  if (h.hops != telemetry.count) return false;
  for (std::uint32_t i = 0; i < h.hops; ++i) {
    if (h.links[i].node != telemetry.hops[i].node) return false;
  }
  return true;
}

void remember(Hpcc& h, const engine::Telemetry& telemetry) {
  h.hops = telemetry.count;
  for (std::uint32_t i = 0; i < h.hops; ++i) {
    const engine::HopRecord& hop = telemetry.hops[i];
    h.links[i] = {hop.tx_B, hop.left_ps, hop.queue_B, hop.node};
  }
}

// MeasureInflight: u of a link is what it sent plus what waits for it, both in parts of what it can carry in a base
// RTT.
void measure(Hpcc& h, const engine::Telemetry& telemetry, double base_rtt_ps) {
  double fullest = 0;
  double elapsed_ps = 0;
  for (std::uint32_t i = 0; i < h.hops; ++i) {
    const engine::HopRecord& hop = telemetry.hops[i];
    const Link& before = h.links[i];
    if (hop.left_ps <= before.left_ps || hop.rate_Mbps == 0) continue;  // echoed out of order
    const auto interval_ps = static_cast<double>(hop.left_ps - before.left_ps);
    const double link_B_per_ps = hop.rate_Mbps / 8e6;
    const double sent = static_cast<double>(hop.tx_B - before.tx_B) / (interval_ps * link_B_per_ps);
    const double waiting = std::min(hop.queue_B, before.queue_B) / (base_rtt_ps * link_B_per_ps);
    if (sent + waiting > fullest) {
      fullest = sent + waiting;
      elapsed_ps = interval_ps;
    }
  }
  const double weight = std::min(elapsed_ps, base_rtt_ps) / base_rtt_ps;
  h.utilisation = (1 - weight) * h.utilisation + weight * fullest;
}

void start(CongestionState& state, const CongestionParameters& parameters, const CongestionEnvironment& environment,
           Time_ps) {
  Hpcc& h = new_own_state<Hpcc>(state);
  h.window_B = h.reference_B = full_window_B(parameters, environment);
  publish(state, h, parameters, environment);
}

void ack(CongestionState& state, const CongestionParameters& parameters, const CongestionEnvironment& environment,
         const AckSignal& signal) {
  if (signal.telemetry == nullptr || signal.telemetry->count == 0) return;
  Hpcc& h = own_state<Hpcc>(state);
  if (!same_path(h, *signal.telemetry)) {
    // The first record of a path is only something to compare with.
    remember(h, *signal.telemetry);
    h.update_psn = signal.next_psn;
    return;
  }
  const double base_rtt_ps = parameters.hpcc.base_rtt_ns * 1e3;
  measure(h, *signal.telemetry, base_rtt_ps);
  remember(h, *signal.telemetry);

  const bool round_trip = !psn_before(signal.acked_psn, h.update_psn) && signal.acked_psn != h.update_psn;
  const double eta = parameters.hpcc.eta_permille / 1000.0;
  const double additive_B = additive_bps(parameters, environment) / 8e12 * base_rtt_ps;
  const bool multiply = h.utilisation >= eta || h.stage >= parameters.hpcc.max_stage;
  const double wanted_B = (multiply ? h.reference_B / (h.utilisation / eta) : h.reference_B) + additive_B;
  h.window_B = std::clamp(wanted_B, additive_B, full_window_B(parameters, environment));
  if (round_trip) {
    h.stage = multiply ? 0 : h.stage + 1;
    h.reference_B = h.window_B;
    h.update_psn = signal.next_psn;
  }
  publish(state, h, parameters, environment);
}

}  // namespace

const CongestionAlgorithm kHpccAlgorithm = {.name = "hpcc",
                                            .wants_telemetry = true,
                                            .start = start,
                                            .settle = no_reaction,
                                            .ack = ack,
                                            .lost = no_reaction_to_loss};

}  // namespace weft::nic
