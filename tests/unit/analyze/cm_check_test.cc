#include <gtest/gtest.h>

#include "analyze/cm/check.h"
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
    frame.time_ns = static_cast<std::int64_t>(1'000 * number) + later_ns;
    frame.src = src;
    frame.dst = dst;
    frame.dest_qp = qp;
    frame.opcode = opcode;
    frame.psn = psn;
    return frame;
  }
  // Time passes, in nanoseconds.
  void wait(std::int64_t time_ns) { later_ns += time_ns; }
  void send(AddressId src, AddressId dst, std::uint32_t qp, std::uint32_t psn) {
    const Frame frame = packet(src, dst, qp, wire::Opcode::kSendOnly, psn);
    transport.see(frame, streams.see(frame), streams);
  }
  Ids ids() {
    findings = {};
    transport.end(streams);
    check.finish(addresses, streams, transport, 1'000'000'000, findings);
    return ids_of(findings);
  }

  Addresses addresses;
  Streams streams;
  CmCheck check;
  AddressId a = 0, b = 0;
  wire::CmReq request;
  wire::CmRep reply;
  std::uint64_t number = 0;
  std::int64_t later_ns = 0;
  RcTransport transport;
  Findings findings;
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

TEST_F(CmCheckTest, RetriesOfRequestKeepItsTimers) {
  constexpr std::int64_t kTimeout20_ns = 4'294'967'296;
  struct Case {
    std::int64_t gap_ns;
    std::uint8_t max_retries;
    bool keeps;
  };
  for (const Case& each :
       {Case{kTimeout20_ns, 15, true}, Case{kTimeout20_ns / 10, 15, false}, Case{kTimeout20_ns, 1, false}}) {
    check = {};
    request.remote_response_timeout = 20;
    request.max_retries = each.max_retries;
    for (int i = 0; i < 3; ++i) {
      see_cm(a, b, {1, request});
      wait(each.gap_ns);
    }
    EXPECT_EQ(ids(), each.keeps ? Ids{"connection-setup.no-answer"}
                                : (Ids{"connection-setup.no-answer", "connection-setup.retry"}));
  }
}

TEST_F(CmCheckTest, MraAsksToWait) {
  for (const bool waits : {true, false}) {
    check = {};
    request.remote_response_timeout = 10;  // 4.2 ms
    request.max_retries = 15;
    see_cm(a, b, {1, request});
    see_cm(b, a, {1, wire::CmMra{.local_comm_id = 9, .remote_comm_id = 5, .service_timeout = 18}});  // 1.07 s
    wait(waits ? 1'200'000'000 : 5'000'000);
    see_cm(a, b, {1, request});
    see_cm(b, a, {1, reply});
    EXPECT_EQ(ids(), waits ? Ids{} : Ids{"connection-setup.retry"});
  }
}

TEST_F(CmCheckTest, TimeoutsAreHeldAgainstHandshake) {
  request.path.ack_timeout = 14;  // 67.1 ms
  request.retry_count = 1;
  see_cm(a, b, {1, request});
  see_cm(b, a, {1, reply});
  for (int i = 0; i < 3; ++i) {
    send(a, b, 0x22, 300);
    wait(67'200'000);
  }
  EXPECT_EQ(ids(), Ids{"connection-setup.timeout"});
  const std::string& what = findings.all().at(0).what;
  EXPECT_NE(what.find("local ACK timeout 14 (67.1 ms) and 1 retries; measured: 2 timeouts"), std::string::npos) << what;
  EXPECT_NE(what.find("as agreed"), std::string::npos) << what;
  EXPECT_NE(what.find("2 in a row, more than the handshake names"), std::string::npos) << what;
}

TEST_F(CmCheckTest, ShorterTimeoutIsNamed) {
  request.path.ack_timeout = 18;  // 1.07 s
  request.retry_count = 7;
  see_cm(a, b, {1, request});
  see_cm(b, a, {1, reply});
  for (int i = 0; i < 2; ++i) {
    send(a, b, 0x22, 300);
    wait(67'200'000);
  }
  EXPECT_EQ(ids(), Ids{"connection-setup.timeout"});
  EXPECT_NE(findings.all().at(0).what.find("shorter than agreed"), std::string::npos);
}

}  // namespace
}  // namespace weft::analyze
