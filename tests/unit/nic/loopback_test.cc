// Two queue pairs of one port that talk to each other: inside the NIC, not on the cable.
#include <gtest/gtest.h>

#include "support/rc_pair.h"

namespace weft::nic {
namespace {

using support::RcPair;

// Side 0's queue pair and a second one of the same port, connected.
struct Looped : RcPair {
  explicit Looped(QpType type = QpType::kRc) {
    second = device(0).create_qp(type, node(0).send_cq, node(0).receive_cq, 64, 64);
    first = device(0).create_qp(type, node(0).send_cq, node(0).receive_cq, 64, 64);
    for (auto [own, other] : {std::pair{first, second}, std::pair{second, first}}) {
      QpAttributes a = attributes(0);
      a.remote_port = 0;
      a.remote_qpn = other;
      a.sq_psn = a.rq_psn = 7;
      for (QpState state : {QpState::kInit, QpState::kRtr, QpState::kRts}) EXPECT_TRUE(device(0).modify(own, state, a));
    }
  }
  SendRequest to_self(WrOpcode opcode, std::uint32_t length_B, std::uint64_t local, std::uint64_t remote) {
    SendRequest r = request(opcode, length_B, local);
    r.remote_va = node(0).va() + remote;
    r.rkey = node(0).key;
    r.dest_port = 0;
    r.dest_qp = second;
    return r;
  }
  bool same(std::uint64_t a, std::uint64_t b, std::size_t size_B) {
    std::span<const std::uint8_t> bytes = node(0).bytes();
    return std::ranges::equal(bytes.subspan(a, size_B), bytes.subspan(b, size_B));
  }
  void post_first(const SendRequest& r) {
    node(0).at(0, [this, r] { device(0).post_send(first, r, 0); });
  }
  std::uint32_t first = 0, second = 0;
};

TEST(Loopback, DeliversBytesWithoutCable) {
  Looped nic;
  nic.post_first(nic.to_self(WrOpcode::kWrite, 5000, 0, 20'000));
  nic.post_first(nic.to_self(WrOpcode::kRead, 3000, 40'000, 100));
  ASSERT_TRUE(nic.device(0).post_receive(nic.second, {9, nic.node(0).va() + 60'000, nic.node(0).key, 4096}));
  nic.post_first(nic.to_self(WrOpcode::kSend, 1500, 200, 0));
  nic.run();
  EXPECT_TRUE(nic.same(0, 20'000, 5000));
  EXPECT_TRUE(nic.same(100, 40'000, 3000));
  EXPECT_TRUE(nic.same(200, 60'000, 1500));
  auto done = nic.sent_completions();
  ASSERT_EQ(done.size(), 3U);
  for (const Completion& each : done) EXPECT_EQ(each.status, WcStatus::kSuccess);
  EXPECT_TRUE(nic.sent(0).empty());
  EXPECT_TRUE(nic.sent(1).empty());
  EXPECT_EQ(nic.counters(0).priorities[0].rx.packets + nic.counters(0).priorities[3].rx.packets, 0U);
  EXPECT_TRUE(nic.ledger_balances());
  EXPECT_EQ(nic.slots_in_use(), 0U);
}

// It is no faster than the port: 80 ps a byte, 1,024 B of payload in 1,106 B of line.
TEST(Loopback, RunsAtLineRate) {
  Looped nic;
  constexpr std::uint32_t kSize_B = 64 * 1024;
  nic.post_first(nic.to_self(WrOpcode::kWrite, kSize_B, 0, 100'000));
  nic.run();
  auto done = nic.sent_completions();
  ASSERT_EQ(done.size(), 1U);
  EXPECT_GE(done[0].visible_ps, 64 * (1024 + 12 + 4 + 42 + 24) * 80);
  EXPECT_LT(done[0].visible_ps, 64 * (1024 + 12 + 4 + 42 + 24) * 80 + us(3));
}

}  // namespace
}  // namespace weft::nic
