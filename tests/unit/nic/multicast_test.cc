// Datagrams to multicast groups: every attached queue pair gets them, those of the sending port inside the NIC.
#include "nic/multicast.h"

#include <gtest/gtest.h>

#include "support/rc_pair.h"
#include "wire/ipv6.h"

namespace weft::nic {
namespace {

using fabric::Fate;
using support::RcOptions;
using support::RcPair;

constexpr GroupGid kGroup = wire::ipv4_mapped(239, 1, 2, 3);
constexpr GroupGid kOther = wire::ipv4_mapped(239, 1, 2, 4);

struct Group : RcPair {
  static RcOptions ud() {
    RcOptions options;
    options.type = QpType::kUd;
    return options;
  }
  Group() : RcPair(ud()) {}
  std::uint32_t add_qp(std::uint32_t side) {
    const std::uint32_t more = device(side).create_qp(QpType::kUd, node(side).send_cq, node(side).receive_cq, 64, 64);
    QpAttributes a = attributes(side);
    for (QpState state : {QpState::kInit, QpState::kRtr, QpState::kRts})
      EXPECT_TRUE(device(side).modify(more, state, a));
    return more;
  }
  bool attach(std::uint32_t side, std::uint32_t qpn, const GroupGid& group = kGroup) {
    return MulticastPort::attach(device(side), qpn, group);
  }
  bool receive_at(std::uint32_t side, std::uint32_t qpn, std::uint64_t offset, std::uint64_t wr_id) {
    return device(side).post_receive(qpn, {wr_id, node(side).va() + offset, node(side).key, 1100});
  }
  SendRequest to_group(std::uint32_t length_B, std::uint64_t local) {
    SendRequest r = request(WrOpcode::kSend, length_B, local);
    r.set_group(kGroup);
    return r;
  }
  std::vector<std::uint64_t> received_ids(std::uint32_t side) {
    std::vector<std::uint64_t> ids;
    for (const Completion& each : node(side).poll(node(side).receive_cq)) ids.push_back(each.wr_id);
    return ids;
  }
};

TEST(Multicast, DeliversToAttachedQueuePairs) {
  Group pair;
  const std::uint32_t second = pair.add_qp(1), third = pair.add_qp(1);
  ASSERT_TRUE(pair.attach(1, pair.qp[1]) && pair.attach(1, second) && pair.attach(1, third, kOther));
  EXPECT_FALSE(pair.attach(1, second)) << "twice";
  ASSERT_TRUE(pair.receive_at(1, pair.qp[1], 100'000, 5) && pair.receive_at(1, second, 200'000, 6) &&
              pair.receive_at(1, third, 300'000, 7));
  pair.post(pair.to_group(1000, 4000));
  pair.run();
  ASSERT_EQ(pair.sent(0).size(), 1U) << "one packet on the cable";
  EXPECT_EQ(pair.sent(0)[0].packet.endpoint, kMulticastQpn);
  EXPECT_EQ(pair.received_ids(1), (std::vector<std::uint64_t>{5, 6}));
  EXPECT_TRUE(pair.same_bytes(4000, 100'000 + kGrh_B, 1000));
  EXPECT_TRUE(pair.same_bytes(4000, 200'000 + kGrh_B, 1000));
  EXPECT_EQ(pair.counters(0).tx_multicast.packets, 1U);
  EXPECT_EQ(pair.counters(1).rx_multicast.packets, 1U);
  EXPECT_TRUE(pair.ledger_balances());
  EXPECT_EQ(pair.slots_in_use(), 0U);
}

TEST(Multicast, PortWithoutMembersDiscards) {
  Group pair;
  ASSERT_TRUE(pair.attach(1, pair.qp[1]) && MulticastPort::detach(pair.device(1), pair.qp[1], kGroup));
  EXPECT_FALSE(MulticastPort::detach(pair.device(1), pair.qp[1], kGroup));
  ASSERT_TRUE(pair.receive_at(1, pair.qp[1], 100'000, 5));
  pair.post(pair.to_group(100, 0));
  pair.run();
  EXPECT_TRUE(pair.received_ids(1).empty());
  EXPECT_EQ(pair.device(1).in().received.of(Fate::kNoMember), 1U);
  EXPECT_EQ(pair.counters(1).rx().packets, 0U);
  EXPECT_TRUE(pair.ledger_balances());
}

// A queue pair hears itself, as on Linux, unless it was made with IBV_QP_CREATE_BLOCK_SELF_MCAST_LB; its neighbours on
// the port do in either case.
TEST(Multicast, DeliversToSendingPortInsideNic) {
  for (bool blocks : {false, true}) {
    Group pair;
    const std::uint32_t neighbour = pair.add_qp(0);
    ASSERT_TRUE(pair.attach(0, pair.qp[0]) && pair.attach(0, neighbour) && pair.attach(1, pair.qp[1]));
    if (blocks) MulticastPort::block_own(pair.device(0), pair.qp[0]);
    ASSERT_TRUE(pair.receive_at(0, pair.qp[0], 100'000, 1) && pair.receive_at(0, neighbour, 200'000, 2) &&
                pair.receive_at(1, pair.qp[1], 300'000, 3));
    pair.post(pair.to_group(500, 4000));
    pair.run();
    const auto here = blocks ? std::vector<std::uint64_t>{2} : std::vector<std::uint64_t>{1, 2};
    EXPECT_EQ(pair.received_ids(0), here);
    EXPECT_EQ(pair.received_ids(1), std::vector<std::uint64_t>{3});
    EXPECT_EQ(pair.counters(0).rx().packets, 0U) << "the cable has not seen it";
    EXPECT_TRUE(pair.ledger_balances());
    EXPECT_EQ(pair.slots_in_use(), 0U);
  }
}

TEST(Multicast, OnlyDatagramQueuePairsAttachAndDestroyedOnesLeave) {
  Group pair;
  const std::uint32_t connected = pair.device(1).create_qp(QpType::kRc, 0, 0, 4, 4);
  EXPECT_FALSE(pair.attach(1, connected));
  const std::uint32_t gone = pair.add_qp(1);
  ASSERT_TRUE(pair.attach(1, gone) && pair.receive_at(1, gone, 0, 9) && pair.device(1).destroy_qp(gone));
  pair.post(pair.to_group(100, 0));
  pair.run();
  EXPECT_EQ(pair.device(1).in().received.of(Fate::kNoMember), 1U);
}

TEST(Multicast, WrongQkeyAndMissingReceiveDiscard) {
  Group pair;
  ASSERT_TRUE(pair.attach(1, pair.qp[1]));
  SendRequest wrong = pair.to_group(100, 0);
  wrong.qkey = 0x77;
  pair.post(wrong);
  pair.post(pair.to_group(100, 0));
  pair.run();
  EXPECT_EQ(pair.device(1).in().received.of(Fate::kUnknownQp), 1U);
  EXPECT_EQ(pair.device(1).in().received.of(Fate::kNotReady), 1U);
  EXPECT_TRUE(pair.ledger_balances());
}

}  // namespace
}  // namespace weft::nic
