// TCP congestion control in segments, as Linux 5.14 computes it: CUBIC (net/ipv4/tcp_cubic.c, RFC 9438) with HyStart,
// Reno, and DCTCP (net/ipv4/tcp_dctcp.c, RFC 8257). Integer arithmetic, so that every machine gets the same. When to
// call it is decided in workload/tcp/sender.cc.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "spec/iperf3_options.h"

namespace weft::workload {

class TcpCongestion {
 public:
  static constexpr std::uint32_t kInitialWindow = 10;  // RFC 6928
  static constexpr std::uint32_t kNoThreshold = 0x7fffffff;

  explicit TcpCongestion(TcpAlgorithm algorithm) : algorithm_(algorithm) {}

  std::uint32_t cwnd = kInitialWindow;
  std::uint32_t ssthresh = kNoThreshold;

  TcpAlgorithm algorithm() const { return algorithm_; }
  void set_algorithm(TcpAlgorithm algorithm) { algorithm_ = algorithm; }
  bool uses_ecn() const { return algorithm_ == TcpAlgorithm::kDctcp; }
  bool in_slow_start() const { return cwnd < ssthresh; }

  // So many segments were acknowledged. `una` and `nxt` are stream offsets after it; `rtt_ps` 0: not measured.
  void note_ack(std::uint32_t acked, bool ece, std::uint64_t una, std::uint64_t nxt, Time_ps rtt_ps, Time_ps now_ps);
  // The window was the limit: it grows.
  void grow(std::uint32_t acked, Time_ps now_ps);
  // The threshold after an ECN echo, and after a loss, now.
  std::uint32_t reduced();
  std::uint32_t reduced_by_loss();
  void on_timeout();

 private:
  void grow_cubic(std::uint32_t acked, Time_ps now_ps);
  void add(std::uint32_t per, std::uint32_t acked);
  void detect_slow_start_end(std::uint64_t una, std::uint64_t nxt, Time_ps rtt_ps, Time_ps now_ps);
  void update_alpha(std::uint32_t acked, bool ece, std::uint64_t una, std::uint64_t nxt);

  TcpAlgorithm algorithm_;
  std::uint32_t grown_ = 0;  // segments acknowledged since the window last grew
  // CUBIC.
  std::uint32_t per_ = 0, last_max_ = 0, last_cwnd_ = 0, origin_ = 0, friendly_ = 0, acks_ = 0;
  Time_ps last_ps_ = 0, epoch_ps_ = -1, delay_min_ps_ = 0;
  std::uint64_t k_ = 0;
  // HyStart.
  bool found_ = false;
  std::uint64_t round_end_ = 0;
  Time_ps round_start_ps_ = 0, last_ack_ps_ = 0, round_rtt_ps_ = kNever_ps;
  std::uint32_t samples_ = 0;
  // DCTCP: alpha in 1/1024.
  std::uint32_t alpha_ = 1024, delivered_ = 0, marked_ = 0;
  std::uint64_t window_end_ = 0;
};

}  // namespace weft::workload
