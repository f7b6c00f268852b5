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
#include "spec/congestion_parameters.h"
#include "spec/telemetry.h"

namespace weft::nic {

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
