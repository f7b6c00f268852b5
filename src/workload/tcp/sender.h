// The sending half of a TCP connection: what may leave and when, and what ACKs say (RFC 9293, SACK RFC 2018, RACK-TLP
// RFC 8985, PRR RFC 6937, RTO RFC 6298 with Linux's minimum of 200 ms). It knows stream offsets, not sequence numbers,
// and no CPU: workload/tcp_socket.cc calls it. Not modelled: F-RTO, undo, reordering windows, urgent data.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/time.h"
#include "workload/tcp/congestion.h"

namespace weft::workload {

struct TcpRange {
  std::uint64_t begin = 0, end = 0;
};

struct TcpAckEvent {
  std::uint64_t acked_to = 0;
  std::uint64_t window_end = 0;  // the peer takes bytes before this
  std::span<const TcpRange> sack;
  bool duplicate_reported = false;  // a DSACK block
  bool ece = false;
  Time_ps now_ps = 0;
};

// What leaves next: so many bytes from an offset on. No bytes: a probe of a closed window.
struct TcpPiece {
  std::uint64_t offset = 0;
  std::uint32_t length_B = 0;
  bool retransmission = false;
  bool last = false;  // of the stream: carries FIN
};

class TcpSender {
 public:
  static constexpr std::uint32_t kMostAggregate_B = 65536;  // GSO_MAX_SIZE

  TcpSender(TcpAlgorithm algorithm, std::uint32_t mss_B);

  TcpCongestion congestion;

  // When what is shorter than a segment leaves before the end of the stream: never, for one that only writes much; when
  // no other such is out (Nagle's rule as Minshall has it, Linux's default); at once (TCP_NODELAY).
  enum class Short : std::uint8_t { kNever, kNagle, kAtOnce };
  void set_short(Short when) { short_ = when; }
  void append(std::uint64_t size_B) { written_ += size_B; }
  void finish() { finished_ = true; }
  void set_window_end(std::uint64_t end) { window_end_ = end; }
  void on_ack(const TcpAckEvent& ack);
  // Nothing when window, data or `queued_B` of earlier pieces that the NIC still has do not allow more.
  std::optional<TcpPiece> next(std::uint64_t queued_B, Time_ps now_ps);
  Time_ps timer_ps() const { return timer_ps_; }
  void on_timer(Time_ps now_ps);

  std::uint64_t written() const { return written_; }
  std::uint64_t acked() const { return una_; }
  std::uint64_t next_offset() const { return nxt_; }
  bool all_acked() const { return finished_ && una_ == written_; }
  bool waits() const { return written_ > nxt_; }
  std::uint64_t retransmits() const { return retransmits_; }
  std::uint32_t mss_B() const { return mss_B_; }
  Time_ps srtt_ps() const { return srtt_ps_; }
  Time_ps rttvar_ps() const { return rttvar_ps_; }
  std::uint64_t timeouts() const { return timeouts_; }
  Time_ps min_rtt_ps() const { return min_rtt_ps_ == kNever_ps ? 0 : min_rtt_ps_; }
  Time_ps rto_ps() const;
  std::uint32_t backoff() const { return backoff_; }  // timeouts since the last progress
  std::uint32_t out() const { return out_; }
  std::uint32_t sacked() const { return sacked_; }
  std::uint32_t lost() const { return lost_; }
  std::uint32_t retransmitted() const { return retrans_; }  // of those that are out
  std::uint64_t window_B() const { return window_end_ > una_ ? window_end_ - una_ : 0; }
  enum class State : std::uint8_t { kOpen, kCwr, kRecovery, kLoss };
  State state() const { return state_; }

 private:
  enum Flag : std::uint8_t { kSacked = 1, kLost = 2, kRetrans = 4, kEver = 8 };
  enum class Timer : std::uint8_t { kNone, kRto, kProbe, kWindow };
  struct Segment {
    Time_ps sent_ps = 0;
    std::uint64_t begin = 0;  // where it ends the next one begins
    std::uint8_t flags = 0;
  };

  Segment& at(std::uint64_t index) { return ring_[index & (ring_.size() - 1)]; }
  std::uint64_t end_of(std::uint64_t index) { return index + 1 < first_ + out_ ? at(index + 1).begin : nxt_; }
  std::uint64_t first_from(std::uint64_t offset);
  bool may_send_short() const;
  std::uint32_t in_flight() const { return out_ - sacked_ - lost_ + retrans_; }
  void reserve(std::uint64_t segments);
  void unmark(Segment& segment);
  std::uint32_t take_acked(std::uint64_t acked_to, Time_ps now_ps);
  std::uint32_t take_sacked(std::span<const TcpRange> sack, Time_ps now_ps);
  void note_delivered(std::uint64_t index, Time_ps now_ps);
  void measure(Time_ps rtt_ps);
  void find_lost();
  void enter_recovery();
  void enter_cwr();
  void check_probe(const TcpAckEvent& ack);
  void reduce_in_recovery(std::uint32_t delivered);
  void note_use(bool full);
  void arm(Time_ps now_ps);
  std::optional<TcpPiece> next_lost(std::uint32_t room, Time_ps now_ps);
  std::optional<TcpPiece> next_new(std::uint32_t room, Time_ps now_ps);

  std::uint32_t mss_B_;
  std::uint64_t written_ = 0, nxt_ = 0, una_ = 0, window_end_ = 0;
  bool finished_ = false;
  Short short_ = Short::kNever;
  std::uint64_t short_end_ = 0;  // of the last short segment
  // The scoreboard: segments [first_, first_ + out_), a ring of a power of two.
  std::vector<Segment> ring_;
  std::uint64_t first_ = 0;
  std::uint32_t out_ = 0, sacked_ = 0, lost_ = 0, retrans_ = 0, most_out_ = 0;
  bool window_limited_ = false;
  std::uint64_t use_end_ = 0;
  State state_ = State::kOpen;
  std::uint64_t high_ = 0;       // where the reduction ends
  Time_ps newest_sent_ps_ = -1;  // RACK: when the latest delivered segment was sent
  std::uint64_t newest_index_ = 0;
  Time_ps latest_ps_ = 0;  // something was sent
  Time_ps min_rtt_ps_ = kNever_ps;
  std::uint32_t prior_cwnd_ = 0, prr_delivered_ = 0, prr_out_ = 0;
  Time_ps srtt_ps_ = 0, rttvar_ps_ = 0, rtt_ps_ = 0;
  std::uint32_t backoff_ = 0;
  Timer timer_ = Timer::kNone;
  Time_ps timer_ps_ = kNever_ps;
  bool probe_due_ = false, window_probe_due_ = false;
  bool probed_ = false;           // since the last ACK
  std::uint64_t probe_high_ = 0;  // a retransmitted probe is outstanding; 0: none
  std::uint64_t retransmits_ = 0, timeouts_ = 0;
};

}  // namespace weft::workload
