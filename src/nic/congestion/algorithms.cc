// The table of congestion control algorithms, their parameter sets and what they share.
#include "base/check.h"
#include "nic/congestion.h"

namespace weft::nic {

namespace {
constexpr std::int64_t kBitTime_q16 = 8 * kSecond_ps * 65536;  // ps for a byte at 1 b/s, << 16
}

const CongestionAlgorithm* congestion_algorithm(CongestionKind kind) {
  switch (kind) {
    case CongestionKind::kOff:
      return nullptr;
    case CongestionKind::kDcqcn:
      return &kDcqcnAlgorithm;
    case CongestionKind::kHpcc:
      return &kHpccAlgorithm;
    case CongestionKind::kTimely:
      return &kTimelyAlgorithm;
    case CongestionKind::kSwift:
      return &kSwiftAlgorithm;
  }
  return nullptr;
}

DcqcnParameters dcqcn_mlx5() {
  return {};
}

DcqcnParameters dcqcn_paper() {
  DcqcnParameters p;
  p.clamp_tgt_rate = 1;
  p.rpg_time_reset_us = 55;
  p.rpg_byte_reset_64B = 10'000'000 / 64;
  p.rpg_threshold = 5;
  p.rpg_ai_rate_Mbps = 40;
  p.rpg_hai_rate_Mbps = 200;  // not in the paper's table; five times R_AI as in public simulators of it
  p.dce_tcp_g = 1020;
  p.dce_tcp_rtt_us = 55;
  p.rate_reduce_monitor_period_us = 0;
  p.initial_alpha_value = 1024;
  p.alpha_rises_at_cnp = true;
  return p;
}

std::int64_t pace_q16_of(std::int64_t rate_bps) {
  WEFT_CHECK(rate_bps > 0, "a paced flow has a rate");
  return kBitTime_q16 / rate_bps;
}

double rate_bps(const CongestionState& state, const CongestionEnvironment& environment) {
  if (state.pace_q16 == 0) return static_cast<double>(environment.line_rate_bps);
  return static_cast<double>(kBitTime_q16) / static_cast<double>(state.pace_q16);
}

}  // namespace weft::nic
