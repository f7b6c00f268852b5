#include "spec/congestion_parameters.h"

namespace weft::nic {

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

}  // namespace weft::nic
