// Congestion control of one queue pair. An algorithm is a table of functions over a small state; the NIC paces by
// `pace_q16`, limits what is in flight by `window_B`, and calls the table on an ACK, a CNP, a NAK, a timeout and when a
// timer or byte counter of the algorithm is due at a send. Never per hop. Timers are settled lazily: a rate is
// looked at when a packet leaves, so nothing needs an event. docs/mechanisms/dcqcn.md has the maths.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <string_view>
#include <type_traits>

#include "base/time.h"
#include "engine/telemetry.h"

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

struct CongestionParameters {
  CongestionKind kind = CongestionKind::kOff;
  DcqcnParameters dcqcn;
  HpccParameters hpcc;
  TimelyParameters timely;
  SwiftParameters swift;
  friend bool operator==(const CongestionParameters&, const CongestionParameters&) = default;
};

// Environment of a queue pair, known to every algorithm.
struct CongestionEnvironment {
  std::int64_t line_rate_bps = 0;
  std::uint32_t mtu_B = 0;
  bool slow_restart = false;  // of the NIC: DCQCN reacts to loss
  bool mild_restart = false;  // and how
};

struct AckSignal {
  Time_ps now_ps = 0;
  std::uint32_t acked_B = 0;                     // newly acknowledged payload
  std::uint32_t acked_psn = 0;                   // one past it
  std::uint32_t next_psn = 0;                    // of the next new packet: what is in flight ends there
  std::optional<Time_ps> rtt_ps;                 // of a timed packet that this ACK covers
  std::uint32_t hops = 0;                        // switches on the path, by the TTL: Swift's target
  const engine::Telemetry* telemetry = nullptr;  // what the switches wrote, echoed by the receiver
};

struct CongestionState {
  static constexpr std::uint32_t kNoWindow_B = 0xffffffff;
  std::int64_t pace_q16 = 0;  // ps per byte of line time << 16; 0: not paced
  std::uint32_t window_B = kNoWindow_B;
  bool active = false;                          // false: this queue pair is not controlled
  std::int64_t until_bytes_B = INT64_MAX;       // settle() is due when so many more bytes were sent …
  Time_ps until_ps = kNever_ps;                 // … or at this time
  alignas(8) std::array<std::byte, 192> own{};  // of the algorithm; HPCC keeps a record of each hop
};

enum class Loss : std::uint8_t { kNak, kTimeout };

struct CongestionAlgorithm {
  std::string_view name;
  bool wants_rtt = false;
  bool wants_telemetry = false;
  bool takes_loss_as_cnp = false;  // where a NIC restarts slowly: counted as CNPs, too
  void (*start)(CongestionState&, const CongestionParameters&, const CongestionEnvironment&, Time_ps now_ps) = nullptr;
  // Brings timers and byte counters up to `now_ps`. Called before a send when one is due, and by the algorithm itself.
  void (*settle)(CongestionState&, const CongestionParameters&, const CongestionEnvironment&, Time_ps now_ps) = nullptr;
  // Null: CNPs are ignored.
  void (*cnp)(CongestionState&, const CongestionParameters&, const CongestionEnvironment&, Time_ps now_ps) = nullptr;
  void (*ack)(CongestionState&, const CongestionParameters&, const CongestionEnvironment&, const AckSignal&) = nullptr;
  // A NAK or a timeout: packets were lost.
  void (*lost)(CongestionState&, const CongestionParameters&, const CongestionEnvironment&, Loss loss,
               Time_ps now_ps) = nullptr;
};
// Null for kOff: nothing is paced and nothing is called.
const CongestionAlgorithm* congestion_algorithm(CongestionKind kind);

// Rate of a paced state, for observers.
double rate_bps(const CongestionState& state, const CongestionEnvironment& environment);
// Pace of a rate, rounded down to less than 2^-16 ps per byte.
std::int64_t pace_q16_of(std::int64_t rate_bps);

// One file each; use congestion_algorithm().
extern const CongestionAlgorithm kDcqcnAlgorithm;
extern const CongestionAlgorithm kHpccAlgorithm;
extern const CongestionAlgorithm kTimelyAlgorithm;
extern const CongestionAlgorithm kSwiftAlgorithm;

// Reaction of an algorithm that something does not concern.
inline void no_reaction(CongestionState&, const CongestionParameters&, const CongestionEnvironment&, Time_ps) {}
inline void no_reaction_to_loss(CongestionState&, const CongestionParameters&, const CongestionEnvironment&, Loss,
                                Time_ps) {}

// State that an algorithm keeps in `own`.
template <class Own>
Own& own_state(CongestionState& state) {
  static_assert(sizeof(Own) <= sizeof(state.own) && std::is_trivially_copyable_v<Own> && alignof(Own) <= 8);
  return *std::launder(reinterpret_cast<Own*>(state.own.data()));
}
// Begins it; called by start().
template <class Own>
Own& new_own_state(CongestionState& state) {
  static_assert(sizeof(Own) <= sizeof(state.own) && std::is_trivially_copyable_v<Own> && alignof(Own) <= 8);
  return *new (state.own.data()) Own{};
}

}  // namespace weft::nic
