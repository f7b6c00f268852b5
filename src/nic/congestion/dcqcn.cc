// DCQCN's reaction point (Zhu et al., SIGCOMM'15, section 3; stages as in 802.1Qau 30.3), with the parameters and,
// unless `alpha_rises_at_cnp` is set, the timers of mlx5. Rates are whole b/s, so that the frequency of updates does
// not change them. Nothing here runs by itself: bytes, the increase timer, the cut that a CNP asked for and alpha
// are brought up to date when a packet is about to leave or a CNP comes. docs/mechanisms/dcqcn.md has the maths.
#include <algorithm>

#include "nic/congestion.h"

namespace weft::nic {
namespace {

constexpr std::int64_t kMega = 1'000'000;
// A counter of increase events stops here: far beyond any threshold, and a bound for the loop below.
constexpr std::uint32_t kStageCap = 255;

struct Dcqcn {
  std::int64_t current_bps = 0;  // RC
  std::int64_t target_bps = 0;   // RT
  double alpha = 0;
  Time_ps alpha_at_ps = 0;       // alpha is right up to here: a tick of its timer, or the CNP that restarted it
  Time_ps monitor_at_ps = 0;     // a tick of the rate-reduce monitor
  Time_ps cut_ps = kNever_ps;    // the tick at which a CNP's cut is due
  Time_ps timer_ps = kNever_ps;  // next expiry of the increase timer
  std::int64_t budget_B = 0;     // what `until_bytes_B` was when bytes were last counted
  std::uint32_t timer_stage = 0;
  std::uint32_t byte_stage = 0;
  bool limited = false;  // below the maximum rate, with counters running
  bool seen_cnp = false;
  bool alpha_cnp = false;  // a CNP came in this period of alpha
  bool lost = false;       // the cut that is due is for a loss
  bool slow = false;       // slow restart: a loss has cut it, and it is not back at the maximum
  Time_ps last_cut_ps = -1;
  bool first_cut = false;  // the last cut was for the first CNP
};

// The fixed facts of one queue pair's control, read from parameters and environment.
struct Setting {
  const DcqcnParameters& p;
  std::int64_t max_bps;
  std::int64_t min_bps;
  Time_ps timer_period_ps;
  std::int64_t byte_period_B;

  Setting(const CongestionParameters& parameters, const CongestionEnvironment& environment)
      : p(parameters.dcqcn),
        max_bps(p.rpg_max_rate_Mbps == 0 ? environment.line_rate_bps
                                         : std::min(environment.line_rate_bps, p.rpg_max_rate_Mbps * kMega)),
        min_bps(std::clamp<std::int64_t>(p.rpg_min_rate_Mbps * kMega, 1, max_bps)),
        timer_period_ps(us(p.rpg_time_reset_us)),
        byte_period_B(std::int64_t{p.rpg_byte_reset_64B} * 64) {}
};

double power(double base, std::int64_t n) {
  double result = 1;
  for (; n > 0 && result > 0; n >>= 1) {
    if ((n & 1) != 0) result *= base;
    base *= base;
  }
  return result;
}

void settle_alpha(Dcqcn& d, const Setting& s, Time_ps now_ps) {
  if (s.p.dce_tcp_rtt_us == 0) return;
  const Time_ps period_ps = us(s.p.dce_tcp_rtt_us);
  std::int64_t ticks = (now_ps - d.alpha_at_ps) / period_ps;
  if (ticks <= 0) return;
  d.alpha_at_ps += ticks * period_ps;
  const double keep = s.p.dce_tcp_g / 1024.0;
  if (d.alpha_cnp) {
    d.alpha = keep * d.alpha + (1 - keep);
    d.alpha_cnp = false;
    --ticks;
  }
  d.alpha *= power(keep, ticks);
}

// Step that an increase event adds to the target rate.
std::int64_t target_step_bps(const Dcqcn& d, const Setting& s) {
  const std::uint32_t threshold = s.p.rpg_threshold;
  if (std::max(d.timer_stage, d.byte_stage) < threshold) return 0;  // fast recovery
  const std::uint32_t both = std::min(d.timer_stage, d.byte_stage);
  if (both > threshold && !d.slow) return (both - threshold) * (s.p.rpg_hai_rate_Mbps * kMega);  // hyper
  return s.p.rpg_ai_rate_Mbps * kMega;
}

// One increase event, before its counter is advanced: the first F events of a counter are fast recovery.
void increase(Dcqcn& d, const Setting& s) {
  d.target_bps = std::min(d.target_bps + target_step_bps(d, s), s.max_bps);
  d.current_bps = (d.current_bps + d.target_bps + 1) / 2;
  d.limited = d.current_bps < s.max_bps;
  if (!d.limited) d.slow = false;
}

void count_bytes(Dcqcn& d, const CongestionState& state, const Setting& s) {
  if (!d.limited || s.byte_period_B == 0) return;
  std::int64_t left_B = state.until_bytes_B;
  while (left_B <= 0 && d.limited) {
    increase(d, s);
    d.byte_stage = std::min(d.byte_stage + 1, kStageCap);
    left_B += s.byte_period_B;
  }
  d.budget_B = left_B;
}

// Expiries of the increase timer up to `to_ps`. After a long idle gap the steps soon repeat each other (the target
// rises by a constant and the current rate follows at a constant distance); the rest of them is then one
// multiplication.
void run_timer(Dcqcn& d, const Setting& s, Time_ps to_ps) {
  while (d.limited && d.timer_ps <= to_ps) {
    const std::int64_t distance_bps = d.target_bps - d.current_bps;
    const std::int64_t step_bps = target_step_bps(d, s);
    increase(d, s);
    d.timer_stage = std::min(d.timer_stage + 1, kStageCap);
    d.timer_ps += s.timer_period_ps;
    if (d.target_bps - d.current_bps != distance_bps || target_step_bps(d, s) != step_bps) continue;
    if (d.timer_stage <= std::max(s.p.rpg_threshold, d.byte_stage) && d.timer_stage < kStageCap) continue;
    if (d.timer_ps > to_ps) return;
    std::int64_t steps = (to_ps - d.timer_ps) / s.timer_period_ps + 1;
    if (step_bps > 0) steps = std::min(steps, (s.max_bps - d.target_bps) / step_bps);
    d.target_bps += steps * step_bps;
    d.current_bps += steps * step_bps;
    d.timer_ps += steps * s.timer_period_ps;
  }
}

// The lost rate comes back by additive increase alone: the rate before is no target.
void restart_slowly(Dcqcn& d) {
  d.target_bps = d.current_bps;
  d.slow = d.limited;
}

void cut(Dcqcn& d, const Setting& s, Time_ps now_ps) {
  settle_alpha(d, s, now_ps);
  const bool raised = d.byte_stage > 0 || (s.p.clamp_tgt_rate_after_time_inc != 0 && d.timer_stage > 0);
  if (s.p.clamp_tgt_rate != 0 || raised || !d.limited) d.target_bps = d.current_bps;
  const double cut_part = d.alpha * 1024 / static_cast<double>(std::int64_t{1} << std::min(s.p.rpg_gd, 62U));
  const double kept = std::max(1 - cut_part, s.p.rpg_min_dec_fac_percent / 100.0);
  const auto rate_bps = static_cast<std::int64_t>(static_cast<double>(d.current_bps) * kept);
  d.current_bps = std::clamp(rate_bps, s.min_bps, s.max_bps);
  d.limited = d.current_bps < s.max_bps;
  d.timer_stage = 0;
  d.byte_stage = 0;
  d.timer_ps = s.timer_period_ps == 0 ? kNever_ps : now_ps + s.timer_period_ps;
  d.budget_B = s.byte_period_B;
  d.cut_ps = kNever_ps;
  d.last_cut_ps = now_ps;
  d.first_cut = false;
  if (d.lost) restart_slowly(d);
  d.lost = false;
}

void catch_up(CongestionState& state, Dcqcn& d, const Setting& s, Time_ps now_ps) {
  // Bytes first: a timer that was due before the last send was settled before it.
  count_bytes(d, state, s);
  if (d.cut_ps <= now_ps) {
    run_timer(d, s, d.cut_ps - 1);
    cut(d, s, d.cut_ps);
  }
  run_timer(d, s, now_ps);
}

void publish(CongestionState& state, const Dcqcn& d, const Setting& s) {
  state.pace_q16 = d.limited ? pace_q16_of(d.current_bps) : 0;
  state.until_ps = std::min(d.cut_ps, d.limited ? d.timer_ps : kNever_ps);
  state.until_bytes_B = d.limited && s.byte_period_B != 0 ? d.budget_B : INT64_MAX;
}

void start(CongestionState& state, const CongestionParameters& parameters, const CongestionEnvironment& environment,
           Time_ps) {
  const Setting s(parameters, environment);
  Dcqcn& d = new_own_state<Dcqcn>(state);
  d.current_bps = d.target_bps = s.max_bps;
  d.alpha = s.p.initial_alpha_value / 1024.0;
  state.window_B = CongestionState::kNoWindow_B;
  publish(state, d, s);
}

void settle(CongestionState& state, const CongestionParameters& parameters, const CongestionEnvironment& environment,
            Time_ps now_ps) {
  const Setting s(parameters, environment);
  Dcqcn& d = own_state<Dcqcn>(state);
  catch_up(state, d, s, now_ps);
  publish(state, d, s);
}

void cnp(CongestionState& state, const CongestionParameters& parameters, const CongestionEnvironment& environment,
         Time_ps now_ps) {
  const Setting s(parameters, environment);
  Dcqcn& d = own_state<Dcqcn>(state);
  catch_up(state, d, s, now_ps);
  const Time_ps period_ps = us(s.p.rate_reduce_monitor_period_us);
  const bool first = !d.seen_cnp;
  if (first) {
    // The first CNP starts the timers, which then run forever.
    d.seen_cnp = true;
    d.alpha_at_ps = now_ps;
    d.monitor_at_ps = now_ps;
    const std::int64_t set_bps = s.p.rate_to_set_on_first_cnp_Mbps * kMega;
    if (set_bps != 0) d.current_bps = d.target_bps = std::clamp(set_bps, s.min_bps, s.max_bps);
  }
  settle_alpha(d, s, now_ps);
  if (first || period_ps == 0) {
    cut(d, s, now_ps);
    d.first_cut = first;
  } else {
    d.monitor_at_ps += (now_ps - d.monitor_at_ps) / period_ps * period_ps;
    d.cut_ps = std::min(d.cut_ps, d.monitor_at_ps + period_ps);
  }
  if (s.p.alpha_rises_at_cnp) {
    const double keep = s.p.dce_tcp_g / 1024.0;
    d.alpha = keep * d.alpha + (1 - keep);
    d.alpha_at_ps = now_ps;
  } else {
    d.alpha_cnp = !first;  // alpha starts at its initial value, which the first CNP does not raise
  }
  publish(state, d, s);
}

void ack(CongestionState&, const CongestionParameters&, const CongestionEnvironment&, const AckSignal&) {}

// A loss that is found by a NAK is no first CNP where the NIC restarts mildly: alpha begins low for it, and what the
// CNP that came with the NAK has cut is given back.
void begin_mildly(Dcqcn& d, const Setting& s, bool was_cut, Time_ps now_ps) {
  if (d.seen_cnp && !(was_cut && d.first_cut)) return;
  if (!d.seen_cnp) d.monitor_at_ps = now_ps;
  d.seen_cnp = true;
  d.alpha = 1 - s.p.dce_tcp_g / 1024.0;
  d.alpha_at_ps = now_ps;
  if (was_cut) d.current_bps = d.target_bps;
  d.limited = d.current_bps < s.max_bps;
}

// Slow restart: the sender takes a loss for a CNP, one with its peer's in one monitor period; a timeout cuts as the
// first CNP does.
void lost(CongestionState& state, const CongestionParameters& parameters, const CongestionEnvironment& environment,
          Loss loss, Time_ps now_ps) {
  if (!environment.slow_restart) return;
  Dcqcn& d = own_state<Dcqcn>(state);
  const Setting s(parameters, environment);
  const bool was_cut =
      d.last_cut_ps >= 0 && now_ps - d.last_cut_ps < us(parameters.dcqcn.rate_reduce_monitor_period_us);
  if (environment.mild_restart && loss == Loss::kNak) begin_mildly(d, s, was_cut, now_ps);
  if (was_cut && loss == Loss::kNak) {
    catch_up(state, d, s, now_ps);
    restart_slowly(d);
    publish(state, d, s);
    return;
  }
  d.lost = true;
  if (loss == Loss::kTimeout) {
    d.alpha = parameters.dcqcn.initial_alpha_value / 1024.0;
    d.alpha_at_ps = now_ps;
  }
  cnp(state, parameters, environment, now_ps);
}

}  // namespace

const CongestionAlgorithm kDcqcnAlgorithm = {
    .name = "dcqcn", .takes_loss_as_cnp = true, .start = start, .settle = settle, .cnp = cnp, .ack = ack, .lost = lost};

}  // namespace weft::nic
