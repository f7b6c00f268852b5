#include "analyze/cm_check.h"

#include <gtest/gtest.h>

#include "unit/analyze/finding_ids.h"

namespace weft::analyze {
namespace {

struct CmCheckTest : testing::Test {
  CmCheckTest() {
    a = addresses.id_of(wire::ipv4_mapped(10, 0, 0, 1));
    b = addresses.id_of(wire::ipv4_mapped(10, 0, 0, 2));
    request.local_comm_id = 5;
    request.qpn = 0x11;
    request.starting_psn = 700;
    request.path_mtu = 3;
    reply.local_comm_id = 9;
    reply.remote_comm_id = 5;
    reply.qpn = 0x22;
    reply.starting_psn = 300;
  }

  void see_cm(AddressId src, AddressId dst, const wire::CmMessage& message) {
    const wire::Mad mad = wire::build_cm_mad(message);
    Frame frame = packet(src, dst, 1, wire::Opcode::kUdSendOnly, 0);
    frame.has_deth = true;
    frame.payload = mad;
    check.see(frame, streams);
  }
  Frame packet(AddressId src, AddressId dst, std::uint32_t qp, wire::Opcode opcode, std::uint32_t psn) {
    Frame frame;
    frame.kind = FrameKind::kRoce;
    frame.number = ++number;
    frame.time_ns = static_cast<std::int64_t>(1'000 * number);
    frame.src = src;
    frame.dst = dst;
    frame.dest_qp = qp;
    frame.opcode = opcode;
    frame.psn = psn;
    return frame;
  }
  Ids ids() {
    Findings findings;
    check.finish(addresses, streams, 1'000'000'000, findings);
    return ids_of(findings);
  }

  Addresses addresses;
  Streams streams;
  CmCheck check;
  AddressId a = 0, b = 0;
  wire::CmReq request;
  wire::CmRep reply;
  std::uint64_t number = 0;
};

TEST_F(CmCheckTest, HandshakePairsStreams) {
  see_cm(a, b, {1, request});
  see_cm(b, a, {1, reply});
  see_cm(a, b, {1, wire::CmRtu{.local_comm_id = 5, .remote_comm_id = 9}});
  const StreamId requests = streams.see(packet(a, b, 0x22, wire::Opcode::kSendOnly, 300));
  const StreamId others = streams.see(packet(b, a, 0x11, wire::Opcode::kSendOnly, 700));  // no answer, no equal PSN
  EXPECT_EQ(streams[requests].reverse, others);
  EXPECT_TRUE(check.connections().front().established);
  EXPECT_EQ(ids(), Ids{});
}

TEST_F(CmCheckTest, OtherFirstPsnThanAgreed) {
  see_cm(a, b, {1, request});
  see_cm(b, a, {1, reply});
  streams.see(packet(a, b, 0x22, wire::Opcode::kSendOnly, 301));
  EXPECT_EQ(ids(), Ids{"connection-setup.mismatch"});
}

TEST_F(CmCheckTest, LargerPacketsThanAgreed) {
  see_cm(a, b, {1, request});
  see_cm(b, a, {1, reply});
  Frame frame = packet(a, b, 0x22, wire::Opcode::kSendOnly, 300);
  frame.payload_B = 4096;
  streams.see(frame);
  EXPECT_EQ(ids(), Ids{"connection-setup.mismatch"});
}

TEST_F(CmCheckTest, RejectionNamesItsReason) {
  see_cm(a, b, {1, request});
  wire::CmRej reject;
  reject.remote_comm_id = 5;
  reject.reason = 8;
  see_cm(b, a, {1, reject});
  EXPECT_EQ(ids(), Ids{"connection-setup.rejected"});
}

TEST_F(CmCheckTest, RequestsWithoutAnswer) {
  see_cm(a, b, {1, request});
  EXPECT_EQ(ids(), Ids{}) << "its answer may still come";
  see_cm(a, b, {1, request});
  EXPECT_EQ(ids(), Ids{"connection-setup.no-answer"});
}

}  // namespace
}  // namespace weft::analyze
