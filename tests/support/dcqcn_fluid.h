// Fixed points of DCQCN for N equal flows on one link, two ways (docs/mechanisms/dcqcn.md derives them): the fluid
// model of Zhu et al. (SIGCOMM'15, section 5), and the cycle model, which follows a flow exactly from one CNP to the
// next. Packets per second inside, bits per second and bytes outside. Nothing here knows src/nic/congestion/dcqcn.cc:
// it is what that code and whole labs are checked against.
#pragma once

#include <algorithm>
#include <cmath>

namespace weft::support {

struct DcqcnLink {
  double capacity_bps = 40e9;
  double packet_B = 1024;
  double kmin_B = 5e3;
  double kmax_B = 200e3;
  double pmax = 0.01;
  double cnp_interval_s = 50e-6;  // N of the paper, tau in the equations
  double alpha_period_s = 55e-6;  // K
  double timer_s = 55e-6;         // T
  double byte_counter_B = 10e6;   // B
  double ai_bps = 40e6;           // R_AI
  double gain = 1.0 / 256;        // g
  int fast_recovery = 5;          // F

  double capacity() const { return capacity_bps / 8 / packet_B; }
  double ai() const { return ai_bps / 8 / packet_B; }
  double bits(double packets_per_s) const { return packets_per_s * 8 * packet_B; }
  // The queue at which the ramp marks with probability p; beyond the ramp there is none.
  double queue_B(double p) const { return kmin_B + p / pmax * (kmax_B - kmin_B); }
};

struct DcqcnFixedPoint {
  double p = 0;
  double alpha = 0;
  double current_bps = 0;  // RC, average over time
  double target_bps = 0;   // RT, average over time
  double queue_B = 0;
  double cnp_per_s = 0;  // of one flow
};

// Root of a falling function on [low, high], by bisection of the logarithm.
template <class Function>
double falling_root(Function function, double low, double high) {
  for (int i = 0; i < 60; ++i) {
    const double middle = std::sqrt(low * high);
    (function(middle) > 0 ? low : high) = middle;
  }
  return std::sqrt(low * high);
}

inline DcqcnFixedPoint fluid_fixed_point(const DcqcnLink& link, int flows) {
  const double rate = link.capacity() / flows;
  struct Terms {
    double a, b, c, d, e, alpha;
  };
  auto terms = [&](double p) {
    auto none_of = [&](double packets) { return std::exp(packets * std::log1p(-p)); };  // (1-p)^packets
    auto expiries = [&](double packets) { return p * none_of(packets) / (1 - none_of(packets)); };
    const double byte = link.byte_counter_B / link.packet_B;
    const double timer = link.timer_s * rate;
    const int f = link.fast_recovery;
    return Terms{1 - none_of(link.cnp_interval_s * rate), expiries(byte),
                 none_of(f * byte) * expiries(byte),      expiries(timer),
                 none_of(f * timer) * expiries(timer),    1 - none_of(link.alpha_period_s * rate)};
  };
  const double tau = link.cnp_interval_s;
  auto balance = [&](double p) {
    const Terms t = terms(p);
    return tau * tau * link.ai() * rate * (t.b + t.d) * (t.c + t.e) - t.alpha * t.a * t.a;
  };
  const double p = falling_root(balance, 1e-8, 0.9);
  const Terms t = terms(p);
  const double target = rate + tau * link.ai() * rate * (t.c + t.e) / t.a;
  return {p, t.alpha, link.bits(rate), link.bits(target), link.queue_B(p), t.a / tau};
}

// What a flow does from a cut at rate `peak` (= RT there) to the next CNP when packets are marked with probability p.
struct DcqcnCycle {
  double length_s = 0;
  double alpha = 0;    // at the cut
  double drift = 0;    // mean change of the rate from cut to cut
  double current = 0;  // time averages
  double target = 0;
};

inline DcqcnCycle dcqcn_cycle(const DcqcnLink& link, double p, double peak) {
  const double tau = link.cnp_interval_s;
  const double hazard = -std::log1p(-p) * peak;  // of a CNP, per second, once the notification point may send one
  auto survives = [&](double t) { return t <= tau ? 1 : std::exp(-hazard * (t - tau)); };
  // Mean of f(floor(X / period)), X the length of the cycle: f(0) + sum of P(X >= k period) (f(k) - f(k-1)).
  auto mean = [&](double period, auto f) {
    double sum = f(0);
    for (int k = 1; k < 100'000 && survives(k * period) > 1e-15; ++k) sum += survives(k * period) * (f(k) - f(k - 1));
    return sum;
  };
  DcqcnCycle cycle;
  cycle.length_s = tau + 1 / hazard;
  const double kept = mean(link.alpha_period_s, [&](int k) { return std::pow(1 - link.gain, k); });
  cycle.alpha = kept * link.gain / (1 - (1 - link.gain) * kept);
  const double cut = cycle.alpha * peak / 2;
  auto target_gain = [&](int k) { return std::max(0, k - link.fast_recovery) * link.ai(); };
  auto change = [&](int k) {  // of the rate, after k expiries of the timer
    const int j = std::max(0, k - link.fast_recovery);
    return target_gain(k) - cut * std::exp2(-k) - link.ai() * (1 - std::exp2(-j));
  };
  cycle.drift = mean(link.timer_s, change);
  auto time_average = [&](auto f) {
    double sum = 0;
    for (int k = 0; k < 100'000; ++k) {
      const double from = k * link.timer_s;
      const double to = from + link.timer_s;
      if (survives(from) <= 1e-15) break;
      const double sure = std::max(0.0, std::min(to, tau) - from);
      const double rest = std::max(0.0, survives(from) - survives(to)) / hazard;
      sum += (sure + rest) * f(k);
    }
    return sum / cycle.length_s;
  };
  cycle.current = peak + time_average(change);
  cycle.target = peak + time_average(target_gain);
  return cycle;
}

inline DcqcnFixedPoint cycle_fixed_point(const DcqcnLink& link, int flows) {
  const double share = link.capacity() / flows;
  auto peak_at = [&](double p) {  // such that the time-averaged rate is the fair share
    double peak = share;
    for (int i = 0; i < 8; ++i) peak *= share / dcqcn_cycle(link, p, peak).current;
    return peak;
  };
  const double p = falling_root([&](double x) { return dcqcn_cycle(link, x, peak_at(x)).drift; }, 1e-6, 0.5);
  const DcqcnCycle cycle = dcqcn_cycle(link, p, peak_at(p));
  return {p, cycle.alpha, link.bits(cycle.current), link.bits(cycle.target), link.queue_B(p), 1 / cycle.length_s};
}

}  // namespace weft::support
