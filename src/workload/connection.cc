#include "workload/connection.h"

#include <algorithm>

#include "base/check.h"

namespace weft::workload {

namespace {

void bring_up_end(const Endpoint& end, const Endpoint& peer, const ConnectionSettings& settings, std::uint32_t mtu_B,
                  std::uint32_t qpn, std::uint32_t peer_qpn, std::uint32_t psn, std::uint32_t peer_psn) {
  if (!end.is_here()) return;
  nic::QpAttributes attributes;
  attributes.access = settings.server_access;
  attributes.qkey = kWorkloadQkey;
  attributes.path_mtu_B = mtu_B;
  attributes.local_port = end.port;
  attributes.remote_port = peer.port_id();
  attributes.remote_qpn = peer_qpn;
  attributes.rq_psn = peer_psn;
  attributes.sq_psn = psn;
  // What the requester may have outstanding is what the responder can remember.
  attributes.max_rd_atomic = std::min({settings.max_rd_atomic, end.max_rd_atomic(), peer.max_rd_atomic()});
  attributes.max_dest_rd_atomic = attributes.max_rd_atomic;
  attributes.timeout = settings.timeout;
  attributes.retry_cnt = settings.retry_cnt;
  attributes.rnr_retry = settings.rnr_retry;
  attributes.min_rnr_timer = settings.min_rnr_timer;
  attributes.tos = end.tos;
  attributes.priority = end.priority;
  attributes.telemetry = settings.telemetry;
  bool up = end.device->modify(qpn, nic::QpState::kInit, attributes) &&
            end.device->modify(qpn, nic::QpState::kRtr, attributes) &&
            end.device->modify(qpn, nic::QpState::kRts, attributes);
  WEFT_CHECK(up, "a fresh QP goes RESET, INIT, RTR, RTS");
}

}  // namespace

void bring_up(const Endpoint& client, const Endpoint& server, const ConnectionSettings& settings, std::uint32_t mtu_B,
              const QpPair& pair) {
  bring_up_end(client, server, settings, mtu_B, pair.client, pair.server, pair.client_psn, pair.server_psn);
  if (!settings.connect_server) return;
  bring_up_end(server, client, settings, mtu_B, pair.server, pair.client, pair.server_psn, pair.client_psn);
}

Connection connect(const Endpoint& client, const Endpoint& server, const ConnectionSettings& settings) {
  Connection connection;
  connection.mtu_B = std::min(client.active_mtu_B, server.active_mtu_B);
  if (settings.mtu_B != 0) connection.mtu_B = std::min(connection.mtu_B, settings.mtu_B);
  // A CQ with room for everything that can complete at once.
  std::uint32_t send_entries = settings.qps * settings.send_depth + 64;
  std::uint32_t receive_entries = settings.qps * settings.receive_depth + 64;
  connection.client_send_cq = client.device->create_cq(send_entries);
  connection.client_receive_cq = client.device->create_cq(receive_entries);
  connection.server_send_cq = server.device->create_cq(send_entries);
  connection.server_receive_cq = server.device->create_cq(receive_entries);
  nic::QpType type = settings.ud ? nic::QpType::kUd : nic::QpType::kRc;
  for (std::uint32_t i = 0; i < settings.qps; ++i) {
    QpPair pair;
    pair.client = client.create_qp(type, connection.client_send_cq, connection.client_receive_cq, settings.send_depth,
                                   settings.receive_depth);
    pair.server = server.create_qp(type, connection.server_send_cq, connection.server_receive_cq, settings.send_depth,
                                   settings.receive_depth);
    pair.client_psn = client.random_psn();
    pair.server_psn = server.random_psn();
    bring_up(client, server, settings, connection.mtu_B, pair);
    connection.qps.push_back(pair);
  }
  return connection;
}

}  // namespace weft::workload
