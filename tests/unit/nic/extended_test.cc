// XRC: requests that name a shared receive queue, and targets that serve several of them.
#include <gtest/gtest.h>

#include "nic/queues/shared_receives.h"
#include "support/rc_pair.h"
#include "wire/roce_frame.h"

namespace weft::nic {
namespace {

using support::drop_request;
using support::Pair;
using support::RcOptions;

constexpr std::uint32_t kDomain = 5;

// An initiator on side 0, a target on side 1 with two shared receive queues of its domain and one of another.
struct Extended : Pair {
  RcOptions options;
  std::uint32_t initiator = 0, target = 0, other_cq = 0;
  std::uint32_t srqs[3] = {};

  explicit Extended(RcOptions o = {}) : Pair(o.pair), options(o) {
    initiator = device(0).create_qp(QpType::kXrc, node(0).send_cq, node(0).send_cq, 64, 1);
    target = device(1).create_qp(QpType::kXrc, kNoCq, kNoCq, 1, 1);
    SharedReceives(device(1)).set_xrc_target(target, kDomain);
    other_cq = device(1).create_cq(64);
    for (std::uint32_t i = 0; i < 3; ++i) {
      srqs[i] = SharedReceives(device(1)).create(8);
      SharedReceives(device(1)).set_xrc_queue(srqs[i], i < 2 ? kDomain : kDomain + 1,
                                              i == 0 ? node(1).receive_cq : other_cq, 0);
    }
    up();
  }
  void up() {
    for (QpState state : {QpState::kInit, QpState::kRtr, QpState::kRts}) {
      QpAttributes a = options.attributes;
      a.remote_port = 1;
      a.remote_qpn = target;
      a.sq_psn = 1000;
      EXPECT_TRUE(device(0).modify(initiator, state, a));
      a.remote_port = 0;
      a.remote_qpn = initiator;
      a.rq_psn = 1000;
      EXPECT_TRUE(device(1).modify(target, state, a));
    }
  }
  bool receive(std::uint32_t which, std::uint64_t wr_id, std::uint64_t offset = 0) {
    return SharedReceives(device(1)).post(srqs[which], {wr_id, node(1).va() + offset, node(1).key, 4096});
  }
  void post(WrOpcode opcode, std::uint32_t length_B, std::uint32_t srq, Time_ps at_ps = 0, std::uint64_t remote = 0) {
    SendRequest r;
    r.opcode = opcode;
    r.length_B = length_B;
    r.local_va = node(0).va();
    r.lkey = node(0).key;
    r.remote_va = node(1).va() + remote;
    r.rkey = node(1).key;
    r.dest_qp = kFirstXrcSrq + srq;
    r.swap_add = 3;
    EXPECT_TRUE(device(0).post_send(initiator, r, at_ps));
    node(0).at(at_ps, [] {});
  }
  std::vector<Completion> sent_completions() { return node(0).poll(node(0).send_cq); }
};

TEST(Xrc, MessagesReachNamedQueue) {
  Extended pair;
  pair.receive(0, 10, 0);
  pair.receive(1, 20, 8192);
  pair.post(WrOpcode::kSend, 3000, pair.srqs[1]);
  pair.post(WrOpcode::kSend, 100, pair.srqs[0]);
  pair.run();
  EXPECT_EQ(pair.sent_completions().size(), 2U);
  auto first = pair.node(1).poll(pair.node(1).receive_cq);
  auto second = pair.node(1).poll(pair.other_cq);
  ASSERT_EQ(first.size(), 1U);
  ASSERT_EQ(second.size(), 1U);
  EXPECT_EQ(first[0].wr_id, 10U);
  EXPECT_EQ(second[0].wr_id, 20U);
  EXPECT_EQ(second[0].byte_len, 3000U);
  EXPECT_EQ(second[0].qpn, pair.target);
  EXPECT_TRUE(std::equal(pair.node(0).bytes().begin(), pair.node(0).bytes().begin() + 3000,
                         pair.node(1).bytes().begin() + 8192));
}

TEST(Xrc, SupportsOperationsOfRc) {
  Extended pair;
  pair.receive(0, 1);
  pair.post(WrOpcode::kWrite, 5000, pair.srqs[0], 0, 65536);
  pair.post(WrOpcode::kWriteImm, 10, pair.srqs[0], us(10));
  pair.post(WrOpcode::kRead, 5000, pair.srqs[1], us(20), 65536);
  pair.post(WrOpcode::kFetchAdd, 8, pair.srqs[1], us(40), 4096);
  pair.run();
  auto c = pair.sent_completions();
  ASSERT_EQ(c.size(), 4U);
  for (const Completion& each : c) EXPECT_EQ(each.status, WcStatus::kSuccess);
  EXPECT_EQ(pair.node(1).poll(pair.node(1).receive_cq).size(), 1U);
}

// All requests have the header, all answers do without; both are of transport 5.
TEST(Xrc, RequestsCarryHeader) {
  Extended pair;
  pair.receive(1, 1);
  pair.post(WrOpcode::kSend, 3000, pair.srqs[1]);
  pair.post(WrOpcode::kRead, 100, pair.srqs[0], us(20));
  pair.run();
  auto requests = pair.sent(0);
  ASSERT_EQ(requests.size(), 4U);
  EXPECT_EQ(requests[0].opcode(), wire::xrc_opcode(wire::Opcode::kSendFirst));
  EXPECT_EQ(requests[3].opcode(), wire::xrc_opcode(wire::Opcode::kReadRequest));
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(requests[i].cold.srq, kFirstXrcSrq + pair.srqs[i < 3 ? 1 : 0]);
    EXPECT_EQ(requests[i].packet.header_words * 4U, wire::header_size_B(requests[i].opcode()));
  }
  for (const auto& answer : pair.sent(1)) {
    EXPECT_TRUE(wire::is_xrc(static_cast<std::uint8_t>(answer.opcode())));
    EXPECT_TRUE(wire::is_response(answer.opcode()));
    EXPECT_EQ(answer.packet.header_words * 4U, wire::header_size_B(answer.opcode()));
  }
}

TEST(Xrc, WrongQueueIsRefused) {
  for (std::uint32_t number : {2U, 1000U, 0xffffffU - kFirstXrcSrq}) {
    Extended pair;
    pair.receive(2, 1);
    pair.post(WrOpcode::kSend, 100, number);
    pair.run();
    auto c = pair.sent_completions();
    ASSERT_EQ(c.size(), 1U);
    EXPECT_EQ(c[0].status, WcStatus::kRemoteInvalidRequest) << number;
    EXPECT_EQ(pair.device(1).qp(pair.target).state, QpState::kErr);
  }
}

TEST(Xrc, LostPacketsAndEmptyQueuesAreRepeated) {
  RcOptions options;
  for (std::uint32_t psn : {1U, 3U}) options.pair.faults[0].push_back(drop_request(psn));
  Extended pair(options);
  pair.post(WrOpcode::kSend, 3000, pair.srqs[0]);
  pair.post(WrOpcode::kSend, 3000, pair.srqs[1]);
  pair.node(1).at(us(50), [&] {
    pair.receive(0, 1);
    pair.receive(1, 2, 8192);
  });
  pair.run();
  auto c = pair.sent_completions();
  ASSERT_EQ(c.size(), 2U);
  EXPECT_EQ(c[1].status, WcStatus::kSuccess);
  EXPECT_EQ(pair.node(1).poll(pair.other_cq).size(), 1U);
  EXPECT_GT(pair.counters(1).out_of_buffer, 0U);
}

// The memory that a request names must be of the queue's protection domain.
TEST(Xrc, MemoryIsCheckedByDomainOfQueue) {
  Extended pair;
  SharedReceives(pair.device(1)).set_xrc_queue(pair.srqs[1], kDomain, pair.other_cq, 9);
  pair.post(WrOpcode::kWrite, 100, pair.srqs[0]);
  pair.post(WrOpcode::kWrite, 100, pair.srqs[1], us(10));
  pair.run();
  auto c = pair.sent_completions();
  ASSERT_EQ(c.size(), 2U);
  EXPECT_EQ(c[0].status, WcStatus::kSuccess);
  EXPECT_EQ(c[1].status, WcStatus::kRemoteAccessError);
}

TEST(Xrc, QueuesEndBeforeTarget) {
  Extended pair;
  pair.receive(0, 1);
  pair.post(WrOpcode::kSend, 3000, pair.srqs[0]);
  pair.run();
  EXPECT_TRUE(SharedReceives(pair.device(1)).destroy(pair.srqs[0])) << "no message is in it";
  EXPECT_TRUE(pair.device(1).destroy_cq(pair.node(1).receive_cq));
  EXPECT_TRUE(pair.device(1).destroy_qp(pair.target));
}

// A message that has begun stays with its queue, until its queue pair fails.
TEST(Xrc, BegunMessageHoldsItsQueue) {
  RcOptions options;
  for (std::uint32_t i = 1; i <= 64; ++i) options.pair.faults[0].push_back(drop_request(1, i));
  Extended pair(options);
  pair.receive(0, 1);
  pair.post(WrOpcode::kSend, 3000, pair.srqs[0]);
  pair.node(1).at(us(50), [&] {
    EXPECT_FALSE(SharedReceives(pair.device(1)).destroy(pair.srqs[0]));
    EXPECT_TRUE(pair.device(1).modify(pair.target, QpState::kErr, {}, us(50)));
    EXPECT_TRUE(SharedReceives(pair.device(1)).destroy(pair.srqs[0]));
  });
  pair.run();
  auto flushed = pair.node(1).poll(pair.node(1).receive_cq);
  ASSERT_EQ(flushed.size(), 1U);
  EXPECT_EQ(flushed[0].status, WcStatus::kFlushError);
  EXPECT_EQ(pair.sent_completions()[0].status, WcStatus::kRetryExceeded);
}

}  // namespace
}  // namespace weft::nic
