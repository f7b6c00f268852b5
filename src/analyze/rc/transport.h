// The transport checks: what RC, XRC, UC and UD packets say, stream by stream (IBTA vol 1, chapter 9). Sees every RoCE
// packet that a NIC would accept; at the end it makes one conversation of all the capture points that saw it, and the
// findings of the checks 2 to 13 and 24 and of the path MTU. Memory: one RcFlow for each of the first kMostFlows
// streams with requests.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "analyze/findings/analysis.h"
#include "analyze/frames/frame.h"
#include "analyze/rc/flow.h"
#include "analyze/streams/streams.h"

namespace weft::analyze {

// Rows of the tables "messages" and "retransmissions", by flow.
struct MessageRow {
  std::uint32_t flow = 0;
  Verb verb{};
  std::uint32_t first_psn = 0, last_psn = 0;
  std::uint64_t size_B = 0;
  std::int64_t start_ns = 0, end_ns = 0;
};
struct RetransmissionRow {
  std::uint32_t flow = 0;
  Cause cause{};
  std::uint64_t frame = 0;
  std::uint32_t psn = 0, packets = 0;
  std::int64_t time_ns = 0, waited_ns = 0;
};

class RcTransport {
 public:
  static constexpr std::size_t kMostFlows = 100'000;
  static constexpr std::size_t kMostHistograms = 20'000;  // up to 1 KiB each, 15 where times are nonsense
  static constexpr std::size_t kMostTroubles = 20'000;
  static constexpr std::size_t kMostRows = 20'000;

  // Message rows are kept only where a table of them is asked for.
  explicit RcTransport(bool keep_messages = false, const std::vector<CapturePoint>* points = nullptr)
      : keep_messages_(keep_messages), points_(points) {}

  void see(const Frame& frame, StreamId stream, const Streams& streams);
  // The capture has ended. Tells the streams how long their answers took.
  void end(Streams& streams);

  const std::deque<RcFlow>& flows() const { return flows_; }
  const RcFlow* flow_of(StreamId stream) const {
    return stream < by_stream_.size() && by_stream_[stream] != kNone ? &flows_[by_stream_[stream]] : nullptr;
  }
  std::uint32_t number_of(const RcFlow& flow) const { return by_stream_[flow.stream]; }
  const std::vector<MessageRow>& messages() const { return messages_; }
  const std::vector<RetransmissionRow>& retransmissions() const { return retransmissions_; }
  std::uint64_t unpaired_answers() const { return unpaired_answers_; }
  // NAKs and RNR NAKs among those.
  std::uint32_t unpaired_naks() const { return unpaired_naks_; }
  std::uint32_t unpaired_rnrs() const { return unpaired_rnrs_; }
  // Does a connection there acknowledge packets that were not captured?
  bool is_incomplete(PointId point) const { return point < not_captured_.size() && not_captured_[point] > 0; }
  // Packets of one queue pair behind later ones, at a point; those of them that no wire can have carried so, too close
  // together for its speed or after their own ACK; and those that nobody asked for, with the packets that they are of.
  struct LatePackets {
    std::uint64_t late = 0, impossible = 0, asked = 0, unasked = 0, of = 0;
    Evidence first{};
  };
  std::span<const LatePackets> late_packets() const { return late_; }
  // The stamps by which the file was sorted are not exact. Where more than a few packets are out of order and nobody
  // asks for them, the fabric sprays.
  bool has_inexact_order(PointId point) const {
    constexpr std::uint64_t kMostPerProof = 50, kFewOf = 20;
    if (point >= late_.size()) return false;
    const LatePackets& late = late_[point];
    if (late.late > 0 && late.impossible * kMostPerProof >= late.late) return true;
    return late.unasked > late.asked && late.unasked * kFewOf <= late.of;
  }
  std::uint64_t flows_left_out() const { return flows_left_out_; }

 private:
  RcFlow* flow_for(StreamId stream);
  // rc_requests.cc: where a request stands in the circle of PSNs
  void see_request(const Frame& frame, RcFlow& flow);
  void start(const Frame& frame, RcFlow& flow);
  void see_leap(const Frame& frame, RcFlow& flow);
  // These two are false for a late packet, behind which the others go on.
  bool see_jump(const Frame& frame, std::uint32_t span, RcFlow& flow);
  void see_new(const Frame& frame, std::uint32_t span, RcFlow& flow);
  bool see_again(const Frame& frame, std::uint32_t span, RcFlow& flow);
  void begin_earlier(const Frame& frame, RcFlow& flow);
  void see_copy(const Frame& frame, std::uint32_t span, RcFlow& flow);
  bool see_late(const Frame& frame, std::uint32_t span, RcFlow& flow);
  void open_hole(const Frame& frame, std::uint32_t first, std::uint32_t end, RcFlow& flow);
  bool fill_hole(std::uint32_t psn, std::uint32_t span, RcFlow& flow);
  static void expect(const Frame& frame, std::uint32_t span, RcFlow& flow);
  void see_datagram(const Frame& frame, RcFlow& flow);
  // rc_passes.cc: what is retransmitted, and why
  void begin_pass(const Frame& frame, RcFlow& flow);
  void end_pass(PassEnd how, RcFlow& flow);
  static void forget_timeout(RcFlow& flow);
  void see_selective(std::uint32_t acked_psn, RcFlow& flow);
  void late_original(const Frame& frame, RcFlow& flow);
  Cause cause_of(const Frame& frame, RcFlow& flow, std::int64_t& waited_ns);
  void count_retransmission(PassEnd how, RcFlow& flow);
  void count_unexplained(RcFlow& flow);
  // rc_messages.cc: packets of a message, new ones only
  void see_message(const Frame& frame, std::uint32_t span, RcFlow& flow);
  void see_extension(const Frame& frame, RcFlow& flow);
  void check_payload(const Frame& frame, RcFlow& flow);
  void end_message(const Frame& frame, Verb verb, std::uint32_t span, RcFlow& flow);
  void await(const Frame& frame, std::uint32_t last_psn, bool ends_message, Verb verb, std::uint64_t size_B,
             RcFlow& flow);
  // rc_answers.cc: ACKs and NAKs
  void see_answer(const Frame& frame, RcFlow& flow);
  void see_reserved(const Frame& frame, RcFlow& flow);
  void see_earlier(const Frame& frame, RcFlow& flow);
  void see_ack(const Frame& frame, RcFlow& flow);
  void see_nak(const Frame& frame, RcFlow& flow);
  void place_nak(const Frame& frame, bool repeated, RcFlow& flow);
  void see_rnr(const Frame& frame, RcFlow& flow);
  bool begins_anew(const Frame& frame, const RcFlow& flow) const;
  void begin_anew(RcFlow& flow);
  void check_order(const Frame& frame, RcFlow& flow);
  void check_msn(const Frame& frame, RcFlow& flow);
  void acknowledge(std::uint32_t psn, const Frame& frame, RcFlow& flow);
  void complete(const Awaited& awaited, const Frame& frame, bool is_last, RcFlow& flow);
  // rc_reads.cc: READ responses
  void ask_read(const Frame& frame, std::uint32_t span, RcFlow& flow);
  void see_response(const Frame& frame, RcFlow& flow);
  void size_read(OutstandingRead& read, const Frame& frame, RcFlow& flow);
  void restart_responses(const Frame& frame, RcFlow& flow);
  void check_response(const Frame& frame, const OutstandingRead& read, RcFlow& flow);
  bool see_unasked(const Frame& frame, RcFlow& flow);
  void answer_reads_before(std::uint32_t psn, const Frame& frame, RcFlow& flow);
  void open_response_gap(std::uint32_t first, std::uint32_t end, const Frame& frame, RcFlow& flow);
  void come_late(const Frame& frame, RcFlow& flow);
  void come_behind_copy(const Frame& frame, RcFlow& flow);
  void end_response_gap(const ResponseGap& gap, bool is_lost, RcFlow& flow);
  bool ask_for_gap(std::uint32_t psn, RcFlow& flow);
  void end_reads(RcFlow& flow);
  static void skip_answers_before(const Stream& answers, const Frame& frame, RcFlow& flow);
  void fill_response_gap(const Frame& frame, RcFlow& flow);
  static bool count_response(const Frame& frame, RcFlow& flow);

  FlowTrouble* trouble_of(RcFlow& flow);
  void note(Trouble trouble, const Frame& frame, RcFlow& flow, std::int64_t value = 0);
  void note(Trouble trouble, std::uint64_t frame, std::int64_t time_ns, std::uint32_t psn, RcFlow& flow,
            std::int64_t value = 0);
  void add_latency(std::unique_ptr<LogHistogram>& histogram, std::int64_t ns);

  void miss_packets(const Frame& frame, std::uint32_t first, std::uint32_t end, RcFlow& flow);
  void see_not_captured(const Frame& frame, std::uint32_t packets, RcFlow& flow);
  std::uint64_t& not_captured_at(PointId point) {
    if (point >= not_captured_.size()) not_captured_.resize(point + 1);
    return not_captured_[point];
  }

  LatePackets& late_at(PointId point) {
    if (point >= late_.size()) late_.resize(point + 1);
    return late_[point];
  }
  // rc_order.cc: packets behind later ones
  void check_spacing(const Frame& frame, std::uint32_t overtaken_psn, RcFlow& flow);
  void see_overtaken(const LateSight& sight, RcFlow& flow);
  static void ask_for_late(std::uint32_t first_psn, std::uint32_t last_psn, RcFlow& flow);
  bool see_behind_ack(const Frame& frame, RcFlow& flow);
  void end_order(RcFlow& flow);

  bool keep_messages_;
  const std::vector<CapturePoint>* points_;
  std::vector<LatePackets> late_;            // by point
  std::vector<std::uint64_t> not_captured_;  // packets, by point
  std::vector<std::uint32_t> by_stream_;     // place in flows_, kNone
  std::deque<RcFlow> flows_;
  std::vector<MessageRow> messages_;
  std::vector<RetransmissionRow> retransmissions_;
  std::size_t histograms_ = 0, troubles_ = 0;
  std::uint64_t unpaired_answers_ = 0, flows_left_out_ = 0;
  std::uint32_t unpaired_naks_ = 0, unpaired_rnrs_ = 0;
};

}  // namespace weft::analyze
