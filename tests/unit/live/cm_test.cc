#include "live/cm/cm.h"

#include <gtest/gtest.h>

#include "unit/live/cm_pair.h"

namespace weft::live {
namespace {

// Linux: twice the way (2^8 ms) and the peer's time to answer (2^12 ms); a REP waits for the latter alone.
constexpr Time_ps kReqWait_ps = ms(2 * 256 + 4096), kRepWait_ps = ms(4096);

// The n-th MAD that leaves a node is lost; UD counts its PSNs from 0.
lab::FaultConfig lose(std::uint32_t node, std::uint32_t nth) {
  lab::FaultConfig fault;
  fault.from = {node, 0, 0};
  fault.rule.action = fabric::FaultAction::kDrop;
  fault.rule.qp = 0;
  fault.rule.psn = nth;
  return fault;
}

TEST(Cm, HandshakeConnectsBothQueuePairs) {
  CmPair pair;
  pair.listen();
  verbs::CmConn wish = with_qp(0x111, 4, 2);
  wish.retry_count = 6;
  wish.rnr_retry_count = 5;
  wish.private_B = 5;
  std::memcpy(wish.private_data, "hello", 5);
  std::uint32_t client = pair.connect(wish);
  pair.run_for(us(20));
  verbs::CmEvent request = pair.event(kServer);
  EXPECT_EQ(request.type, RDMA_CM_EVENT_CONNECT_REQUEST);
  EXPECT_EQ(request.conn.qpn, 0x111U);
  EXPECT_EQ(request.conn.responder_resources, 2) << "the other side's depth";
  EXPECT_EQ(request.conn.initiator_depth, 4);
  EXPECT_EQ(request.conn.private_B, 56U) << "what 36 bytes of addresses leave of 92";
  EXPECT_EQ(std::memcmp(request.conn.private_data, "hello", 6), 0);
  EXPECT_EQ(request.info.remote.bytes[15], 1) << "10.0.0.1";
  EXPECT_EQ(request.info.local_port, kListenPort);
  std::uint32_t server = request.info.id;
  verbs::CmConn accept = with_qp(0x222, 2, 3);
  accept.rnr_retry_count = 4;
  EXPECT_EQ(pair.call(kServer, Op::kCmAccept, verbs::CmConnect{server, accept}).error, 0);
  pair.run_for(us(20));
  EXPECT_EQ(pair.event(kClient).type, RDMA_CM_EVENT_CONNECT_RESPONSE);

  verbs::QpAttr at_client = pair.attr(kClient, client, IBV_QPS_RTR),
                at_server = pair.attr(kServer, server, IBV_QPS_RTR);
  EXPECT_EQ(at_client.dest_qpn, 0x222U);
  EXPECT_EQ(at_server.dest_qpn, 0x111U);
  EXPECT_EQ(at_client.path_mtu, 5U);
  EXPECT_EQ(at_client.max_dest_rd_atomic, 3U);
  EXPECT_EQ(at_server.max_dest_rd_atomic, 2U);
  EXPECT_EQ(std::memcmp(at_client.ah.dgid, pair.address_of(kServer).bytes, 16), 0);
  verbs::QpAttr client_sends = pair.attr(kClient, client, IBV_QPS_RTS);
  verbs::QpAttr server_sends = pair.attr(kServer, server, IBV_QPS_RTS);
  EXPECT_EQ(client_sends.sq_psn, at_server.rq_psn) << "each sends with the PSN that the other expects";
  EXPECT_EQ(server_sends.sq_psn, at_client.rq_psn);
  EXPECT_NE(client_sends.sq_psn, server_sends.sq_psn);
  EXPECT_EQ(client_sends.timeout, 18U) << "lifetime 16 twice is 17, and mlx5's delay of 16 makes it 18";
  EXPECT_EQ(server_sends.timeout, 18U);
  EXPECT_EQ(server_sends.retry_cnt, 6U);
  EXPECT_EQ(client_sends.rnr_retry, 4U) << "the REP's";

  EXPECT_EQ(pair.call(kClient, Op::kCmAccept, verbs::CmConnect{client, {}}).error, 0);
  pair.run_for(us(20));
  EXPECT_EQ(pair.event(kServer).type, RDMA_CM_EVENT_ESTABLISHED);
  EXPECT_FALSE(pair.poll(kClient));
}

TEST(Cm, DisconnectAndTimeWait) {
  CmPair pair;
  pair.listen();
  auto [client, server] = pair.establish();
  EXPECT_EQ(pair.call(kClient, Op::kCmDisconnect, verbs::Handle{client}).error, 0);
  pair.run_for(us(20));
  EXPECT_FALSE(pair.poll(kClient)) << "the peer's program has not answered";
  EXPECT_EQ(pair.event(kServer).type, RDMA_CM_EVENT_DISCONNECTED);
  EXPECT_EQ(pair.call(kServer, Op::kCmDisconnect, verbs::Handle{server}).error, 0);
  pair.run_for(us(20));
  verbs::CmEvent over = pair.event(kClient);
  EXPECT_EQ(over.type, RDMA_CM_EVENT_DISCONNECTED);
  EXPECT_EQ(over.status, 0);
  pair.run_for(ms(1023));
  EXPECT_FALSE(pair.poll(kClient));
  pair.run_for(ms(2));
  EXPECT_EQ(pair.event(kClient).type, RDMA_CM_EVENT_TIMEWAIT_EXIT);
  EXPECT_EQ(pair.event(kServer).type, RDMA_CM_EVENT_TIMEWAIT_EXIT);
}

// Those that find no room in the send queue go when there is some, not when the timer of their connection runs out.
TEST(Cm, SendsMoreAtOnceThanQueueHolds) {
  constexpr int kConnections = 300;
  CmPair pair;
  pair.listen();
  for (int i = 0; i < kConnections; ++i) pair.establish();
  pair.kill(kClient);
  pair.run_for(us(200));
  int disconnected = 0;
  while (auto event = pair.poll(kServer)) disconnected += event->type == RDMA_CM_EVENT_DISCONNECTED ? 1 : 0;
  EXPECT_EQ(disconnected, kConnections);
}

TEST(Cm, RetransmitsLostMessages) {
  // REQ, then of the server REP, then RTU, each lost once.
  CmPair pair({lose(kClient, 0), lose(kServer, 0), lose(kClient, 2)});
  pair.listen();
  std::uint32_t client = pair.connect(with_qp(1));
  pair.run_for(kReqWait_ps - ms(1));
  EXPECT_FALSE(pair.poll(kServer));
  pair.run_for(ms(2));
  std::uint32_t server = pair.event(kServer).info.id;
  EXPECT_EQ(pair.call(kServer, Op::kCmAccept, verbs::CmConnect{server, with_qp(2)}).error, 0);
  pair.run_for(kRepWait_ps - ms(1));
  EXPECT_FALSE(pair.poll(kClient));
  pair.run_for(ms(2));
  EXPECT_EQ(pair.event(kClient).type, RDMA_CM_EVENT_CONNECT_RESPONSE);
  EXPECT_EQ(pair.call(kClient, Op::kCmAccept, verbs::CmConnect{client, {}}).error, 0);
  pair.run_for(ms(1));
  EXPECT_FALSE(pair.poll(kServer));
  pair.run_for(kRepWait_ps);
  EXPECT_EQ(pair.event(kServer).type, RDMA_CM_EVENT_ESTABLISHED) << "the REP came twice, and so did the RTU";
}

TEST(Cm, GivesUpUnansweredRequest) {
  lab::FaultConfig cut;
  cut.from = {kClient, 0, 0};
  cut.rule.action = fabric::FaultAction::kDrop;
  CmPair deaf({cut});
  deaf.listen();
  deaf.connect(with_qp(1));
  deaf.run_for(16 * kReqWait_ps - ms(1));
  EXPECT_FALSE(deaf.poll(kClient)) << "once and 15 times again";
  deaf.run_for(ms(2));
  verbs::CmEvent event = deaf.event(kClient);
  EXPECT_EQ(event.type, RDMA_CM_EVENT_UNREACHABLE);
  EXPECT_EQ(event.status, -ETIMEDOUT);
}

// A program that thinks it over has 69 s: its node answers a REQ that comes again with an MRA.
TEST(Cm, WaitsForUndecidedProgram) {
  CmPair pair;
  pair.listen();
  std::uint32_t client = pair.connect(with_qp(1));
  pair.run_for(16 * kReqWait_ps + ms(500));
  EXPECT_FALSE(pair.poll(kClient));
  std::uint32_t server = pair.event(kServer).info.id;
  EXPECT_FALSE(pair.poll(kServer)) << "one request, however often it comes";
  EXPECT_EQ(pair.call(kServer, Op::kCmAccept, verbs::CmConnect{server, with_qp(2)}).error, 0);
  pair.run_for(us(20));
  EXPECT_EQ(pair.event(kClient).info.id, client);
}

TEST(Cm, RejectsCarryReasons) {
  CmPair pair;
  pair.connect(with_qp(1));
  pair.run_for(us(20));
  verbs::CmEvent nobody = pair.event(kClient);
  EXPECT_EQ(nobody.type, RDMA_CM_EVENT_REJECTED);
  EXPECT_EQ(nobody.status, 8) << "invalid service id";

  pair.listen(1);
  pair.connect(with_qp(1));
  pair.connect(with_qp(2));
  pair.run_for(us(20));
  EXPECT_EQ(pair.event(kClient).status, 28) << "the second: there is room for one that waits";
  verbs::CmConn why{};
  why.private_B = 3;
  std::memcpy(why.private_data, "no!", 3);
  std::uint32_t asked = pair.event(kServer).info.id;
  EXPECT_EQ(pair.call(kServer, Op::kCmReject, verbs::CmConnect{asked, why}).error, 0);
  pair.run_for(us(20));
  verbs::CmEvent rejected = pair.event(kClient);
  EXPECT_EQ(rejected.type, RDMA_CM_EVENT_REJECTED);
  EXPECT_EQ(rejected.status, 28) << "consumer reject";
  EXPECT_EQ(rejected.conn.private_B, 148U);
  EXPECT_EQ(std::memcmp(rejected.conn.private_data, "no!", 4), 0);
}

TEST(Cm, DeadProgramDisconnectsOrRejects) {
  CmPair pair;
  pair.listen();
  pair.establish();
  pair.connect(with_qp(3));
  pair.run_for(us(20));
  pair.kill(kServer);
  // First what it had not looked at, when its listener goes.
  EXPECT_EQ(pair.event(kClient).type, RDMA_CM_EVENT_REJECTED);
  EXPECT_EQ(pair.event(kClient).type, RDMA_CM_EVENT_DISCONNECTED);
}

TEST(Cm, ResolvesQueuePairForDatagrams) {
  CmPair pair;
  pair.listen(8, RDMA_PS_UDP);
  pair.connect(with_qp(1), RDMA_PS_UDP);
  pair.run_for(us(20));
  verbs::CmEvent request = pair.event(kServer);
  EXPECT_EQ(request.type, RDMA_CM_EVENT_CONNECT_REQUEST);
  EXPECT_EQ(pair.call(kServer, Op::kCmAccept, verbs::CmConnect{request.info.id, with_qp(0x333)}).error, 0);
  pair.run_for(us(20));
  verbs::CmEvent answer = pair.event(kClient);
  EXPECT_EQ(answer.type, RDMA_CM_EVENT_ESTABLISHED);
  EXPECT_EQ(answer.conn.qpn, 0x333U);
  EXPECT_EQ(answer.conn.qkey, 0x01234567U) << "RDMA_UDP_QKEY";
}

// tgt listens on 0.0.0.0 and on [::], each for its own family.
TEST(Cm, PortIsOfEachFamilyWithAfonly) {
  constexpr verbs::Address kAny4 = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0}};
  CmPair pair;
  const std::uint32_t four = pair.make_id(kServer), six = pair.make_id(kServer);
  EXPECT_EQ(pair.call(kServer, Op::kCmSetOption, verbs::CmOption{six, RDMA_OPTION_ID_AFONLY, 1}).error, 0);
  EXPECT_EQ(pair.call(kServer, Op::kCmBind, verbs::CmAddress{six, kListenPort, {}}).error, 0);
  EXPECT_EQ(pair.call(kServer, Op::kCmBind, verbs::CmAddress{four, kListenPort, kAny4}).error, EADDRINUSE)
      << "it would take both";
  EXPECT_EQ(pair.call(kServer, Op::kCmListen, verbs::CmListen{six, 1}).error, 0);
  EXPECT_EQ(pair.call(kServer, Op::kCmSetOption, verbs::CmOption{four, RDMA_OPTION_ID_AFONLY, 1}).error, 0);
  EXPECT_EQ(pair.call(kServer, Op::kCmBind, verbs::CmAddress{four, kListenPort, kAny4}).error, 0);
  EXPECT_EQ(pair.call(kServer, Op::kCmListen, verbs::CmListen{four, 1}).error, 0);
  pair.connect(with_qp(0x222));
  pair.run_for(us(20));
  const verbs::CmEvent request = pair.event(kServer);
  EXPECT_EQ(request.type, RDMA_CM_EVENT_CONNECT_REQUEST);
  EXPECT_EQ(request.listen_cookie, 1U) << "of the id that was made first";
}

TEST(Cm, AddressesAndPorts) {
  CmPair pair;
  std::uint32_t id = pair.make_id(kServer);
  verbs::Address foreign = pair.address_of(kClient);
  EXPECT_EQ(pair.call(kServer, Op::kCmBind, verbs::CmAddress{id, 1, foreign}).error, EADDRNOTAVAIL);
  pair.listen();
  EXPECT_EQ(pair.call(kServer, Op::kCmBind, verbs::CmAddress{id, kListenPort, {}}).error, EADDRINUSE);
  auto info = pair.ask<verbs::CmIdInfo>(kServer, Op::kCmBind, verbs::CmAddress{id, 0, pair.address_of(kServer)});
  EXPECT_GE(info.local_port, 32768U);
  EXPECT_EQ(info.device, 0U);
  std::uint32_t client = pair.make_id(kClient);
  verbs::Address nobody = foreign;
  nobody.bytes[15] = 77;
  EXPECT_EQ(pair.call(kClient, Op::kCmResolveAddress, verbs::CmResolve{client, 2000, 1, 0, nobody, {}}).error, 0);
  pair.run_for(ms(1999));
  EXPECT_FALSE(pair.poll(kClient));
  pair.run_for(ms(2));
  EXPECT_EQ(pair.event(kClient).type, RDMA_CM_EVENT_ADDR_ERROR);
}

// Whatever a program sends: an error, and the world goes on.
TEST(Cm, RejectsHostileRequests) {
  CmPair pair;
  std::uint32_t id = pair.make_id(kClient);
  for (std::uint32_t op = 128; op <= 145; ++op) {
    if (static_cast<Op>(op) == Op::kCmCreateChannel) continue;
    for (std::size_t size_B : {0UL, 1UL, 4UL, 12UL, 400UL}) {
      EXPECT_NE(pair.ask_raw(kClient, static_cast<Op>(op), std::vector<std::byte>(size_B)).error, 0) << op;
    }
  }
  EXPECT_EQ(pair.call(kClient, Op::kCmConnect, verbs::CmConnect{id, {}}).error, EINVAL) << "no route yet";
  EXPECT_EQ(pair.call(kClient, Op::kCmAccept, verbs::CmConnect{id, {}}).error, EINVAL);
  EXPECT_EQ(pair.call(kClient, Op::kCmReject, verbs::CmConnect{id, {}}).error, EINVAL);
  EXPECT_EQ(pair.call(kClient, Op::kCmDisconnect, verbs::Handle{id}).error, EINVAL);
  EXPECT_EQ(pair.call(kClient, Op::kCmMigrate, verbs::CmOption{id, 0, 999}).error, EINVAL);
  pair.listen();
  std::uint32_t asks = pair.make_id(kClient);
  verbs::CmResolve to{asks, 1000, kListenPort, 0, pair.address_of(kServer), {}};
  pair.call(kClient, Op::kCmResolveAddress, to);
  pair.call(kClient, Op::kCmResolveRoute, to);
  verbs::CmConn huge{};
  huge.private_B = 0xffffffff;
  EXPECT_EQ(pair.call(kClient, Op::kCmConnect, verbs::CmConnect{asks, huge}).error, EINVAL);
  EXPECT_EQ(pair.call(kClient, Op::kCmDestroyId, verbs::Handle{asks}).error, 0);
  EXPECT_EQ(pair.call(kClient, Op::kCmDestroyId, verbs::Handle{asks}).error, EINVAL);
}

}  // namespace
}  // namespace weft::live
