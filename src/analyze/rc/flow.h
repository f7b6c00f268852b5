// State of the requests of one stream and of their answers, at one capture point. The packets that go from the
// requester to the responder move two marks in the circle of 24-bit PSNs: `next` is one beyond the newest request that
// was seen, `cursor` one beyond the last one. While both are equal, everything is in order; a cursor behind `next`
// means that something is retransmitted: a pass. Answers move `acked`.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "analyze/frames/frame.h"
#include "analyze/streams/streams.h"
#include "base/log_histogram.h"

namespace weft::analyze {

inline constexpr std::uint32_t kPsnMask = 0xffffff;
inline constexpr std::int64_t kInSequence = -1;
inline constexpr std::int64_t kShortestTimer_ns = 8'000;  // nobody's is shorter: 4.096 us x 2^1
inline constexpr std::uint64_t kAtomic_B = 8;             // an atomic moves one word

// How far `psn` is ahead of `from`: negative where it is behind (IBTA vol 1, 9.7.1: half of the circle each).
constexpr std::int32_t psn_ahead(std::uint32_t psn, std::uint32_t from) {
  return static_cast<std::int32_t>((psn - from) << 8) >> 8;
}
constexpr std::uint32_t psn_plus(std::uint32_t psn, std::uint32_t packets) {
  return (psn + packets) & kPsnMask;
}

enum class Verb : std::uint8_t {
  kSend,
  kSendImm,
  kSendInv,
  kWrite,
  kWriteImm,
  kRead,
  kCompareSwap,
  kFetchAdd,
  kFlush,
  kAtomicWrite
};
inline constexpr std::size_t kVerbs = 10;
constexpr std::uint16_t bit_of(Verb verb) {
  return static_cast<std::uint16_t>(1U << static_cast<unsigned>(verb));
}
// Those that the responder answers with data.
inline constexpr std::uint16_t kAnsweredVerbs =
    bit_of(Verb::kRead) | bit_of(Verb::kCompareSwap) | bit_of(Verb::kFetchAdd);
const char* name(Verb verb);
Verb verb_of(wire::Opcode operation);  // of a request, without transport

// Why packets were retransmitted.
enum class Cause : std::uint8_t {
  kNak,
  kTimeout,
  kImpliedNak,  // READ responses with a gap, or an answer to a later request
  kRnr,
  kSpurious,   // nothing was lost, nobody asked
  kDuplicate,  // the network's work: one packet twice
  kReordered,  // the network's work: the packet itself, late
  kUnknown,    // not enough in the capture to say
};
const char* name(Cause cause);

// Troubles of a flow, each counted and with its first frames.
enum class Trouble : std::uint8_t {
  kOpcodeOrder,
  kPathMtu,
  kLength,
  kGap,  // PSNs skipped at this point
  kReordered,
  kDuplicated,
  kSpurious,
  kSequenceNak,
  kAccessNak,
  kInvalidNak,
  kOperationalNak,
  kRepeatedNak,
  kWrongNakPsn,
  kAckBackwards,
  kAckUnsent,
  kWrongMsn,
  kCreditsExceeded,
  kReadBroken,
  kReadLost,
  kRnrNak,
  kRnrEarly,
  kTimeout,
  kAfterNak,
  kImpliedNak,
  kGoBackZero,
  kSelective,
  kSlowNak,
  kSlowReaction,
  kNotCaptured,  // acknowledged, but never seen here
  kSlowReturn,   // back long after its NAK, at a point behind the loss: its copies may have been lost, too
  kAskedAgain,   // a READ or atomic whose answer was seen here, or should have been
  kLateResponse,
  kReservedSyndrome,
  kStrayPsn,  // far away from those before and behind it
};
inline constexpr std::size_t kTroubles = 34;

struct Incident {
  std::uint64_t frame = 0;
  std::int64_t time_ns = 0;
  std::int64_t value = 0;  // what the kind of trouble measures: packets, ns, a PSN
  std::uint32_t psn = 0;
  Trouble trouble{};
};

// PSNs that were skipped and have not come yet.
struct Hole {
  std::uint32_t first = 0, end = 0;
  std::int64_t since_ns = 0;
  bool is_earlier = false;  // sent before the capture began
};

// A READ of whose responses some have not come yet.
struct OutstandingRead {
  std::uint32_t first = 0, end = 0;  // PSNs; end == first where the path MTU is not known yet
  std::uint32_t length_B = 0;
  std::uint32_t followed_by = kNone;  // by the request with this PSN, where the path MTU was not known then
  bool again = false;                 // asked for again: what still comes may be of the first time
};

// Responses that were skipped. Lost when the requester asks for them again; otherwise it has them, and the capture has
// not.
struct ResponseGap {
  std::uint32_t first = 0, packets = 0;  // some of them may have come since
  std::uint32_t end = 0;
  std::uint32_t before_psn = 0;  // of the answer that showed the gap
  std::int64_t time_ns = 0;
  std::uint64_t frame = 0;
};

// Is `psn` in one of the holes? Then no longer, nor are those behind it, `span` together.
bool take_from(std::vector<Hole>& holes, std::uint32_t psn, std::uint32_t span);
bool holds(const std::vector<Hole>& holes, std::uint32_t psn);

// An interval of the retransmission timer: how long the requester had waited.
struct Waited {
  std::uint32_t psn = 0;
  std::int64_t ns = 0;
  std::uint32_t payload_B = 0;  // of the packet that was retransmitted
};

// Packets that stand behind later ones. A responder that keeps order asks for what was overtaken; where nobody asks,
// the stamps are wrong, or both ends take packets in any order.
struct LateSight {
  enum class Why : std::uint8_t { kLate, kAck, kTooClose, kBehindItsAck };  // the last two: no wire carries it so
  Why why{};
  std::uint32_t psn = 0, packets = 1;
  std::int64_t spacing_ns = 0, needed_ns = 0;  // to the packet before or the ACK, and what the wire takes
  std::uint64_t frame = 0;
  std::int64_t time_ns = 0;

  bool is_impossible() const { return why == Why::kTooClose || why == Why::kBehindItsAck; }
};

// A pass after a NAK that left out packets which had come before: selective repeat, if the responder acknowledges them.
struct SelectivePass {
  bool open = false;
  std::uint32_t expected = 0, start_psn = 0, packets = 0;
  std::int64_t start_ns = 0;
  std::uint64_t frame = 0;
};

// Only flows in which something happened have one.
struct FlowTrouble {
  std::array<std::uint32_t, kTroubles> count{};
  std::vector<Incident> first;
  std::vector<Hole> holes;
  std::vector<Hole> uncounted_responses;   // skipped and not seen since
  std::vector<Hole> lost_responses;        // single ones that were asked for again, the newest
  std::vector<ResponseGap> response_gaps;  // of which it is not known whether they are asked for again
  std::vector<Waited> waits;               // of timeouts, the first ones
  LogHistogram generation, reaction;       // of NAKs
  std::int64_t rnr_waited_ns = 0;
  std::uint64_t gap_packets = 0;       // PSNs skipped here and not known to have passed, together
  std::uint64_t missed_packets = 0;    // acknowledged or answered, and never seen here
  std::int64_t late_response_ns = -1;  // of the newest
  std::uint64_t missed_responses = 0;  // skipped, and never asked for again
  std::uint32_t late_psn = kNone;      // a hole filled by one packet although a NAK had gone: late, or selective repeat
  std::vector<Hole> filled;            // holes that a retransmission has filled; the packets themselves may be late
  std::vector<Hole> acked_unseen;      // acknowledged before they were seen
  std::vector<LateSight> late;         // that nobody has asked for yet
  Hole pass_gap;                       // PSNs that the newest pass left out: lost again, or selective repeat
  std::uint64_t came_behind_nak = 0;   // acknowledged though a NAK asked for them and nothing was retransmitted
  std::uint64_t lost_again = 0;        // of what is retransmitted, before this point
  std::uint32_t lost_behind_late = 0;  // of those, behind a packet that may have been late
  std::uint64_t lost_behind = 0;       // NAKs of packets that passed this point
  SelectivePass selective;
  std::uint32_t restarts = 0;  // passes after NAKs, in a row, that began with the same PSN
  std::uint32_t restart_packets = 0, restart_psn = kNone, most_restarts = 0, most_restart_packets = 0;
  std::int64_t restart_ns = 0, most_restart_ns = 0;
  std::uint64_t restart_frame = 0;
};

// A packet that ends a message or asks for an ACK, until it is acknowledged.
struct Awaited {
  std::uint32_t psn = 0;
  std::uint32_t size_B = 0;   // of the message
  std::int64_t sent_ns = 0;   // -1: retransmitted since, so that its ACK says nothing of latency
  std::int64_t start_ns = 0;  // of the message's first packet; -1: unknown
  std::uint32_t first_psn = 0;
  Verb verb{};
  bool ends_message = false, ack_req = false;
};

// First in, first out, with a bound; the vector is compacted now and then.
class AwaitedQueue {
 public:
  static constexpr std::size_t kMost = 256;

  bool empty() const { return head_ == all_.size(); }
  bool full() const { return all_.size() - head_ >= kMost; }
  Awaited& front() { return all_[head_]; }
  void pop() {
    if (++head_ < all_.size() / 2 && head_ < kMost) return;
    all_.erase(all_.begin(), all_.begin() + static_cast<std::ptrdiff_t>(head_));
    head_ = 0;
  }
  // Behind those with a smaller PSN; what fills a hole comes late.
  void insert(const Awaited& awaited) {
    auto at = all_.end();
    const auto first = all_.begin() + static_cast<std::ptrdiff_t>(head_);
    while (at != first && psn_ahead((at - 1)->psn, awaited.psn) > 0) --at;
    all_.insert(at, awaited);
  }
  std::span<Awaited> all() { return std::span(all_).subspan(head_); }
  std::span<const Awaited> all() const { return std::span(all_).subspan(head_); }

 private:
  std::vector<Awaited> all_;
  std::size_t head_ = 0;
};

// Packet by packet up to what was new; from its middle to what was new; or again from the beginning, or not at all.
enum class PassEnd : std::uint8_t { kReachedNext, kJumped, kInterrupted };

struct Pass {
  bool open = false;
  Cause cause = Cause::kUnknown;
  std::uint32_t start_psn = 0, packets = 0, fills = 0;
  std::int64_t start_ns = 0, waited_ns = 0;
  std::uint64_t frame = 0;
  bool skipped = false;  // left out packets on its way
  bool earlier = false;  // began before the first packet of the capture: what asked for it may not be there
  std::uint32_t skipped_from = kNone;  // by its newest packet
};

enum class InMessage : std::uint8_t { kNothing, kSend, kWrite, kUnknown };

struct RcFlow {
  StreamId stream = kNone;
  std::uint8_t transport = 0;
  bool started = false, next_known = true, has_acked = false, clean = true;  // clean: every message was counted
  InMessage in_message = InMessage::kUnknown;
  std::uint16_t verbs = 0;  // bit by Verb
  std::uint32_t path_mtu_B = 0;
  std::uint32_t begin_psn = 0;  // of the first packet; first_psn may be before it, where that is retransmitted
  std::uint32_t first_psn = 0, next = 0, cursor = 0, acked = 0;
  // PSN that the responder waits for, by the packets and answers at this point; where it was skipped, since when.
  std::uint32_t expected = 0;
  std::int64_t skipped_ns = kInSequence;

  std::uint32_t message_psn = 0, dma_len = 0;
  std::uint64_t message_B = 0;
  bool message_start_seen = false, dma_known = false;
  std::int64_t message_ns = 0;

  std::int64_t first_ns = 0, last_ns = 0, timer_ns = 0;
  std::uint64_t first_frame = 0, last_frame = 0;
  std::uint32_t last_wire_B = 0;
  PointId point = 0;
  Direction direction = Direction::kUnknown;
  std::uint64_t packets = 0, payload_B = 0, wire_B = 0, ce_marked = 0;
  std::uint64_t new_B = 0, unacked_B = 0, read_B = 0;
  std::uint64_t retransmitted = 0;
  std::uint64_t messages_started = 0, messages_completed = 0, messages_unrecorded = 0, messages_sent = 0;
  std::uint64_t message_B_least = ~std::uint64_t{0}, message_B_most = 0;

  // Answers
  std::uint64_t answers = 0, acks = 0, credit_acks = 0, response_packets = 0, response_payload_B = 0,
                response_wire_B = 0;
  std::int64_t first_answer_ns = 0, last_answer_ns = 0, least_rtt_ns = -1;
  std::uint32_t first_answer_psn = 0, last_answer_psn = 0;
  // Responses: one beyond the newest, and the next one in sequence, which is behind where some are retransmitted.
  std::uint32_t read_frontier = 0, read_next = 0;
  std::uint32_t asked_psn = kNone;                  // asked for again; its first response has not come yet
  std::uint16_t unasked_reads = 0;                  // answered in full before a request with their PSNs was seen
  bool read_started = false, read_unasked = false;  // unasked: the response before was of a READ without its request
  bool reads_unknown = false;                       // READ requests without their RETH: a short snap length
  bool reads_lost = false;                          // responses were lost: which ones are due is not certain any more
  bool answers_unread = false;                      // ACKs without their AETH
  std::uint64_t last_answer_frame = 0;
  std::array<std::uint32_t, 4> newest_acks{kNone, kNone, kNone, kNone};  // PSNs, in a ring by `acks`
  std::uint32_t nak_psn = 0, rnr_psn = 0;
  bool nak_open = false, nak_seen_since = true, rnr_open = false;
  bool nak_is_of_passed = false;  // the packet that the NAK asks for had passed here
  std::int64_t nak_ns = 0, rnr_ns = 0, rnr_timer_ns = 0;
  std::uint32_t rnr_in_a_row = 0, timeouts_in_a_row = 0, naks = 0;
  bool fatal = false;
  // A new connection on the same queue pair, or a long hole in the capture: the MSN of its first ACK tells.
  std::uint32_t skipped = 0, skipped_msn = 0;
  // Packets arrive in any order and the responder takes them so: rules of order do not hold. Or it says what is missing
  // in NAKs of its own (selective repeat).
  bool out_of_order = false, selective = false;
  bool passes_since_ack = false;
  // Where the PSNs were before they leapt far away, and the packet that did: one that comes back was a stray.
  std::uint32_t left_psn = kNone, leap_psn = 0;
  std::uint64_t leap_frame = 0, packets_at_leap = 0;
  std::int64_t leap_ns = 0;
  std::uint32_t unsent_psn = kNone;  // an ACK beyond what was seen, until the next request says whether it was sent
  std::int64_t unsent_ns = 0;
  std::uint64_t unsent_frame = 0;
  bool msn_known = false, limit_known = false;
  std::uint32_t msn = 0;
  std::uint64_t msn_completed = 0, limit = 0;

  Pass pass;
  // The first frames of a mirror of several ports may be second copies of what came before the capture.
  bool is_beginning(std::int64_t time_ns) const {
    constexpr std::int64_t kBeginning_ns = 2'000;
    return time_ns - first_ns < kBeginning_ns;
  }

  AwaitedQueue awaited;
  std::vector<OutstandingRead> reads;
  std::unique_ptr<LogHistogram> ack_latency, message_latency;
  std::unique_ptr<FlowTrouble> trouble;
};

// State of the connection before, which is of no use for the next one on the same queue pair.
void forget_connection(RcFlow& flow);

}  // namespace weft::analyze
