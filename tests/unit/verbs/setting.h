// A device that is opened, with a protection domain, a completion queue and queue pairs: what most tests start from.
#pragma once

#include <gtest/gtest.h>

#include "unit/verbs/fake_world.h"
#include "verbs/ibverbs/objects.h"

namespace weft::verbs {

class Setting : public testing::Test {
 protected:
  void SetUp() override {
    start_anew();
    ibv_device** list = ibv_get_device_list(nullptr);
    ASSERT_NE(list, nullptr);
    ASSERT_NE(list[0], nullptr);
    context = ibv_open_device(list[0]);
    ibv_free_device_list(list);
    ASSERT_NE(context, nullptr);
    pd = ibv_alloc_pd(context);
    cq = ibv_create_cq(context, 16, nullptr, nullptr, 0);
    ASSERT_NE(cq, nullptr);
  }

  // In the given state; 4 sends and 4 receives, 2 SGEs, 64 bytes inline.
  ibv_qp* make_qp(ibv_qp_type type = IBV_QPT_RC, ibv_qp_state state = IBV_QPS_RTS, ibv_srq* srq = nullptr) {
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = cq;
    init.srq = srq;
    init.cap = {4, 4, 2, 2, 64};
    init.qp_type = type;
    ibv_qp* qp = ibv_create_qp(pd, &init);
    if (qp != nullptr) move(qp, state);
    return qp;
  }
  void move(ibv_qp* qp, ibv_qp_state state) {
    ibv_qp_attr attr{};
    attr.qp_state = state;
    EXPECT_EQ(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
  }
  static const FakeRing& sends(const ibv_qp* qp) { return fake_world().sends.at(qp->handle); }
  static const FakeRing& receives(const ibv_qp* qp) { return fake_world().receives.at(qp->handle); }
  void complete(const ibv_qp* qp, ibv_wc_opcode opcode, std::uint64_t freed, std::uint64_t wr_id = 0) {
    CqEntry entry{};
    entry.qpn = qp->qp_num;
    entry.opcode = opcode;
    entry.freed = freed;
    entry.wr_id = wr_id;
    fake_world().complete(cq->handle, entry);
  }

  ibv_context* context = nullptr;
  ibv_pd* pd = nullptr;
  ibv_cq* cq = nullptr;
};

}  // namespace weft::verbs
