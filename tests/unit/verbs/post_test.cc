#include <cerrno>
#include <cstring>
#include <utility>

#include "unit/verbs/setting.h"

namespace weft::verbs {
namespace {

class Post : public Setting {};

ibv_send_wr write_wr(std::uint64_t id, ibv_sge* list, int count) {
  ibv_send_wr wr{};
  wr.wr_id = id;
  wr.sg_list = list;
  wr.num_sge = count;
  wr.opcode = IBV_WR_RDMA_WRITE;
  wr.wr.rdma = {0x7000, 0x99};
  return wr;
}

TEST_F(Post, WritesThenStampsThenPublishesChain) {
  ibv_qp* qp = make_qp();
  ibv_sge list[2] = {{0x1000, 10, 1}, {0x2000, 20, 2}};
  ibv_send_wr second = write_wr(8, list, 2);
  second.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
  second.wr.atomic = {0x8000, 11, 22, 0x77};
  ibv_send_wr first = write_wr(7, list, 1);
  first.send_flags = IBV_SEND_SIGNALED;
  first.next = &second;
  ibv_send_wr* bad = nullptr;
  fake_world().now_ps = 100000;
  ASSERT_EQ(ibv_post_send(qp, &first, &bad), 0);

  const FakeRing& ring = sends(qp);
  ASSERT_EQ(ring.head().produced.load(), 2u);
  const auto& one = ring.at<SendEntry>(0);
  const auto& two = ring.at<SendEntry>(1);
  EXPECT_EQ(one.wr_id, 7u);
  EXPECT_EQ(one.opcode, static_cast<std::uint32_t>(IBV_WR_RDMA_WRITE));
  EXPECT_EQ(one.flags, static_cast<std::uint32_t>(IBV_SEND_SIGNALED));
  EXPECT_EQ(one.remote_va, 0x7000u);
  EXPECT_EQ(one.rkey, 0x99u);
  EXPECT_EQ(one.sges, 1);
  EXPECT_EQ(two.remote_va, 0x8000u);
  EXPECT_EQ(two.compare_add, 11u);
  EXPECT_EQ(two.swap, 22u);
  EXPECT_EQ(two.rkey, 0x77u);
  ASSERT_EQ(two.sges, 2);
  Sge sges[2];
  std::memcpy(sges, &two + 1, sizeof sges);
  EXPECT_EQ(sges[1].address, 0x2000u);
  EXPECT_EQ(sges[1].length_B, 20u);
  EXPECT_EQ(sges[1].lkey, 2u);
  // Two posts of 1000 and one doorbell of 200; the call ends 7 later (the costs of FakeWorld).
  EXPECT_EQ(one.post_ps, 102200);
  EXPECT_EQ(two.post_ps, 102200);
  EXPECT_EQ(fake_world().now_ps, 102207);
  EXPECT_EQ(fake_world().doorbells, std::vector<std::uint32_t>{ring.info.doorbell});
}

// The world answers a new thread only when the others wait, and those that spin for a lock do not.
TEST_F(Post, ThreadConnectsBeforeLocking) {
  ibv_srq_init_attr shared{nullptr, {4, 1, 0}};
  ibv_srq* srq = ibv_create_srq(pd, &shared);
  ibv_qp* qp = make_qp();
  pthread_spinlock_t* const locks[] = {&static_cast<Qp*>(qp)->send_lock, &static_cast<Qp*>(qp)->receive_lock,
                                       &static_cast<Srq*>(srq)->lock, &static_cast<Cq*>(cq)->lock};
  int connects = 0;
  fake_world().on_connect = [&] {
    ++connects;
    for (pthread_spinlock_t* lock : locks) {
      ASSERT_EQ(pthread_spin_trylock(lock), 0);
      pthread_spin_unlock(lock);
    }
  };
  ibv_sge sge{0x1000, 10, 1};
  ibv_send_wr send = write_wr(0, &sge, 1), *bad_send = nullptr;
  EXPECT_EQ(ibv_post_send(qp, &send, &bad_send), 0);
  EXPECT_EQ(std::exchange(connects, 0), 1);
  ibv_recv_wr receive{0, nullptr, &sge, 1}, *bad_receive = nullptr;
  EXPECT_EQ(ibv_post_recv(qp, &receive, &bad_receive), 0);
  EXPECT_EQ(std::exchange(connects, 0), 1);
  EXPECT_EQ(ibv_post_srq_recv(srq, &receive, &bad_receive), 0);
  EXPECT_EQ(std::exchange(connects, 0), 1);
  ibv_wc wc;
  EXPECT_EQ(ibv_poll_cq(cq, 1, &wc), 0);
  EXPECT_EQ(std::exchange(connects, 0), 1);
}

TEST_F(Post, FullQueueRejectsUntilCompletionFreesUnsignaledWork) {
  ibv_qp* qp = make_qp();
  ibv_sge sge{0x1000, 10, 1};
  ibv_send_wr wr = write_wr(0, &sge, 1);
  ibv_send_wr* bad = nullptr;
  for (wr.wr_id = 0; wr.wr_id < 4; ++wr.wr_id) ASSERT_EQ(ibv_post_send(qp, &wr, &bad), 0);
  EXPECT_EQ(ibv_post_send(qp, &wr, &bad), ENOMEM);
  EXPECT_EQ(bad, &wr);
  EXPECT_EQ(fake_world().doorbells.size(), 4u);  // a refused post rings nothing

  complete(qp, IBV_WC_RDMA_WRITE, 3, 2);  // the third was signaled
  ibv_wc wc;
  EXPECT_EQ(ibv_post_send(qp, &wr, &bad), ENOMEM);  // seen, not polled
  ASSERT_EQ(ibv_poll_cq(cq, 1, &wc), 1);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ibv_post_send(qp, &wr, &bad), 0);
  EXPECT_EQ(ibv_post_send(qp, &wr, &bad), ENOMEM);
}

// Another thread may be the one that polls: it has its turn.
TEST_F(Post, FullQueueYieldsToOtherThreads) {
  ibv_qp* qp = make_qp();
  ibv_sge sge{0x1000, 10, 1};
  ibv_send_wr wr = write_wr(0, &sge, 1);
  ibv_send_wr* bad = nullptr;
  for (int i = 0; i < 4; ++i) ASSERT_EQ(ibv_post_send(qp, &wr, &bad), 0);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(ibv_post_send(qp, &wr, &bad), ENOMEM);
  EXPECT_EQ(fake_world().count(Op::kYield), 0u) << "it polls itself, as a rule";
  for (int i = 0; i < 8; ++i) EXPECT_EQ(ibv_post_send(qp, &wr, &bad), ENOMEM);
  EXPECT_GT(fake_world().count(Op::kYield), 0u);
}

TEST_F(Post, BadRequestStopsChainAndIsReturned) {
  ibv_qp* qp = make_qp();
  ibv_sge list[5] = {{0x1000, 10, 1}, {0x2000, 20, 2}, {0x3000, 30, 3}, {0x4000, 40, 4}, {0x5000, 50, 5}};
  ibv_send_wr third = write_wr(3, list, 1);
  ibv_send_wr second = write_wr(2, list, 5);  // 64 bytes inline have room for 4
  ibv_send_wr first = write_wr(1, list, 1);
  first.next = &second;
  second.next = &third;
  ibv_send_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_send(qp, &first, &bad), EINVAL);
  EXPECT_EQ(bad, &second);
  EXPECT_EQ(sends(qp).head().produced.load(), 1u);
  EXPECT_EQ(fake_world().doorbells.size(), 1u);
}

TEST_F(Post, GathersAndLimitsInlineBytes) {
  ibv_qp* qp = make_qp();
  char text[] = "the quick brown fox";
  ibv_sge list[2] = {{reinterpret_cast<std::uintptr_t>(text), 4, 0},
                     {reinterpret_cast<std::uintptr_t>(text) + 10, 5, 0}};
  ibv_send_wr wr = write_wr(1, list, 2);
  wr.send_flags = IBV_SEND_INLINE;
  ibv_send_wr* bad = nullptr;
  ASSERT_EQ(ibv_post_send(qp, &wr, &bad), 0);
  std::memset(text, 'x', sizeof text);  // the buffer is the program's again at once
  const auto& entry = sends(qp).at<SendEntry>(0);
  EXPECT_EQ(entry.sges, 0);
  ASSERT_EQ(entry.inline_B, 9);
  EXPECT_EQ(std::memcmp(&entry + 1, "the brown", 9), 0);

  std::vector<char> large(65);
  ibv_sge too_long{reinterpret_cast<std::uintptr_t>(large.data()), 65, 0};
  wr.sg_list = &too_long;
  wr.num_sge = 1;
  EXPECT_EQ(ibv_post_send(qp, &wr, &bad), EINVAL);
  too_long.length = 64;
  EXPECT_EQ(ibv_post_send(qp, &wr, &bad), 0);
  wr.opcode = IBV_WR_RDMA_READ;
  EXPECT_EQ(ibv_post_send(qp, &wr, &bad), EINVAL);
}

TEST_F(Post, TransportAndStateLimitPosting) {
  ibv_sge sge{0x1000, 10, 1};
  ibv_send_wr wr = write_wr(1, &sge, 1);
  ibv_send_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_send(make_qp(IBV_QPT_RC, IBV_QPS_RTR), &wr, &bad), EINVAL);
  EXPECT_EQ(ibv_post_send(make_qp(IBV_QPT_RC, IBV_QPS_ERR), &wr, &bad), 0);  // to be flushed
  EXPECT_EQ(ibv_post_send(make_qp(IBV_QPT_UC), &wr, &bad), 0);
  EXPECT_EQ(ibv_post_send(make_qp(IBV_QPT_UD), &wr, &bad), EINVAL);
  wr.opcode = IBV_WR_RDMA_READ;
  EXPECT_EQ(ibv_post_send(make_qp(IBV_QPT_UC), &wr, &bad), EINVAL);
  wr.opcode = IBV_WR_SEND;
  wr.wr.ud = {nullptr, 17, 0x11};
  EXPECT_EQ(ibv_post_send(make_qp(IBV_QPT_UD), &wr, &bad), EINVAL);
  ibv_ah ah{context, pd, 42};
  wr.wr.ud.ah = &ah;
  ibv_qp* ud = make_qp(IBV_QPT_UD);
  ASSERT_EQ(ibv_post_send(ud, &wr, &bad), 0);
  EXPECT_EQ(sends(ud).at<SendEntry>(0).ah, 42u);
  EXPECT_EQ(sends(ud).at<SendEntry>(0).remote_qpn, 17u);
  EXPECT_EQ(sends(ud).at<SendEntry>(0).qkey, 0x11u);
}

TEST_F(Post, PolledReceivesFreeReceiveQueue) {
  ibv_qp* qp = make_qp(IBV_QPT_RC, IBV_QPS_INIT);
  ibv_sge sge{0x1000, 10, 1};
  ibv_recv_wr wr{9, nullptr, &sge, 1};
  ibv_recv_wr* bad = nullptr;
  for (int i = 0; i < 4; ++i) ASSERT_EQ(ibv_post_recv(qp, &wr, &bad), 0);
  EXPECT_EQ(ibv_post_recv(qp, &wr, &bad), ENOMEM);
  EXPECT_EQ(receives(qp).at<ReceiveEntry>(3).wr_id, 9u);
  EXPECT_EQ(receives(qp).at<ReceiveEntry>(3).sges, 1u);
  EXPECT_EQ(receives(qp).at<ReceiveEntry>(3).post_ps, 4 * 300);
  complete(qp, IBV_WC_RECV, 0);
  ibv_wc wc;
  ASSERT_EQ(ibv_poll_cq(cq, 1, &wc), 1);
  EXPECT_EQ(ibv_post_recv(qp, &wr, &bad), 0);
  EXPECT_EQ(ibv_post_recv(qp, &wr, &bad), ENOMEM);

  move(qp, IBV_QPS_RESET);  // takes everything back
  EXPECT_EQ(ibv_post_recv(qp, &wr, &bad), EINVAL);
  move(qp, IBV_QPS_INIT);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(ibv_post_recv(qp, &wr, &bad), 0);
}

TEST_F(Post, WorldFreesSharedReceiveQueue) {
  ibv_srq_init_attr init{nullptr, {3, 1, 0}};
  ibv_srq* srq = ibv_create_srq(pd, &init);
  ASSERT_NE(srq, nullptr);
  EXPECT_EQ(init.attr.max_wr, 4u);
  ibv_sge sge{0x1000, 10, 1};
  ibv_recv_wr wr{9, nullptr, &sge, 1};
  ibv_recv_wr* bad = nullptr;
  for (int i = 0; i < 4; ++i) ASSERT_EQ(ibv_post_srq_recv(srq, &wr, &bad), 0);
  EXPECT_EQ(ibv_post_srq_recv(srq, &wr, &bad), ENOMEM);
  fake_world().srqs.at(srq->handle).head().consumed.store(2);
  EXPECT_EQ(ibv_post_srq_recv(srq, &wr, &bad), 0);
  ibv_qp* qp = make_qp(IBV_QPT_RC, IBV_QPS_INIT, srq);
  EXPECT_EQ(ibv_post_recv(qp, &wr, &bad), EINVAL);  // it has no queue of its own
  EXPECT_EQ(ibv_destroy_srq(srq), 0);
}

TEST_F(Post, SharedReceiveQueueHasLimitOfWorldAndIsNotResized) {
  ibv_srq_init_attr init{nullptr, {4, 1, 3}};
  ibv_srq* srq = ibv_create_srq(pd, &init);
  ASSERT_NE(srq, nullptr);
  fake_world().srq_limit = 2;
  ibv_srq_attr attr{};
  EXPECT_EQ(ibv_query_srq(srq, &attr), 0);
  EXPECT_EQ(attr.max_wr, 4u);
  EXPECT_EQ(attr.max_sge, 1u);
  EXPECT_EQ(attr.srq_limit, 2u);
  attr.max_wr = 8;
  EXPECT_EQ(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR), EINVAL);
  EXPECT_EQ(ibv_destroy_srq(srq), 0);
}

}  // namespace
}  // namespace weft::verbs
