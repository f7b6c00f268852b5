// Two communication managers and a cable, without programs: what a program would ask is asked by the test.
#pragma once

#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "live/cm/cm.h"
#include "live/verbs/grh.h"
#include "support/labs.h"
#include "unit/live/no_threads.h"

namespace weft::live {

using verbs::Op;

inline constexpr std::uint32_t kClient = 0, kServer = 1;  // nodes
inline constexpr std::uint32_t kListenPort = 7174;

inline verbs::CmConn with_qp(std::uint32_t qpn, std::uint8_t responder_resources = 0,
                             std::uint8_t initiator_depth = 0) {
  verbs::CmConn conn{};
  conn.qpn = qpn;
  conn.responder_resources = responder_resources;
  conn.initiator_depth = initiator_depth;
  return conn;
}

class CmPair {
 public:
  explicit CmPair(const std::vector<lab::FaultConfig>& faults = {}) : lab_(support::two_host_lab()) {
    lab_.faults = faults;
    world_.emplace(lab_, lab::WorldOptions{.carry_payload = true});
    addresses_.emplace(*world_);
    for (std::uint32_t i = 0; i < 2; ++i) {
      world_->host(i).set_hooks({this, [](void*, nic::Device&, nic::AsyncKind, std::uint32_t, Time_ps) {},
                                 [](void*, nic::Device&, std::uint32_t, Time_ps) {}, make_grh});
      nodes_.push_back(std::make_unique<Node>(threads_, world_->host(i), i));
      services_.push_back(std::make_unique<VerbsService>(*world_, *addresses_, *nodes_[i], i));
      managers_.push_back(std::make_unique<CommunicationManager>(*world_, *nodes_[i], *services_[i]));
      processes_.push_back(std::make_shared<Process>());
      processes_[i]->node = nodes_[i].get();
      channel_[i] = ask<verbs::Handle>(i, Op::kCmCreateChannel).handle;
    }
  }

  // Asks at the present time; time goes on by little.
  Reply ask_raw(std::uint32_t node, Op op, std::vector<std::byte> body = {}) {
    Reply reply = Reply::failed(EAGAIN);
    Request request;
    request.op = op;
    request.body = std::move(body);
    Time_ps now_ps = world_->engine().horizon_ps();
    nodes_[node]->at(now_ps, 0, [&](Time_ps at_ps) {
      auto answer = managers_[node]->answer(*processes_[node], request, at_ps);
      if (answer) reply = *answer;
    });
    world_->engine().run(now_ps + ns(100));
    return reply;
  }
  template <typename Body>
  Reply call(std::uint32_t node, Op op, const Body& body) {
    std::vector<std::byte> bytes(sizeof(body));
    std::memcpy(bytes.data(), &body, sizeof(body));
    return ask_raw(node, op, std::move(bytes));
  }
  template <typename Out>
  static Out read(const Reply& reply) {
    Out out{};
    EXPECT_EQ(reply.error, 0);
    EXPECT_EQ(reply.body.size(), sizeof(out));
    if (reply.body.size() == sizeof(out)) std::memcpy(&out, reply.body.data(), sizeof(out));
    return out;
  }
  template <typename Out>
  Out ask(std::uint32_t node, Op op) {
    return read<Out>(ask_raw(node, op));
  }
  template <typename Out, typename Body>
  Out ask(std::uint32_t node, Op op, const Body& body) {
    return read<Out>(call(node, op, body));
  }

  std::uint32_t make_id(std::uint32_t node, std::uint32_t port_space = RDMA_PS_TCP) {
    auto type = static_cast<std::uint32_t>(port_space == RDMA_PS_UDP ? IBV_QPT_UD : IBV_QPT_RC);
    return ask<verbs::Handle>(node, Op::kCmCreateId, verbs::CmCreateId{channel_[node], port_space, type, 0, ++cookie_})
        .handle;
  }
  std::uint32_t listen(std::uint32_t backlog = 8, std::uint32_t port_space = RDMA_PS_TCP) {
    std::uint32_t id = make_id(kServer, port_space);
    ask<verbs::CmIdInfo>(kServer, Op::kCmBind, verbs::CmAddress{id, kListenPort, {}});
    ask<verbs::CmIdInfo>(kServer, Op::kCmListen, verbs::CmListen{id, backlog});
    return id;
  }
  verbs::Address address_of(std::uint32_t node) const {
    verbs::Address address{};
    std::memcpy(address.bytes, lab_.hosts[node].nics[0].ports[0].address.bytes, 16);
    return address;
  }
  // Up to and with the REQ; the events on the way are taken.
  std::uint32_t connect(const verbs::CmConn& conn, std::uint32_t port_space = RDMA_PS_TCP) {
    std::uint32_t id = make_id(kClient, port_space);
    verbs::CmResolve to{id, 1000, kListenPort, 0, address_of(kServer), {}};
    EXPECT_EQ(call(kClient, Op::kCmResolveAddress, to).error, 0);
    EXPECT_EQ(event(kClient).type, RDMA_CM_EVENT_ADDR_RESOLVED);
    EXPECT_EQ(call(kClient, Op::kCmResolveRoute, to).error, 0);
    EXPECT_EQ(event(kClient).type, RDMA_CM_EVENT_ROUTE_RESOLVED);
    EXPECT_EQ(call(kClient, Op::kCmConnect, verbs::CmConnect{id, conn}).error, 0);
    return id;
  }
  std::optional<verbs::CmEvent> poll(std::uint32_t node) {
    Reply reply = call(node, Op::kCmGetEvent, verbs::CmGetEvent{channel_[node], 0, ++cookie_});
    if (reply.error == EAGAIN) return std::nullopt;
    return read<verbs::CmEvent>(reply);
  }
  verbs::CmEvent event(std::uint32_t node) {
    auto event = poll(node);
    EXPECT_TRUE(event) << "no event at node " << node;
    return event.value_or(verbs::CmEvent{});
  }
  void run_for(Time_ps time_ps) {
    Time_ps until_ps = now_ps() + time_ps;
    // Something happens at the end of it, so that the clock comes there.
    nodes_[kClient]->at(until_ps, 0, [](Time_ps) {});
    world_->engine().run(until_ps + 1);
  }
  Time_ps now_ps() { return world_->engine().horizon_ps(); }
  void kill(std::uint32_t node) {
    processes_[node]->gone = true;
    managers_[node]->forget(*processes_[node], now_ps());
    run_for(us(10));
  }
  verbs::QpAttr attr(std::uint32_t node, std::uint32_t id, std::uint32_t state) {
    return ask<verbs::CmQpAttr>(node, Op::kCmInitQpAttr, verbs::CmOption{id, 0, state}).attr;
  }
  // The whole handshake; the ids of both ends.
  std::pair<std::uint32_t, std::uint32_t> establish() {
    std::uint32_t client = connect(with_qp(0x111));
    run_for(us(20));
    std::uint32_t server = event(kServer).info.id;
    EXPECT_EQ(call(kServer, Op::kCmAccept, verbs::CmConnect{server, with_qp(0x222)}).error, 0);
    run_for(us(20));
    EXPECT_EQ(event(kClient).type, RDMA_CM_EVENT_CONNECT_RESPONSE);
    EXPECT_EQ(call(kClient, Op::kCmAccept, verbs::CmConnect{client, {}}).error, 0);
    run_for(us(20));
    EXPECT_EQ(event(kServer).type, RDMA_CM_EVENT_ESTABLISHED);
    return {client, server};
  }

 private:
  static void make_grh(void* self, const engine::Packet& packet, const nic::GroupGid* group,
                       std::span<std::uint8_t, nic::kGrh_B> out) {
    write_grh(packet, static_cast<CmPair*>(self)->world_->book(), group, out);
  }

  lab::Lab lab_;
  std::optional<lab::World> world_;
  std::optional<AddressIndex> addresses_;
  NoThreads threads_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<std::unique_ptr<VerbsService>> services_;
  std::vector<std::unique_ptr<CommunicationManager>> managers_;
  std::vector<std::shared_ptr<Process>> processes_;
  std::uint32_t channel_[2] = {};
  std::uint64_t cookie_ = 0;
};

}  // namespace weft::live
