// Selective repeat for RC, as ConnectX does it where `selective_repeat_forced_en` of the ROCE_ACCL register is on
// (docs/mechanisms/loss.md): every packet of a WRITE is a WRITE Only with its own RETH, the receiver places it in
// whatever order it comes and keeps a bit for it, and only what is missing is sent again. SENDs, READs and atomics of
// the same queue pair go back as RC does. A transport of its own, so RC pays nothing for it. Both ends must have it: a
// receiver without it takes the packets in order and sends the NAKs of RC, which make the sender go back.
#pragma once

#include <array>
#include <cstdint>

#include "base/check.h"
#include "nic/port.h"
#include "nic/transports/psn.h"
#include "nic/transports/transport.h"

namespace weft::nic {

extern const Transport kSelectiveRcTransport;

// A set of PSNs that are less than kSpan apart.
class PsnSet {
 public:
  static constexpr std::uint32_t kSpan = 1024;

  bool has(std::uint32_t psn) const { return (words_[psn % kSpan / 64] >> psn % 64 & 1) != 0; }
  void add(std::uint32_t psn) {
    size_ += has(psn) ? 0 : 1;
    words_[psn % kSpan / 64] |= std::uint64_t{1} << psn % 64;
  }
  void remove(std::uint32_t psn) {
    size_ -= has(psn) ? 1 : 0;
    words_[psn % kSpan / 64] &= ~(std::uint64_t{1} << psn % 64);
  }
  // All of `count` from `first` on.
  void remove(std::uint32_t first, std::uint32_t count) {
    for (std::uint32_t i = 0; i < std::min(count, kSpan) && size_ > 0; ++i) remove(psn_add(first, i));
  }
  void clear() { *this = {}; }
  bool empty() const { return size_ == 0; }
  // The first one from `from` on; there must be one.
  std::uint32_t first(std::uint32_t from) const {
    WEFT_CHECK(size_ > 0, "the first PSN of an empty set");
    while (!has(from)) from = psn_add(from, 1);
    return from;
  }

 private:
  std::array<std::uint64_t, kSpan / 64> words_;
  std::uint32_t size_;
};

// State of one queue pair: own_state().
struct SelectiveState {
  // The requester. Packets that are reported missing are sent again from `repair_ps` on, ahead of new ones. The last
  // one that was ever sent follows them as a probe, one at a time: by it the receiver finds what was lost again.
  PsnSet again;                // to be sent again
  PsnSet after_probe;          // sent again while a probe was out: that probe says nothing about them
  Time_ps repair_ps;           // the NAK has been read
  std::uint32_t reported_psn;  // one past the last that was reported missing, when has_report
  std::uint32_t probe_psn;     // when probing
  std::uint32_t resume_tx;     // where new packets go on, while repairing
  std::uint32_t resume_packet;
  bool resume_started;
  bool repairing;
  bool has_report;
  bool probing;
  bool wants_probe;
  std::uint8_t probes;  // since something was acknowledged
  bool asks_for_ack;    // of the packet that leaves
  // The responder.
  bool open;               // something is missing before seen_psn
  std::uint32_t seen_psn;  // one past the highest that came
  PsnSet kept;             // in memory, and not acknowledged yet
  PsnSet ends;             // of those, the last of a message that somebody spins for, in the region `watched_rkey`
  std::uint32_t watched_rkey;
  PsnSet immediates;  // of those, the ones with immediate data: receives that are due, by PSN modulo kDueReceives
  static constexpr std::uint32_t kDueReceives = 128;
  struct DueReceive {
    std::uint32_t psn;
    std::uint32_t imm;
    std::uint32_t length_B;
    bool solicited;
  };
  std::array<DueReceive, kDueReceives> due;
};

struct SelectiveRepeat {
  static bool send(Port& port, QueuePair& qp, SendWqe& wqe, Time_ps now_ps);
  static bool send_reply(Port& port, QueuePair& qp, Reply& reply, Time_ps now_ps);
  static fabric::Fate receive(Port& port, QueuePair& qp, engine::Packet& packet, Time_ps now_ps);
  static void on_timer(Port& port, QueuePair& qp, Time_ps now_ps);

 private:
  // message_send.cc: one packet, and the place in the send queue moves on.
  static bool send_data(Port& port, QueuePair& qp, SendWqe& wqe, Time_ps now_ps);
  // selective_repeat.cc: the requester.
  static bool send_again(Port& port, QueuePair& qp, SendWqe& wqe, Time_ps now_ps);
  static void begin_repair(Port& port, QueuePair& qp, Time_ps at_ps);
  static void end_repair(QueuePair& qp);
  static fabric::Fate receive_response(Port& port, QueuePair& qp, engine::Packet& packet, Time_ps now_ps);
  static fabric::Fate receive_report(Port& port, QueuePair& qp, std::uint32_t first, std::uint32_t end, Time_ps now_ps);
  static void acknowledged(Port& port, QueuePair& qp, std::uint32_t una_before, Time_ps now_ps);
  static void nudge(Port& port, QueuePair& qp, Time_ps at_ps);
  // selective_responder.cc
  static fabric::Fate receive_out_of_order(Port& port, QueuePair& qp, engine::Packet& packet, Time_ps now_ps);
  static bool keep(Port& port, QueuePair& qp, engine::Packet& packet, Time_ps now_ps);
  static void complete(Port& port, QueuePair& qp, const SelectiveState::DueReceive& due, Time_ps now_ps);
  static void close_gap(Port& port, QueuePair& qp, Time_ps now_ps);
  static void report(Port& port, QueuePair& qp, std::uint32_t first, std::uint32_t end, Time_ps now_ps);
  static void report_again(Port& port, QueuePair& qp, std::uint32_t before, Time_ps now_ps);
};

}  // namespace weft::nic
