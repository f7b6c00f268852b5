// Small captures made by hand: requests of one queue pair and their answers, at one or two capture points, and what the
// transport checks say of them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "analyze/rc/findings.h"
#include "analyze/rc/tables.h"
#include "analyze/rc/transport.h"
#include "unit/analyze/finding_ids.h"

namespace weft::analyze {

using wire::Opcode;
inline constexpr std::uint8_t kAckAll = 31, kNakSequence = 0x60, kNakAccess = 0x62, kRnr640us = 0x20 | 12;

class RcCaptureTest : public testing::Test {
 protected:
  RcCaptureTest() { capture_.points.resize(2); }

  void see(Frame frame) {
    now_ns_ += 1000;
    frame.number = ++number_;
    frame.time_ns = now_ns_;
    frame.kind = FrameKind::kRoce;
    frame.p_key = 0xffff;
    if (capture_.frames++ == 0) capture_.begin_ns = capture_.first_ns = now_ns_;
    capture_.last_ns = now_ns_;
    const StreamId stream = streams_.see(frame);
    transport_.see(frame, stream, streams_);
  }
  // From host 0 to queue pair 0x11 of host 1, at a point.
  void request(Opcode opcode, std::uint32_t psn, std::uint32_t payload_B = 1024, std::uint32_t dma_len = 0,
               bool ack_req = false, PointId point = 0) {
    Frame frame;
    frame.point = point;
    frame.src = 0;
    frame.dst = 1;
    frame.dest_qp = 0x11;
    frame.opcode = opcode;
    frame.psn = psn & kPsnMask;
    frame.payload_B = payload_B;
    frame.has_reth = wire::has_reth(opcode);
    frame.dma_len = dma_len;
    frame.ack_req = ack_req;
    see(frame);
  }
  void answer(Opcode opcode, std::uint32_t psn, std::uint8_t syndrome, std::uint32_t msn, std::uint32_t payload_B = 0,
              PointId point = 0) {
    Frame frame;
    frame.point = point;
    frame.src = 1;
    frame.dst = 0;
    frame.dest_qp = 0x22;
    frame.opcode = opcode;
    frame.psn = psn & kPsnMask;
    frame.payload_B = payload_B;
    frame.has_aeth = wire::has_aeth(opcode);
    frame.syndrome = syndrome;
    frame.msn = msn;
    see(frame);
  }
  void ack(std::uint32_t psn, std::uint32_t msn, std::uint8_t syndrome = kAckAll) {
    answer(Opcode::kAck, psn, syndrome, msn);
  }
  void only(std::uint32_t psn) { request(Opcode::kSendOnly, psn, 64, 0, true); }
  // A WRITE of so many packets of 1024 B, without those in `lost`.
  void write(std::uint32_t psn, std::uint32_t packets, std::vector<std::uint32_t> lost = {}, PointId point = 0) {
    for (std::uint32_t i = 0; i < packets; ++i) {
      if (std::find(lost.begin(), lost.end(), psn + i) != lost.end()) continue;
      const Opcode opcode = i == 0 ? Opcode::kWriteFirst : i + 1 == packets ? Opcode::kWriteLast : Opcode::kWriteMiddle;
      request(opcode, psn + i, 1024, i == 0 ? packets * 1024 : 0, i + 1 == packets, point);
    }
  }
  void wait(std::int64_t ns) { now_ns_ += ns; }

  void finish() {
    transport_.end(streams_);
    const RcContext context{transport_, streams_, capture_};
    Addresses addresses;
    wire::IpAddress address{};
    addresses.id_of(address);
    address[15] = 1;
    addresses.id_of(address);
    conversations_ = rc_conversations(context, addresses);
    find_transport_troubles(context, conversations_, findings_);
    add_transport_tables(context, conversations_, tables_);
  }
  Ids found() {
    finish();
    return ids_of(findings_);
  }
  bool finds(std::string_view id) {
    const Ids ids = found();
    return std::find(ids.begin(), ids.end(), id) != ids.end();
  }
  const Conversation& conversation() { return conversations_.at(0).summary; }
  Verdict verdict(std::string_view check) {
    for (const CheckResult& result : findings_.checks())
      if (result.check == check) return result.verdict;
    return Verdict::kNotEnough;
  }

  Streams streams_;
  CaptureSummary capture_;
  RcTransport transport_{true, &capture_.points};
  Findings findings_;
  std::vector<RcConversation> conversations_;
  std::vector<Table> tables_;
  std::int64_t now_ns_ = 0;
  std::uint64_t number_ = 0;
};

using None = Ids;

}  // namespace weft::analyze
