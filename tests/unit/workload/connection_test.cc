#include "workload/connection.h"

#include <gtest/gtest.h>

#include "support/host_pair.h"

namespace weft::workload {
namespace {

using support::HostPair;
using support::HostPairOptions;

Endpoint end(HostPair& pair, std::uint32_t side, std::uint32_t mtu_B = 4096) {
  Endpoint e;
  e.host = &pair.host(side);
  e.device = &pair.device(side);
  e.active_mtu_B = mtu_B;
  return e;
}

TEST(Connection, BothEndsAreReadyAndAgree) {
  HostPair pair;
  ConnectionSettings settings;
  settings.qps = 3;
  Connection c = connect(end(pair, 0), end(pair, 1), settings);
  ASSERT_EQ(c.qps.size(), 3U);
  for (const QpPair& qp : c.qps) {
    const nic::QueuePair& client = pair.device(0).qp(qp.client);
    const nic::QueuePair& server = pair.device(1).qp(qp.server);
    EXPECT_EQ(client.state, nic::QpState::kRts);
    EXPECT_EQ(server.state, nic::QpState::kRts);
    EXPECT_EQ(client.attributes.remote_qpn, qp.server);
    EXPECT_EQ(server.attributes.remote_qpn, qp.client);
    EXPECT_EQ(client.attributes.remote_port, 1U);
    EXPECT_EQ(client.req.next_psn, qp.client_psn);
    EXPECT_EQ(server.resp.expected_psn, qp.client_psn);
    EXPECT_EQ(client.resp.expected_psn, qp.server_psn);
    EXPECT_EQ(client.packet.udp_src_port, server.packet.udp_src_port) << "the formula is symmetric";
  }
  EXPECT_NE(c.qps[0].client, c.qps[1].client);
}

TEST(Connection, SmallerMtuWins) {
  HostPair pair;
  EXPECT_EQ(connect(end(pair, 0, 4096), end(pair, 1, 1024), {}).mtu_B, 1024U);
  EXPECT_EQ(connect(end(pair, 0, 2048), end(pair, 1, 4096), {}).mtu_B, 2048U);
  ConnectionSettings settings;
  settings.mtu_B = 512;
  EXPECT_EQ(connect(end(pair, 0), end(pair, 1), settings).mtu_B, 512U);
  settings.mtu_B = 4096;
  EXPECT_EQ(connect(end(pair, 0, 1024), end(pair, 1), settings).mtu_B, 1024U);
}

// What the requester may have outstanding is what the responder can remember (rdma_cm: min of initiator depth and
// responder resources).
TEST(Connection, OutstandingReadsAreMinimumOfBothNics) {
  HostPairOptions options;
  options.model[0].max_rd_atomic = 16;
  options.model[1].max_rd_atomic = 4;
  HostPair pair(options);
  Connection c = connect(end(pair, 0), end(pair, 1), {});
  EXPECT_EQ(pair.device(0).qp(c.qps[0].client).attributes.max_rd_atomic, 4U);
  EXPECT_EQ(pair.device(1).qp(c.qps[0].server).attributes.max_rd_atomic, 4U);
}

TEST(Connection, DeadPeerStaysInReset) {
  HostPair pair;
  ConnectionSettings settings;
  settings.connect_server = false;
  Connection c = connect(end(pair, 0), end(pair, 1), settings);
  EXPECT_EQ(pair.device(0).qp(c.qps[0].client).state, nic::QpState::kRts);
  EXPECT_EQ(pair.device(1).qp(c.qps[0].server).state, nic::QpState::kReset);
}

}  // namespace
}  // namespace weft::workload
