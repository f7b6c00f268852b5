// Record of a port's senders for whoever asks later why one was slow: where the time of each went, by what
// held its next packet, and the rare events of congestion control and recovery. A sender is a queue pair's requests, or
// its READ responses. Kept only where DeviceConfig::record says so; bounded, and what was left out is counted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "base/event_log.h"
#include "base/log_histogram.h"
#include "base/time.h"
#include "engine/packet.h"
#include "spec/wait.h"

namespace weft::nic {

struct QueuePair;

// States of a sender. From kFirstWait on: waited, by Wait.
inline constexpr std::size_t kSending = 0;   // its packet was on the wire of its port
inline constexpr std::size_t kPortBusy = 1;  // it was ready; the port sent for others
inline constexpr std::size_t kStarting = 2;  // doorbell, WQE and first payload on their way into the NIC
inline constexpr std::size_t kNoWork = 3;    // all that was posted was done
inline constexpr std::size_t kFirstWait = 4;
inline constexpr std::size_t kSenderStates = kFirstWait + kWaits;
constexpr std::size_t state_of(Wait wait) {
  return kFirstWait + static_cast<std::size_t>(wait);
}

inline constexpr std::uint32_t kNobody = UINT32_MAX;
struct SenderRecord {
  std::uint32_t qpn = 0;
  bool replies = false;    // READ responses
  bool connected = false;  // then `packet` says to whom
  std::uint8_t function = 0;
  std::uint32_t owner = kNobody;  // PortRecord::claim()
  engine::PacketBody packet;      // what its packets have in common
  Time_ps first_ps = 0;           // the first work request was posted, or READ received
  Time_ps until_ps = 0;           // accounted for up to here
  std::uint64_t packets = 0;      // sent, with those sent again
  std::uint64_t questions = 0;    // of these, READ and atomic requests
  std::uint64_t again = 0;        // of these, sent before
  std::array<Time_ps, kSenderStates> times{};
  // ps, of each message that succeeded: from its doorbell to the moment at which the CPU can see its completion; of one
  // without a completion of its own, to that at which the NIC has the acknowledgement.
  LogHistogram latency;

 private:
  friend class PortRecord;
  Time_ps ready_ps = kNever_ps;  // in the port's ring since
  std::size_t state = kStarting;
  bool is_open = false;            // something is outstanding
  std::uint64_t again_before = 0;  // of the queue pair, as its turn began
};

enum class PortEventKind : std::uint8_t { kCnpSent, kRateCut, kNak, kReceiverNotReady, kTimeout, kSentAgain };
inline constexpr std::size_t kPortEventKinds = 6;
// Events of one kind and queue pair that follow each other closely are one record (base/event_log.h).
struct PortEvent {
  PortEventKind kind = PortEventKind::kCnpSent;
  Time_ps first_ps = 0, last_ps = 0;
  std::uint64_t count = 1;
  std::uint32_t qpn = 0;
  std::uint32_t peer_port = 0;
  std::uint32_t psn = 0;                    // of recovery and of packets sent again: the first of them
  std::int64_t before_bps = 0, to_bps = 0;  // of a rate cut: before the first, and the lowest after it

  void merge(const PortEvent& later);
};

class PortRecord {
 public:
  static constexpr std::size_t kMostSenders = 16'384;
  static constexpr std::size_t kMostEvents = 500;  // records of each kind

  const std::vector<SenderRecord>& senders() const { return senders_; }
  std::uint64_t senders_left_out() const { return senders_left_out_; }
  // Latencies of senders that were left out, by their owner.
  const std::map<std::uint32_t, LogHistogram>& other_latency() const { return other_latency_; }
  // Each kind has a log of its own: many events of one leave the rare ones their room.
  using Events = EventLog<PortEvent, kMostEvents>;
  const Events& events(PortEventKind kind) const { return events_[static_cast<std::size_t>(kind)]; }

  void created(std::uint32_t qpn) { unclaimed_.push_back(qpn); }
  // The queue pairs that were created since the last call belong to `owner`.
  void claim(std::uint32_t owner);

  // The send queue had nothing to send until now.
  void posted(const QueuePair& qp, std::uint32_t context, Time_ps doorbell_ps);
  // A READ has come, and its queue pair's context is in the NIC from `context_ps` on.
  void asked(const QueuePair& qp, std::uint32_t context, Time_ps now_ps, Time_ps context_ps);
  void ready(std::uint32_t context, Time_ps at_ps);
  void paused(const QueuePair& qp, std::uint32_t context, Time_ps now_ps);
  void resumed(std::uint32_t context, Time_ps now_ps);
  // Around its turn at the port: `free_ps` is when the port has sent the packet.
  void turn_begins(const QueuePair& qp, std::uint32_t context, Time_ps now_ps);
  void turn_ends(const QueuePair& qp, std::uint32_t context, bool sent, bool question, Time_ps now_ps, Time_ps free_ps);
  void recovers(std::uint32_t context, Time_ps now_ps);
  // A message, not a packet.
  void completed(std::uint32_t context, Time_ps latency_ps);
  // Everything that was posted is done, or failed.
  void drained(std::uint32_t context, Time_ps now_ps);
  void destroyed(std::uint32_t context, Time_ps now_ps);
  // Times of a queue pair's requests, with what it has waited for so far; zeros: it has none.
  std::array<Time_ps, kSenderStates> times_at(std::uint32_t context, Time_ps now_ps) const;
  // The run is over: what still waits has waited until then.
  void settle(Time_ps end_ps);

  void cnp_sent(const QueuePair& qp, Time_ps now_ps);
  // The pace was `before_q16`. Of queue pairs that send no data nothing is kept.
  void rate_cut(const QueuePair& qp, std::int64_t before_q16, std::int64_t line_rate_bps, Time_ps now_ps);
  void lost(const QueuePair& qp, PortEventKind kind, Time_ps now_ps);
  // A request with this PSN leaves the port, and not for the first time.
  void sends_again(const QueuePair& qp, std::uint32_t psn, Time_ps now_ps);

 private:
  SenderRecord* find(std::uint32_t context);
  SenderRecord* find_or_add(const QueuePair& qp, std::uint32_t context, Time_ps now_ps);
  using Times = std::array<Time_ps, kSenderStates>;
  // Adds what it did since it was accounted for.
  static void add_times(const SenderRecord& sender, Time_ps now_ps, Times& times);
  static void advance(SenderRecord& sender, Time_ps now_ps);
  void note(const PortEvent& event);

  std::vector<SenderRecord> senders_;
  static constexpr std::uint32_t kLeftOut = UINT32_MAX;
  std::vector<std::uint32_t> of_context_;  // index in senders_ + 1; 0: none; or kLeftOut
  std::vector<std::uint32_t> unclaimed_;   // queue pairs
  std::vector<std::uint32_t> owner_of_;    // by queue pair
  std::array<Events, kPortEventKinds> events_;
  std::uint64_t senders_left_out_ = 0;
  std::map<std::uint32_t, LogHistogram> other_latency_;
};

}  // namespace weft::nic
