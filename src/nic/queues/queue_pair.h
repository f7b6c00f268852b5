// The state of one queue pair: send queue and requester, receive queue and responder (IBTA vol 1, ch. 9
// and 10.3). Only data; the rules are in post.cc, transmit.cc, requester.cc, recovery.cc and responder.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/check.h"
#include "base/time.h"
#include "engine/packet.h"
#include "nic/congestion.h"
#include "nic/memory.h"
#include "nic/queues/shared_receive_queue.h"
#include "spec/port_qos.h"
#include "spec/wait.h"
#include "spec/work.h"

namespace weft::nic {

enum class QpType : std::uint8_t { kRc, kUd, kUc, kXrc };  // by which verbs ask for a transport
struct Transport;
enum class QpState : std::uint8_t { kReset, kInit, kRtr, kRts, kSqd, kSqe, kErr };

inline constexpr std::uint32_t kDevicePort = 0xffffffff;  // that of the device

// ibv_qp_attr, as far as it is modelled.
struct QpAttributes {
  std::uint32_t path_mtu_B = 0;            // RTR …
  Access access;                           // INIT: what the peer may do
  std::uint32_t qkey = 0;                  // UD
  std::uint32_t local_port = kDevicePort;  // the virtual function that it is of
  std::uint32_t remote_port = 0;
  std::uint32_t remote_qpn = 0;
  std::uint32_t rq_psn = 0;
  std::uint32_t max_dest_rd_atomic = 16;
  std::uint8_t min_rnr_timer = 12;
  std::uint32_t sq_psn = 0;  // RTS …
  std::uint8_t timeout = 14;
  std::uint8_t retry_cnt = 7;
  std::uint8_t rnr_retry = 7;
  std::uint32_t max_rd_atomic = 16;
  std::uint8_t tos = 0x02;
  std::uint8_t priority = kPortPriority;  // service level; counts where the port does not trust the DSCP
  bool tells_drained = false;             // SQD: an event when the send queue is drained
  engine::TelemetryFormat telemetry = engine::TelemetryFormat::kNone;  // of its data packets
};

struct alignas(64) SendWqe {
  Time_ps ready_ps = 0;  // the NIC has the WQE and, unless inline, the first payload
  std::uint32_t first_psn = 0;
  std::uint32_t packets = 0;  // PSNs that it uses: data packets, or READ response packets
  SendRequest request;
  Time_ps posted_ps = 0;  // its doorbell
};
static_assert(sizeof(SendWqe) == 128);

// Reply that the responder still has to send for one QP, in PSN order.
struct Reply {
  enum class Kind : std::uint8_t { kAck, kRead, kAtomic, kGap };  // the last: selective_responder.cc
  Kind kind = Kind::kAck;
  std::uint32_t psn = 0;   // of the next packet to send
  std::uint32_t aeth = 0;  // syndrome << 24 | MSN
  Time_ps ready_ps = 0;
  std::uint64_t value = 0;   // atomic: the original; READ: the address of the next byte
  std::uint32_t rkey = 0;    // READ
  std::uint32_t left_B = 0;  // READ: not sent yet
  bool first = true;         // READ: nothing sent yet
  bool counted = false;      // among requests_waiting
};

struct SavedAtomic {
  std::uint32_t psn = 0;
  std::uint64_t original = 0;
  bool used = false;
};

// Why the responder waits for its expected PSN without sending another NAK.
enum class Gap : std::uint8_t { kNone, kSequence, kNotReady };

inline constexpr Time_ps kInRing_ps = -1;

// Fields for a data packet come first, in one cache line.
struct Requester {
  // The send queue: WQEs [head, tail), ring of a power of two; `tx` is the one being sent.
  std::unique_ptr<SendWqe[]> wqes;
  std::uint32_t mask = 0;
  std::uint32_t head = 0;
  std::uint32_t tx = 0;
  std::uint32_t tail = 0;
  std::uint32_t tx_packet = 0;  // packets of `tx` already sent
  std::uint32_t una_psn = 0;    // oldest not acknowledged
  std::uint32_t high_psn = 0;   // one past the highest PSN ever sent
  bool started = false;         // `tx` has been let through as a message
  bool limited = false;         // the peer advertises credits
  bool timer_queued = false;
  bool implied_nak = false;         // a response gap was acted upon and nothing moved since
  Time_ps queued_ps = kNever_ps;    // where the port has it: waiting until then, in a ring, or nowhere
  Time_ps hold_until_ps = 0;        // RNR wait, NAK reaction
  Time_ps deadline_ps = kNever_ps;  // local ACK timeout
  // So far what a data packet needs.
  Time_ps last_ack_ps = 0;  // something was acknowledged, or the first packet after nothing was due left
  Time_ps ack_gap_ps = 0;   // decaying maximum of the time between two such
  Time_ps timer_ps = 0;     // when timer_queued: when it comes up; a later entry of before is ignored
  std::uint8_t retries_left = 0;
  std::uint8_t rnr_left = 0;
  std::uint8_t adaptive_step = 0;   // adaptive retransmissions since the last progress
  bool sequence_nak = false;        // a NAK was acted upon and nothing moved since: another is a copy
  bool timed_out = false;           // a timeout expired and nothing moved since
  std::uint32_t next_psn = 0;       // of the next WQE to be posted
  std::uint32_t responses_due = 0;  // READ and atomic requests sent and not answered
  std::uint32_t limit_msn = 0;      // credits: messages up to this MSN may be sent
  std::uint32_t acked_msn = 0;
  Time_ps next_message_ps = 0;   // WQE rate of one QP
  Time_ps timed_ps = kNever_ps;  // when the packet before `timed_psn` left, if its round trip is being timed
  std::uint32_t timed_psn = 0;
  std::uint32_t drain_end = 0;  // in SQD: the first WQE that does not begin
  bool has_context = false;     // waited for its context: the next message begins, whatever else the NIC fetches

  SendWqe& at(std::uint32_t index) { return wqes[index & mask]; }
  void next_wqe() {
    WEFT_DCHECK(tx != tail, "the send queue has no next work request");
    ++tx;
    tx_packet = 0;
    started = false;
  }
};

struct Responder {
  std::uint32_t head = 0;  // of the receive queue
  std::uint32_t tail = 0;
  std::uint32_t expected_psn = 0;
  std::uint32_t msn = 0;
  Gap gap = Gap::kNone;
  bool in_message = false;
  bool is_write = false;
  std::uint32_t unacked = 0;  // packets accepted since the last ACK
  std::uint64_t va = 0;       // where the next payload goes
  std::uint32_t rkey = 0;     // WRITE, or lkey of the receive
  std::uint32_t left_B = 0;   // WRITE: DMALen not received; SEND: room in the receive
  std::uint32_t received_B = 0;
  std::uint32_t checked = 0;  // MemoryTable::changes() when all that is left was found allowed and without bytes
  Time_ps placed_ps = 0;      // when the last payload left for memory
  Time_ps queued_ps = kNever_ps;
  // So far what a data packet needs.
  std::vector<ReceiveRequest> receives;
  std::uint32_t mask = 0;      // of receives
  std::vector<Reply> replies;  // ring, grows as it is needed
  std::uint32_t reply_head = 0;
  std::uint32_t reply_tail = 0;
  std::vector<SavedAtomic> atomics;  // ring of max_dest_rd_atomic, from the first on
  std::uint32_t atomic_next = 0;
  std::uint32_t requests_waiting = 0;  // READs and atomics without an answer yet, repeated ones not counted
  std::uint32_t worst_telemetry = engine::kNoSlot;  // longest queue and residence of each hop so far
  std::uint32_t telemetry = engine::kNoSlot;        // what switches wrote on the way here, for the next ACK

  // Payload goes there from now on, so much of it at most.
  void aim(std::uint64_t at_va, std::uint32_t key, std::uint32_t length_B) {
    va = at_va;
    rkey = key;
    left_B = length_B;
    checked = 0;
  }
  Reply& next_reply() {
    WEFT_DCHECK(reply_head != reply_tail, "the next reply of a responder that has none");
    return replies[reply_head % replies.size()];
  }
};

// Ordered by cache line: both sides, the responder, the requester, congestion control.
struct alignas(64) QueuePair {
  engine::Packet packet;  // what all packets of this QP have in common
  const Transport* transport = nullptr;
  std::uint32_t qpn = 0;
  QpState state = QpState::kReset;
  std::uint8_t function = 0;
  enum Flag : std::uint8_t {
    kLive = 1,
    kEstablished = 2,
    kUsesSrq = 4,
    kTimesPackets = 8,          // for congestion control
    kAsksForTelemetry = 16,     // with its data packets
    kDrained = 32,              // in SQD, and everything that had begun is done
    kTellsDrained = 64,         // … of which there is to be an event
    kBlocksOwnMulticast = 128,  // what it sends to a group that it is attached to does not come back to it
  };
  std::uint8_t flags = 0;  // a destroyed queue pair has none and is in RESET
  Wait wait = Wait::kPost;
  QpAttributes attributes;
  std::uint32_t send_cq = 0;
  std::uint32_t receive_cq = 0;
  std::uint32_t srq = kNoSrq;
  std::uint32_t pd = 0;
  std::uint32_t xrc_domain = 0;  // of a target of XRC: which shared receive queues its packets may name
  alignas(64) Responder resp;
  alignas(64) Requester req;
  alignas(64) Time_ps pace_ps = 0;  // not before: looked at again then
  Time_ps next_send_ps = 0;         // when the last packet is paid for at the present pace
  Time_ps last_sent_ps = 0;         // data packet
  CongestionState congestion;       // of what it sends: requests, and READ data
  std::uint64_t retransmitted_packets = 0;
  std::uint64_t cnps_received = 0;
  std::unique_ptr<std::byte[]> own;  // of the transport: own_state()

  void set_flag(Flag flag, bool on) { flags = static_cast<std::uint8_t>(on ? flags | flag : flags & ~flag); }
};

}  // namespace weft::nic
