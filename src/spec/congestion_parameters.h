// Parameters of congestion control by the names that firmware and papers give them; algorithms: nic/congestion.
#pragma once

#include <cstdint>

namespace weft::nic {

// mlxconfig names and units ([mlxconfig-dumps]); the paper's set is another instance of this struct.
struct DcqcnParameters {
  // A cut sets the target rate to the current rate: always (1), or only when the rate was raised since the last cut
  // (0); a raise by the byte counter counts always, one by the timer when `clamp_tgt_rate_after_time_inc` is 1.
  std::uint32_t clamp_tgt_rate = 0;
  std::uint32_t clamp_tgt_rate_after_time_inc = 1;
  std::uint32_t rpg_time_reset_us = 300;     // 0: no timer
  std::uint32_t rpg_byte_reset_64B = 32767;  // in units of 64 B; 0: no byte counter
  std::uint32_t rpg_threshold = 1;           // F
  std::uint32_t rpg_max_rate_Mbps = 0;       // 0: line rate. A flow that reaches it is no longer limited
  std::uint32_t rpg_ai_rate_Mbps = 5;
  std::uint32_t rpg_hai_rate_Mbps = 50;
  std::uint32_t rpg_gd = 11;  // a cut is alpha_fixed / 2^gd, alpha_fixed = alpha * 1024
  std::uint32_t rpg_min_dec_fac_percent = 50;
  std::uint32_t rpg_min_rate_Mbps = 1;
  std::uint32_t rate_to_set_on_first_cnp_Mbps = 0;  // the first cut starts here; 0: at the maximum
  std::uint32_t dce_tcp_g = 1019;                   // (1 - g) * 1024
  std::uint32_t dce_tcp_rtt_us = 1;                 // alpha period; 0: alpha never decays
  std::uint32_t rate_reduce_monitor_period_us = 4;  // 0: every CNP cuts, when it comes
  std::uint32_t initial_alpha_value = 1023;         // / 1024
  // False, as mlx5: alpha moves at the ticks of its timer, up when a CNP came in the period. True, as the paper: alpha
  // rises with each CNP, after the cut, and decays once per period without one; the timer starts over with the CNP.
  bool alpha_rises_at_cnp = false;
  friend bool operator==(const DcqcnParameters&, const DcqcnParameters&) = default;
};
DcqcnParameters dcqcn_mlx5();
// SIGCOMM'15: K 55 us, T 55 us, B 10 MB, F 5, g 1/256, R_AI 40 Mb/s; N, 50 us, is the notification point's.
DcqcnParameters dcqcn_paper();

struct HpccParameters {
  std::uint32_t eta_permille = 950;
  std::uint32_t max_stage = 5;
  std::uint32_t ai_rate_Mbps = 0;  // 0: 10 Mb/s for each 25 Gb/s of line rate
  std::uint32_t base_rtt_ns = 13000;
  friend bool operator==(const HpccParameters&, const HpccParameters&) = default;
};
struct TimelyParameters {
  std::uint32_t t_low_ns = 50'000;
  std::uint32_t t_high_ns = 500'000;
  std::uint32_t min_rtt_ns = 20'000;
  std::uint32_t ewma_permille = 875;
  std::uint32_t beta_permille = 800;
  std::uint32_t ai_rate_Mbps = 0;  // 0: 10 Mb/s for each 10 Gb/s of line rate
  std::uint32_t hai_count = 5;
  std::uint32_t min_rate_Mbps = 100;
  friend bool operator==(const TimelyParameters&, const TimelyParameters&) = default;
};
struct SwiftParameters {
  std::uint32_t base_target_ns = 15'000;
  std::uint32_t hop_scale_ns = 0;
  std::uint32_t flow_scale_range_ns = 30'000;
  std::uint32_t ai_permille = 1000;  // of a packet per RTT
  std::uint32_t beta_permille = 800;
  std::uint32_t max_mdf_permille = 500;
  friend bool operator==(const SwiftParameters&, const SwiftParameters&) = default;
};

enum class CongestionKind : std::uint8_t { kOff, kDcqcn, kHpcc, kTimely, kSwift };
// The others need what ACKs bring, which READ responses do not have.
constexpr bool reacts_to_cnps(CongestionKind kind) {
  return kind == CongestionKind::kDcqcn;
}

struct CongestionParameters {
  CongestionKind kind = CongestionKind::kOff;
  DcqcnParameters dcqcn;
  HpccParameters hpcc;
  TimelyParameters timely;
  SwiftParameters swift;
  friend bool operator==(const CongestionParameters&, const CongestionParameters&) = default;
};

}  // namespace weft::nic
