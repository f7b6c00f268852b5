#include <cerrno>
#include <cstring>

#include "unit/verbs/setting.h"

namespace weft::verbs {
namespace {

class WorkRequests : public Setting {
 protected:
  ibv_qp* make(ibv_qp_type type, std::uint64_t operations) {
    ibv_qp_init_attr_ex init{};
    init.send_cq = init.recv_cq = cq;
    init.cap = {4, 4, 2, 2, 64};
    init.qp_type = type;
    init.pd = pd;
    init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    init.send_ops_flags = operations;
    ibv_qp* qp = ibv_create_qp_ex(context, &init);
    if (qp != nullptr) move(qp, IBV_QPS_RTS);
    return qp;
  }
};

TEST_F(WorkRequests, OffersOnlyOperationsOfTransport) {
  EXPECT_EQ(ibv_qp_to_qp_ex(make_qp()), nullptr);
  EXPECT_EQ(make(IBV_QPT_UD, IBV_QP_EX_WITH_RDMA_WRITE), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  EXPECT_EQ(make(IBV_QPT_RC, IBV_QP_EX_WITH_TSO), nullptr);
  ibv_qp* qp = make(IBV_QPT_RC, IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD);
  ASSERT_NE(qp, nullptr);
  EXPECT_EQ(&ibv_qp_to_qp_ex(qp)->qp_base, qp);
}

TEST_F(WorkRequests, ArePublishedTogether) {
  ibv_qp* qp = make(IBV_QPT_RC, IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP);
  ASSERT_NE(qp, nullptr);
  ibv_qp_ex* face = ibv_qp_to_qp_ex(qp);
  ibv_wr_start(face);
  face->wr_id = 11;
  face->wr_flags = IBV_SEND_SIGNALED;
  ibv_wr_rdma_write_imm(face, 0x99, 0x7000, 0x01020304);
  char text[] = "inline";
  ibv_wr_set_inline_data(face, text, 6);
  face->wr_id = 12;
  face->wr_flags = IBV_SEND_FENCE;
  ibv_wr_atomic_cmp_swp(face, 0x77, 0x8000, 5, 6);
  ibv_wr_set_sge(face, 3, 0x1000, 8);
  EXPECT_EQ(sends(qp).head().produced.load(), 0u);
  fake_world().now_ps = 0;
  ASSERT_EQ(ibv_wr_complete(face), 0);

  ASSERT_EQ(sends(qp).head().produced.load(), 2u);
  const auto& write = sends(qp).at<SendEntry>(0);
  EXPECT_EQ(write.wr_id, 11u);
  EXPECT_EQ(write.opcode, static_cast<std::uint32_t>(IBV_WR_RDMA_WRITE_WITH_IMM));
  EXPECT_EQ(write.flags, static_cast<std::uint32_t>(IBV_SEND_SIGNALED | IBV_SEND_INLINE));
  EXPECT_EQ(write.imm, 0x01020304u);
  EXPECT_EQ(write.remote_va, 0x7000u);
  EXPECT_EQ(write.rkey, 0x99u);
  ASSERT_EQ(write.inline_B, 6);
  EXPECT_EQ(std::memcmp(&write + 1, "inline", 6), 0);
  EXPECT_EQ(write.post_ps, 2200);  // two posts and a doorbell, as with ibv_post_send
  const auto& atomic = sends(qp).at<SendEntry>(1);
  EXPECT_EQ(atomic.wr_id, 12u);
  EXPECT_EQ(atomic.flags, static_cast<std::uint32_t>(IBV_SEND_FENCE));
  EXPECT_EQ(atomic.compare_add, 5u);
  EXPECT_EQ(atomic.swap, 6u);
  EXPECT_EQ(atomic.sges, 1);
  EXPECT_EQ(fake_world().doorbells.size(), 1u);
}

TEST_F(WorkRequests, OneErrorRollsBackAll) {
  ibv_qp* qp = make(IBV_QPT_RC, IBV_QP_EX_WITH_SEND);
  ASSERT_NE(qp, nullptr);
  ibv_qp_ex* face = ibv_qp_to_qp_ex(qp);
  ibv_wr_start(face);
  for (int i = 0; i < 5; ++i) {
    ibv_wr_send(face);
    ibv_wr_set_sge(face, 3, 0x1000, 8);
  }
  EXPECT_EQ(ibv_wr_complete(face), ENOMEM);  // the fifth of four
  std::vector<char> large(65);
  ibv_wr_start(face);
  ibv_wr_send(face);
  ibv_wr_set_inline_data(face, large.data(), large.size());
  EXPECT_EQ(ibv_wr_complete(face), EINVAL);
  ibv_wr_start(face);
  ibv_wr_send(face);
  ibv_wr_abort(face);
  EXPECT_EQ(sends(qp).head().produced.load(), 0u);
  EXPECT_TRUE(fake_world().doorbells.empty());
  // And the lock is free again.
  ibv_wr_start(face);
  ibv_wr_send(face);
  ibv_wr_set_sge(face, 3, 0x1000, 8);
  EXPECT_EQ(ibv_wr_complete(face), 0);
}

TEST_F(WorkRequests, DatagramsNeedAddress) {
  ibv_qp* qp = make(IBV_QPT_UD, IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM);
  ASSERT_NE(qp, nullptr);
  ibv_qp_ex* face = ibv_qp_to_qp_ex(qp);
  ibv_ah ah{context, pd, 42};
  ibv_wr_start(face);
  ibv_wr_send(face);
  ibv_wr_set_ud_addr(face, &ah, 17, 0x11);
  ibv_wr_set_sge(face, 3, 0x1000, 8);
  ASSERT_EQ(ibv_wr_complete(face), 0);
  EXPECT_EQ(sends(qp).at<SendEntry>(0).ah, 42u);
  EXPECT_EQ(sends(qp).at<SendEntry>(0).remote_qpn, 17u);
  EXPECT_EQ(sends(qp).at<SendEntry>(0).qkey, 0x11u);
}

}  // namespace
}  // namespace weft::verbs
