// The rarer verbs: what the library writes into the rings and asks the world for.
#include <arpa/inet.h>

#include <cstring>
#include <vector>

#include "unit/verbs/setting.h"

namespace weft::verbs {
namespace {

class ExtendedVerbs : public Setting {
 protected:
  ibv_cq_ex* make_cq_ex(std::uint64_t fields, ibv_pd* domain = nullptr) {
    ibv_cq_init_attr_ex init{};
    init.cqe = 8;
    init.wc_flags = fields;
    init.parent_domain = domain;
    if (domain != nullptr) init.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD;
    return ibv_create_cq_ex(context, &init);
  }
};

TEST_F(ExtendedVerbs, PollsEntriesInOrder) {
  ibv_cq_ex* ex = make_cq_ex(std::uint64_t{IBV_WC_STANDARD_FLAGS} | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP);
  ASSERT_NE(ex, nullptr);
  fake_world().is_virtual = false;
  ibv_poll_cq_attr attr{};
  EXPECT_EQ(ibv_start_poll(ex, &attr), ENOENT);
  for (std::uint32_t i = 1; i <= 2; ++i) {
    CqEntry entry{};
    entry.wr_id = i;
    entry.status = i == 2 ? IBV_WC_RETRY_EXC_ERR : IBV_WC_SUCCESS;
    entry.opcode = IBV_WC_RECV;
    entry.byte_len = 100 * i;
    entry.imm = htonl(7);
    entry.qpn = 0x1234;
    entry.src_qp = 5;
    entry.flags = IBV_WC_WITH_IMM;
    entry.time_ps = 2'000'000 * i;
    fake_world().complete(ex->handle, entry);
  }
  ASSERT_EQ(ibv_start_poll(ex, &attr), 0);
  EXPECT_EQ(ex->wr_id, 1U);
  EXPECT_EQ(ex->status, IBV_WC_SUCCESS);
  EXPECT_EQ(ibv_wc_read_opcode(ex), IBV_WC_RECV);
  EXPECT_EQ(ibv_wc_read_byte_len(ex), 100U);
  EXPECT_EQ(ibv_wc_read_imm_data(ex), htonl(7));
  EXPECT_EQ(ibv_wc_read_qp_num(ex), 0x1234U);
  EXPECT_EQ(ibv_wc_read_src_qp(ex), 5U);
  EXPECT_EQ(ibv_wc_read_wc_flags(ex), unsigned{IBV_WC_WITH_IMM});
  EXPECT_EQ(ibv_wc_read_completion_ts(ex), 2000U) << "nanoseconds";
  ASSERT_EQ(ibv_next_poll(ex), 0);
  EXPECT_EQ(ex->wr_id, 2U);
  EXPECT_EQ(ex->status, IBV_WC_RETRY_EXC_ERR);
  EXPECT_EQ(ibv_next_poll(ex), ENOENT);
  ibv_end_poll(ex);
  EXPECT_EQ(ibv_start_poll(ex, &attr), ENOENT) << "the lock is free and the entries are taken";
  EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(ex)), 0);
}

TEST_F(ExtendedVerbs, EmptyExtendedPollWaits) {
  ibv_cq_ex* ex = make_cq_ex(0);
  ibv_poll_cq_attr attr{};
  fake_world().on_poll.qpn = 1;
  EXPECT_EQ(ibv_start_poll(ex, &attr), ENOENT);
  EXPECT_EQ(fake_world().count(Op::kPoll), 0U);
  EXPECT_EQ(ibv_start_poll(ex, &attr), 0) << "the second look waits";
  EXPECT_EQ(fake_world().count(Op::kPoll), 1U);
  ibv_end_poll(ex);
}

TEST_F(ExtendedVerbs, RefusesFieldsThatItDoesNotHave) {
  for (std::uint64_t field : {IBV_WC_EX_WITH_CVLAN, IBV_WC_EX_WITH_FLOW_TAG, IBV_WC_EX_WITH_TM_INFO}) {
    EXPECT_EQ(make_cq_ex(field), nullptr);
    EXPECT_EQ(errno, EOPNOTSUPP);
  }
}

// More queues than fit into a message are waited for together, whichever they are.
TEST_F(ExtendedVerbs, ManyQueuesPolledInTurnAreWaitedFor) {
  std::vector<ibv_cq*> queues;
  for (std::size_t i = 0; i < kMaxPolledCqs + 10; ++i) queues.push_back(ibv_create_cq(context, 1, nullptr, nullptr, 0));
  ibv_wc wc;
  for (ibv_cq* each : queues) EXPECT_EQ(ibv_poll_cq(each, 1, &wc), 0);
  EXPECT_EQ(fake_world().count(Op::kPoll), 0U) << "the round is not over";
  fake_world().complete(queues.back()->handle, CqEntry{});
  ibv_poll_cq(queues.front(), 1, &wc);
  EXPECT_EQ(fake_world().count(Op::kPoll), 1U);
  EXPECT_TRUE(fake_world().polled.empty()) << "any queue of the process";
  EXPECT_EQ(ibv_poll_cq(queues.back(), 1, &wc), 1);
}

TEST_F(ExtendedVerbs, ResizedQueueKeepsItsEntries) {
  CqEntry entry{};
  entry.wr_id = 77;
  fake_world().complete(cq->handle, entry);
  EXPECT_EQ(ibv_resize_cq(cq, 0), EINVAL);
  ASSERT_EQ(ibv_resize_cq(cq, 100), 0);
  EXPECT_EQ(cq->cqe, 128);
  ibv_wc wc;
  ASSERT_EQ(ibv_poll_cq(cq, 1, &wc), 1);
  EXPECT_EQ(wc.wr_id, 77U);
  fake_world().fail_with = EINVAL;
  EXPECT_EQ(ibv_resize_cq(cq, 1), EINVAL);
  EXPECT_EQ(cq->cqe, 128);
}

struct Allocations {
  std::vector<std::uint64_t> made, ended;
  bool use_default = false, fail = false;
};
void* allocate(ibv_pd*, void* context, std::size_t size_B, std::size_t alignment_B, std::uint64_t type) {
  auto& to = *static_cast<Allocations*>(context);
  if (to.fail) return nullptr;
  if (to.use_default) return IBV_ALLOCATOR_USE_DEFAULT;
  to.made.push_back(type);
  void* memory = nullptr;
  return posix_memalign(&memory, alignment_B, size_B) == 0 ? memory : nullptr;
}
void release(ibv_pd*, void* context, void* memory, std::uint64_t type) {
  static_cast<Allocations*>(context)->ended.push_back(type);
  std::free(memory);
}

TEST_F(ExtendedVerbs, ParentDomainBringsMemoryForQueues) {
  Allocations allocations;
  ibv_td_init_attr td_init{};
  ibv_td* td = ibv_alloc_td(context, &td_init);
  ASSERT_NE(td, nullptr);
  ibv_parent_domain_init_attr init{};
  init.pd = pd;
  init.td = td;
  init.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
  init.alloc = allocate;
  init.free = release;
  init.pd_context = &allocations;
  ibv_pd* parent = ibv_alloc_parent_domain(context, &init);
  ASSERT_NE(parent, nullptr);
  EXPECT_EQ(parent->handle, pd->handle) << "it stands for the domain";
  EXPECT_EQ(ibv_dealloc_pd(pd), EBUSY);
  ibv_cq_ex* ex = make_cq_ex(0, parent);
  ASSERT_NE(ex, nullptr);
  std::swap(pd, parent);
  ibv_qp* qp = make_qp();
  ASSERT_NE(qp, nullptr);
  EXPECT_EQ(allocations.made.size(), 2U);
  EXPECT_EQ(ibv_destroy_qp(qp), 0);
  EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(ex)), 0);
  EXPECT_EQ(allocations.ended.size(), 2U);
  allocations.use_default = true;
  EXPECT_EQ(ibv_destroy_qp(make_qp()), 0);
  EXPECT_EQ(allocations.ended.size(), 2U) << "what the library allocated is not the program's to free";
  allocations.fail = true;
  EXPECT_EQ(make_qp(), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(ibv_dealloc_pd(pd), 0);
  EXPECT_EQ(ibv_dealloc_pd(parent), 0);
  EXPECT_EQ(ibv_dealloc_td(td), 0);
}

TEST_F(ExtendedVerbs, RejectsShortGidTable) {
  std::vector<ibv_gid_entry> entries(8);
  const ssize_t all = ibv_query_gid_table(context, entries.data(), entries.size(), 0);
  ASSERT_GT(all, 1);
  EXPECT_EQ(ibv_query_gid_table(context, entries.data(), static_cast<std::size_t>(all), 0), all);
  EXPECT_EQ(ibv_query_gid_table(context, entries.data(), static_cast<std::size_t>(all - 1), 0), -EINVAL);
  EXPECT_EQ(ibv_query_gid_table(context, entries.data(), 0, 0), -EINVAL);
}

TEST_F(ExtendedVerbs, BindOfTypeOneChangesItsKeyAndIsPosted) {
  ibv_qp* qp = make_qp();
  char bytes[64];
  ibv_mr* mr = ibv_reg_mr_iova2(pd, bytes, sizeof bytes, 0x5000, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
  ASSERT_NE(mr, nullptr);
  ibv_mw* mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
  ASSERT_NE(mw, nullptr);
  ibv_mw_bind bind{};
  bind.wr_id = 9;
  bind.send_flags = IBV_SEND_SIGNALED;
  bind.bind_info = {mr, 0x5010, 16, IBV_ACCESS_REMOTE_READ};
  ASSERT_EQ(ibv_bind_mw(qp, mw, &bind), 0);
  EXPECT_EQ(mw->rkey, 0x3000U) << "the low byte counts up and wraps";
  const auto& entry = sends(qp).at<SendEntry>(0);
  EXPECT_EQ(entry.opcode, unsigned{IBV_WR_BIND_MW});
  EXPECT_EQ(entry.wr_id, 9U);
  EXPECT_EQ(entry.rkey, 0x3000U);
  EXPECT_EQ(entry.qkey, mr->lkey);
  EXPECT_EQ(entry.remote_va, 0x5010U);
  EXPECT_EQ(entry.swap, 16U);
  EXPECT_EQ(entry.remote_qpn, unsigned{IBV_ACCESS_REMOTE_READ});
  bind.bind_info.mw_access_flags = IBV_ACCESS_ZERO_BASED;
  EXPECT_EQ(ibv_bind_mw(qp, mw, &bind), EINVAL);
  EXPECT_EQ(mw->rkey, 0x3000U);
  ibv_mw* second = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
  EXPECT_EQ(ibv_bind_mw(qp, second, &bind), EINVAL) << "one of type 2 is bound by a work request";
  EXPECT_EQ(ibv_dealloc_mw(second), 0);
  EXPECT_EQ(ibv_dealloc_mw(mw), 0);
}

TEST_F(ExtendedVerbs, DeviceMemoryIsCopiedInWords) {
  ibv_alloc_dm_attr attr{};
  attr.length = 200'000;
  ibv_dm* dm = ibv_alloc_dm(context, &attr);
  ASSERT_NE(dm, nullptr);
  std::vector<std::uint8_t> from(100'000), to(100'000);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::uint8_t>(i * 7);
  EXPECT_EQ(ibv_memcpy_to_dm(dm, 4, from.data(), from.size()), 0);
  EXPECT_EQ(fake_world().count(Op::kCopyDm), 2U) << "more than fits into a message";
  EXPECT_EQ(ibv_memcpy_from_dm(to.data(), dm, 4, to.size()), 0);
  EXPECT_EQ(from, to);
  EXPECT_EQ(ibv_memcpy_to_dm(dm, 3, from.data(), 4), EFAULT);
  EXPECT_EQ(ibv_memcpy_from_dm(to.data(), dm, 0, 3), EFAULT);
  EXPECT_EQ(ibv_free_dm(dm), 0);
}

TEST_F(ExtendedVerbs, DescriptorOfDeviceImportsItsObjects) {
  const int copy = dup(context->cmd_fd);
  ibv_context* other = ibv_import_device(copy);
  ASSERT_NE(other, nullptr);
  ibv_pd* imported = ibv_import_pd(other, pd->handle);
  ASSERT_NE(imported, nullptr);
  EXPECT_EQ(fake_world().last_import.secret, 0x5ec7e7U);
  ibv_mr* mr = ibv_import_mr(imported, 12);
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(mr->rkey, 0x2000U);
  EXPECT_EQ(mr->length, 4096U);
  ibv_unimport_mr(mr);
  ibv_unimport_pd(imported);
  EXPECT_EQ(ibv_close_device(other), 0);
  EXPECT_EQ(ibv_import_device(-1), nullptr);
}

TEST_F(ExtendedVerbs, RequestsOfXrcNameTheirQueue) {
  ibv_qp_init_attr_ex init{};
  init.qp_type = IBV_QPT_XRC_SEND;
  init.send_cq = cq;
  init.cap.max_send_wr = 4;
  init.cap.max_send_sge = 1;
  init.pd = pd;
  init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  init.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_READ;
  ibv_qp* qp = ibv_create_qp_ex(context, &init);
  ASSERT_NE(qp, nullptr);
  move(qp, IBV_QPS_RTS);
  ibv_send_wr wr{}, *bad = nullptr;
  wr.opcode = IBV_WR_SEND;
  wr.qp_type.xrc.remote_srqn = 0x41;
  EXPECT_EQ(ibv_post_send(qp, &wr, &bad), 0);
  EXPECT_EQ(sends(qp).at<SendEntry>(0).remote_qpn, 0x41U);
  ibv_qp_ex* face = ibv_qp_to_qp_ex(qp);
  ibv_wr_start(face);
  ibv_wr_send(face);
  ibv_wr_set_xrc_srqn(face, 0x42);
  EXPECT_EQ(ibv_wr_complete(face), 0);
  EXPECT_EQ(sends(qp).at<SendEntry>(1).remote_qpn, 0x42U);
  ibv_recv_wr receive{}, *bad_receive = nullptr;
  EXPECT_EQ(ibv_post_recv(qp, &receive, &bad_receive), EINVAL);
  EXPECT_EQ(ibv_destroy_qp(qp), 0);
}

}  // namespace
}  // namespace weft::verbs
