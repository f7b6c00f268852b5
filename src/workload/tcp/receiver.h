// The receiving half of a TCP connection: what arrived in order, what to acknowledge and when, SACK and DSACK blocks,
// and the window that Linux's automatic buffer sizing (DRS) opens. Stream offsets; workload/tcp_socket.cc calls it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/time.h"
#include "wire/tcp.h"
#include "workload/tcp/sender.h"

namespace weft::workload {

class TcpReceiver {
 public:
  static constexpr std::uint64_t kFirstWindow_B = 65536;   // half of tcp_rmem[1], 131072
  static constexpr std::uint64_t kMostWindow_B = 4 << 20;  // two thirds of tcp_rmem[2], 6 MiB: scaling_ratio
  static constexpr Time_ps kDelayedAck_ps = ms(40);        // TCP_DELACK_MIN

  // `window_B` is the size of the window that -w asks for; 0: sized automatically.
  TcpReceiver(std::uint32_t mss_B, std::uint64_t window_B, bool echoes_each_mark);

  // Linux's interactive mode: an ACK at once for the first segments, when all is read after a short one, and delayed
  // ones when both sides have something to say. A workload that only writes has no need of it.
  void ack_quickly() {
    interactive_ = true;
    quick_left_ = kQuickAcks;
  }
  // This end has sent data: ACKs go with it from now on.
  void note_sent(Time_ps now_ps) {
    answers_ = answers_ || (received_ps_ > 0 && now_ps - received_ps_ < kDelayedAck_ps);
  }
  // The window that SO_RCVBUF asks for; before anything has arrived.
  void set_window(std::uint64_t window_B);
  // A run of bytes that GRO joined, `marked` with CE or not. True when an ACK is due at once.
  bool receive(std::uint64_t offset, std::uint64_t size_B, bool marked, bool last, Time_ps now_ps);
  // The program has read so much. True when an ACK is due.
  bool read(std::uint64_t size_B, Time_ps now_ps);

  struct Ack {
    std::uint64_t to = 0;
    std::uint64_t window_B = 0;
    bool ece = false;
    std::uint8_t sack_count = 0;
    std::array<TcpRange, wire::kTcpMostSack> sack{};
  };
  // What to acknowledge now; it counts as sent. `earlier`: with the CE state and the end before the last run (DCTCP).
  Ack take_ack(bool earlier = false);
  // DCTCP: the CE state changed with the last run, and what came before it is not acknowledged yet (RFC 8257 3.2).
  bool owes_earlier() const { return owes_earlier_; }

  std::uint64_t unread_B() const { return next_ - read_; }
  std::uint64_t received() const { return next_; }
  bool ended() const { return has_end_ && next_ == end_; }
  Time_ps timer_ps() const { return timer_ps_; }  // delayed ACK
  void on_timer() {
    timer_ps_ = kNever_ps;
    answers_ = false;  // it did not come to it
  }
  std::uint64_t window_B() const { return window_B_; }

 private:
  static constexpr std::uint32_t kQuickAcks = 16;  // TCP_MAX_QUICKACKS

  void add_beyond(TcpRange range);
  void join();
  std::uint64_t free_B() const;

  std::uint32_t mss_B_;
  bool sized_;  // by the user
  bool echoes_each_mark_;
  std::uint64_t window_B_;
  std::uint64_t next_ = 0, read_ = 0, acked_ = 0, advertised_end_ = 0, advertised_B_ = 0;
  std::uint64_t end_ = 0;
  bool has_end_ = false;
  std::vector<TcpRange> beyond_;  // out of order, the latest first
  TcpRange duplicate_{};
  bool marked_ = false, owes_earlier_ = false;
  std::uint64_t before_ = 0;  // end before the last run
  bool earlier_marked_ = false;
  Time_ps timer_ps_ = kNever_ps;
  std::uint32_t quick_left_ = 0;
  bool interactive_ = false, answers_ = false;
  std::uint32_t short_ = 0;  // segments since the last ACK
  Time_ps received_ps_ = 0;
  // DRS: what the program read in a round trip, which the timestamps cannot tell below 1 ms.
  Time_ps round_ps_ = 0;
  std::uint64_t round_read_ = 0, space_B_ = 0;
};

}  // namespace weft::workload
