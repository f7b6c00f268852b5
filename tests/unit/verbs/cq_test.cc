#include <fcntl.h>

#include <cerrno>

#include "unit/verbs/setting.h"

namespace weft::verbs {
namespace {

class CompletionQueue : public Setting {};

TEST_F(CompletionQueue, EntryBecomesWorkCompletion) {
  ibv_qp* qp = make_qp();
  CqEntry entry{};
  entry.wr_id = 0x1122334455667788;
  entry.status = IBV_WC_REM_ACCESS_ERR;
  entry.opcode = IBV_WC_RECV;
  entry.vendor_error = 0x88;
  entry.byte_len = 4096;
  entry.imm = 0x01020304;
  entry.qpn = qp->qp_num;
  entry.src_qp = 0x333;
  entry.flags = IBV_WC_GRH | IBV_WC_WITH_IMM;
  entry.sl = 2;
  fake_world().complete(cq->handle, entry);
  ibv_wc wc[4];
  ASSERT_EQ(ibv_poll_cq(cq, 4, wc), 1);
  EXPECT_EQ(wc[0].wr_id, 0x1122334455667788u);
  EXPECT_EQ(wc[0].status, IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(wc[0].opcode, IBV_WC_RECV);
  EXPECT_EQ(wc[0].vendor_err, 0x88u);
  EXPECT_EQ(wc[0].byte_len, 4096u);
  EXPECT_EQ(wc[0].imm_data, 0x01020304u);
  EXPECT_EQ(wc[0].qp_num, qp->qp_num);
  EXPECT_EQ(wc[0].src_qp, 0x333u);
  EXPECT_EQ(wc[0].wc_flags, static_cast<unsigned>(IBV_WC_GRH | IBV_WC_WITH_IMM));
  EXPECT_EQ(wc[0].sl, 2);
  EXPECT_EQ(fake_world().now_ps, 50);
  EXPECT_EQ(fake_world().count(Op::kPoll), 0u);  // there was something
}

TEST_F(CompletionQueue, PollTakesAtMostRequestedEntriesInOrder) {
  ibv_qp* qp = make_qp();
  for (std::uint64_t id = 0; id < 5; ++id) complete(qp, IBV_WC_SEND, 0, id);
  ibv_wc wc[3];
  ASSERT_EQ(ibv_poll_cq(cq, 3, wc), 3);
  EXPECT_EQ(wc[2].wr_id, 2u);
  EXPECT_EQ(fake_world().cqs.at(cq->handle).head().consumed.load(), 3u);
  ASSERT_EQ(ibv_poll_cq(cq, 3, wc), 2);
  EXPECT_EQ(wc[1].wr_id, 4u);
}

TEST_F(CompletionQueue, SecondEmptyPollWaitsInVirtualTimeOnly) {
  ibv_qp* qp = make_qp();
  ibv_wc wc;
  something_happened();
  EXPECT_EQ(ibv_poll_cq(cq, 1, &wc), 0);
  EXPECT_EQ(fake_world().count(Op::kPoll), 0u);
  EXPECT_EQ(ibv_poll_cq(cq, 1, &wc), 0);  // the world may let go without an entry
  EXPECT_EQ(fake_world().count(Op::kPoll), 1u);
  fake_world().on_poll.qpn = qp->qp_num;
  fake_world().on_poll.wr_id = 5;
  EXPECT_EQ(ibv_poll_cq(cq, 1, &wc), 0);
  EXPECT_EQ(ibv_poll_cq(cq, 1, &wc), 1);
  EXPECT_EQ(wc.wr_id, 5u);
  EXPECT_EQ(fake_world().count(Op::kPoll), 2u);
  fake_world().is_virtual = false;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ibv_poll_cq(cq, 1, &wc), 0);
  EXPECT_EQ(fake_world().count(Op::kPoll), 2u);
}

TEST_F(CompletionQueue, WaitsForAlternatelyPolledQueuesTogether) {
  ibv_qp* qp = make_qp();
  ibv_cq* other = ibv_create_cq(context, 16, nullptr, nullptr, 0);
  ibv_wc wc;
  something_happened();
  fake_world().on_poll.qpn = qp->qp_num;
  EXPECT_EQ(ibv_poll_cq(cq, 1, &wc), 0);
  EXPECT_EQ(ibv_poll_cq(other, 1, &wc), 0);
  EXPECT_EQ(fake_world().count(Op::kPoll), 0u);
  EXPECT_EQ(ibv_poll_cq(cq, 1, &wc), 0);  // what ended the wait is in the other
  EXPECT_EQ(fake_world().polled, (std::vector<std::uint32_t>{cq->handle, other->handle}));
  EXPECT_EQ(ibv_poll_cq(other, 1, &wc), 1);

  // A post in between is news: the queue may be worth a look at once.
  EXPECT_EQ(ibv_poll_cq(cq, 1, &wc), 0);
  ibv_recv_wr receive{};
  ibv_recv_wr* bad = nullptr;
  ASSERT_EQ(ibv_post_recv(qp, &receive, &bad), 0);
  EXPECT_EQ(ibv_poll_cq(cq, 1, &wc), 0);
  EXPECT_EQ(fake_world().count(Op::kPoll), 1u);
}

TEST_F(CompletionQueue, DestroyedQueuePairRemovesCompletions) {
  ibv_qp* goes = make_qp();
  ibv_qp* stays = make_qp();
  ASSERT_NE(goes->qp_num, stays->qp_num);
  for (std::uint64_t id = 0; id < 6; ++id) complete(id % 2 == 0 ? goes : stays, IBV_WC_SEND, 0, id);
  ASSERT_EQ(ibv_destroy_qp(goes), 0);
  ibv_wc wc[8];
  ASSERT_EQ(ibv_poll_cq(cq, 8, wc), 3);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(wc[i].wr_id, static_cast<std::uint64_t>(2 * i + 1));
  complete(stays, IBV_WC_SEND, 0, 99);  // the world's end of the ring has not moved
  ASSERT_EQ(ibv_poll_cq(cq, 8, wc), 1);
  EXPECT_EQ(wc[0].wr_id, 99u);
}

TEST_F(CompletionQueue, ResetRemovesPostedAndCompletedWork) {
  ibv_qp* qp = make_qp();
  ibv_sge sge{0x1000, 10, 1};
  ibv_send_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND;
  ibv_send_wr* bad = nullptr;
  for (int i = 0; i < 4; ++i) ASSERT_EQ(ibv_post_send(qp, &wr, &bad), 0);
  complete(qp, IBV_WC_SEND, 1);
  move(qp, IBV_QPS_RESET);
  ibv_wc wc;
  EXPECT_EQ(ibv_poll_cq(cq, 1, &wc), 0);
  move(qp, IBV_QPS_RTS);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(ibv_post_send(qp, &wr, &bad), 0);
  EXPECT_EQ(ibv_post_send(qp, &wr, &bad), ENOMEM);
}

TEST_F(CompletionQueue, EventsNameQueueByAddress) {
  ibv_comp_channel* channel = ibv_create_comp_channel(context);
  ASSERT_NE(channel, nullptr);
  EXPECT_EQ(fake_world().watched.front().first, WaitItem::kAsync);  // of the device
  EXPECT_EQ(fake_world().watched.back().first, WaitItem::kChannel);
  int mine = 0;
  ibv_cq* with = ibv_create_cq(context, 8, &mine, channel, 0);
  ASSERT_NE(with, nullptr);
  EXPECT_EQ(ibv_destroy_comp_channel(channel), EBUSY);
  EXPECT_EQ(ibv_req_notify_cq(with, 1), 0);
  EXPECT_EQ(fake_world().count(Op::kArmCq), 1u);

  fake_world().cq_events.push_back(fake_world().cq_cookies.back());
  ibv_cq* of = nullptr;
  void* cookie = nullptr;
  ASSERT_EQ(ibv_get_cq_event(channel, &of, &cookie), 0);
  EXPECT_EQ(of, with);
  EXPECT_EQ(cookie, &mine);
  EXPECT_EQ(fake_world().last_wait.wait, 1u);  // although the world's own descriptor does not block
  ibv_ack_cq_events(with, 1);

  ASSERT_EQ(fcntl(channel->fd, F_SETFL, fcntl(channel->fd, F_GETFL) | O_NONBLOCK), 0);
  EXPECT_EQ(ibv_get_cq_event(channel, &of, &cookie), -1);
  EXPECT_EQ(errno, EAGAIN);
  EXPECT_EQ(fake_world().last_wait.wait, 0u);
  EXPECT_EQ(ibv_destroy_cq(with), 0);
  EXPECT_EQ(ibv_destroy_comp_channel(channel), 0);
}

TEST_F(CompletionQueue, AsynchronousEventsNameAffectedObject) {
  ibv_qp* qp = make_qp();
  fake_world().async_events = {{IBV_EVENT_QP_FATAL, reinterpret_cast<std::uintptr_t>(qp)}, {IBV_EVENT_PORT_ERR, 0}};
  ibv_async_event event;
  ASSERT_EQ(ibv_get_async_event(context, &event), 0);
  EXPECT_EQ(event.event_type, IBV_EVENT_QP_FATAL);
  EXPECT_EQ(event.element.qp, qp);
  ibv_ack_async_event(&event);
  ASSERT_EQ(ibv_get_async_event(context, &event), 0);
  EXPECT_EQ(event.event_type, IBV_EVENT_PORT_ERR);
  EXPECT_EQ(event.element.port_num, 1);
  ibv_ack_async_event(&event);
  fake_world().fetched.async_events = 1;
  EXPECT_EQ(ibv_destroy_qp(qp), 0);  // would wait for an event that is not acknowledged
}

TEST_F(CompletionQueue, WorldErrorsBecomeErrno) {
  fake_world().fail_with = ENOMEM;
  EXPECT_EQ(ibv_create_cq(context, 8, nullptr, nullptr, 0), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  fake_world().fail_with = EBUSY;
  EXPECT_EQ(ibv_destroy_cq(cq), EBUSY);
  EXPECT_EQ(ibv_create_cq(context, 0, nullptr, nullptr, 0), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(ibv_resize_cq(cq, 16), 0);
  fake_world().fail_with = ENOMEM;
  EXPECT_EQ(ibv_resize_cq(cq, 17), ENOMEM);
}

}  // namespace
}  // namespace weft::verbs
