#include <gtest/gtest.h>

#include "support/host_pair.h"
#include "workload/flow/run.h"
#include "workload/flow/summary.h"

namespace weft::workload {
namespace {

using support::HostPair;
using support::HostPairOptions;

constexpr Time_ps kStart_ps = us(3);

class FlowRunTest : public ::testing::Test {
 protected:
  std::vector<FlowRow> run(FlowOptions options, HostPairOptions pair_options = {}, Time_ps deadline_ps = kNever_ps) {
    pair_options.carry_payload = false;
    pair_ = std::make_unique<HostPair>(pair_options);
    std::vector<Endpoint> ends(2);
    for (std::uint32_t side : {0U, 1U}) {
      ends[side].host = &pair_->host(side);
      ends[side].device = &pair_->device(side);
      ends[side].active_mtu_B = 4096;
    }
    FlowRun flows(std::move(options), ends);
    EXPECT_TRUE(flows.start_phase(kStart_ps));
    pair_->run(deadline_ps);
    flows.finish_phase(deadline_ps != kNever_ps);
    EXPECT_FALSE(flows.start_phase(kStart_ps)) << "one phase only";
    return flows.rows();
  }
  std::unique_ptr<HostPair> pair_;
};

// Line bytes of a WRITE: Ethernet 14 + FCS 4 + preamble and gap 20, IPv4 20, UDP 8, BTH 12, ICRC 4 around each packet's
// payload, RETH 16 in the first.
constexpr std::uint64_t kPacketExtra_B = 14 + 4 + 20 + 20 + 8 + 12 + 4;

// support/models.h: 50 ns to the doorbell, 100 MMIO, 100 transmit, 200 DMA read; each way 1000 of cable and 100 of
// receive pipeline; 100 response latency, an ACK of 86 B; 100 DMA write of the CQE.
constexpr Time_ps kBase_ps = ns(50 + 100 + 100 + 200 + 1100 + 100 + 1100 + 100) + (kPacketExtra_B + 4) * 80;

TEST_F(FlowRunTest, CompletionTimeOnIdleCable) {
  for (std::uint64_t size_B : {1ULL, 4096ULL, 4097ULL, 2'000'000ULL, 100'000'000ULL}) {
    FlowOptions options;
    options.flows = {{0, 1, size_B, us(5)}};
    std::vector<FlowRow> rows = run(options);
    ASSERT_EQ(rows[0].state, FlowState::kDone);
    EXPECT_EQ(rows[0].first_post_ps, us(5));
    std::uint64_t packets = (size_B + 4095) / 4096;
    Time_ps expected_ps = kBase_ps + static_cast<Time_ps>(size_B + packets * kPacketExtra_B + 16) * 80;
    // PCIe 5.0 x16 moves the first and the last 4 KiB in 70 ns each, and a CQE in 2.
    EXPECT_GE(rows[0].fct_ps(), expected_ps) << size_B;
    EXPECT_LE(rows[0].fct_ps(), expected_ps + ns(2 * 70 + 10)) << size_B;
  }
}

TEST_F(FlowRunTest, TwoFlowsShareCable) {
  for (FlowOp op : {FlowOp::kWrite, FlowOp::kSend}) {
    for (std::uint32_t message_B : {0U, 65536U}) {
      FlowOptions options;
      options.op = op;
      options.message_B = message_B;
      options.flows = {{0, 1, 10'000'000, 0}, {0, 1, 10'000'000, 0}};
      std::vector<FlowRow> rows = run(options);
      FlowSummary summary = summarise(rows);
      EXPECT_EQ(summary.done, 2U);
      EXPECT_GT(summary.jain, 0.999);
      double line_rate = 100e9 * 4096 / (4096 + kPacketExtra_B);
      EXPECT_NEAR(summary.goodput_bps / line_rate, 1, 0.005);
      EXPECT_NEAR(rows[0].goodput_bps() / (line_rate / 2), 1, 0.005);
      EXPECT_NE(rows[0].qpn, rows[1].qpn);
      EXPECT_EQ(pair_->device(1).counters().rx_write_requests,
                op == FlowOp::kSend ? 0U : 2 * (message_B > 0 ? 153U : 1U));
    }
  }
}

TEST_F(FlowRunTest, FlowsStartOnTime) {
  FlowOptions options;
  options.flows = {{0, 1, 1000, 0}, {1, 0, 1000, us(10)}, {0, 1, 1000, us(10)}, {0, 1, 1000, us(50)}};
  std::vector<FlowRow> rows = run(options);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(rows[i].state, FlowState::kDone);
    EXPECT_EQ(rows[i].start_ps, options.flows[i].start_ps);
    EXPECT_EQ(rows[i].first_post_ps, options.flows[i].start_ps);
    EXPECT_EQ(rows[i].fct_ps(), rows[0].fct_ps());
    EXPECT_EQ(rows[i].id, i + 1);
  }
}

// Posting costs CPU time: 20 ns WQE, 30 doorbell, 10 loop.
TEST_F(FlowRunTest, PostsSimultaneousFlowsOneByOne) {
  FlowOptions options;
  for (std::uint32_t i = 0; i < 5; ++i) options.flows.push_back({0, 1, 64, us(1), 100 + i});
  std::vector<FlowRow> rows = run(options);
  for (std::uint32_t i = 0; i < 5; ++i) {
    EXPECT_EQ(rows[i].first_post_ps, us(1) + i * ns(60));
    EXPECT_EQ(rows[i].id, 100 + i);
  }
}

// 100 messages with 16 outstanding at a time, received into 32 buffers that are posted again.
TEST_F(FlowRunTest, ManySmallMessages) {
  for (FlowOp op : {FlowOp::kWrite, FlowOp::kSend}) {
    FlowOptions options;
    options.op = op;
    options.message_B = 1000;
    options.flows = {{0, 1, 99'001, 0}, {1, 0, 99'001, 0}};
    std::vector<FlowRow> rows = run(options);
    for (std::uint32_t side : {0U, 1U}) {
      EXPECT_EQ(rows[side].state, FlowState::kDone);
      EXPECT_EQ(pair_->device(side).counters().out_of_buffer, 0U);
      const nic::QueuePair& qp = pair_->device(side).qp(rows[side].qpn);
      EXPECT_EQ(qp.req.tail, 100U);
      EXPECT_EQ(qp.req.mask + 1, 16U);
    }
  }
}

// A program that waits for the start of a flow goes on with the others.
TEST_F(FlowRunTest, MessagesContinueBeforeLaterStart) {
  FlowOptions options;
  options.message_B = 1000;
  options.flows = {{0, 1, 99'001, 0}, {0, 1, 1000, ms(1)}};
  std::vector<FlowRow> rows = run(options);
  EXPECT_LT(rows[0].end_ps, us(100));
  EXPECT_EQ(rows[1].first_post_ps, ms(1));
}

// A cable that breaks in the middle: the flow ends with the first error, and its last messages are never posted.
TEST_F(FlowRunTest, ReportsPeerThatDiesLater) {
  HostPairOptions dying;
  fabric::FaultRule rule;
  rule.start_ps = kStart_ps + us(10);
  dying.faults[1] = {rule};
  FlowOptions options;
  options.timeout = 8;
  options.retry_cnt = 1;
  options.message_B = 10'000;
  options.flows = {{0, 1, 1'000'000, 0}};
  std::vector<FlowRow> rows = run(options, dying);
  EXPECT_EQ(rows[0].state, FlowState::kFailed);
  EXPECT_EQ(rows[0].status, nic::WcStatus::kRetryExceeded);
  // 10 us of 100 Gb/s are 12 messages, and 16 more were outstanding.
  const nic::QueuePair& qp = pair_->device(0).qp(rows[0].qpn);
  EXPECT_GT(qp.req.tail, 16U);
  EXPECT_LE(qp.req.tail, 28U);
  EXPECT_EQ(qp.req.head, qp.req.tail) << "everything was flushed";
}

TEST_F(FlowRunTest, EmptyFlowIsOneEmptyMessage) {
  for (FlowOp op : {FlowOp::kWrite, FlowOp::kSend}) {
    FlowOptions options;
    options.op = op;
    options.flows = {{0, 1, 0, 0}};
    EXPECT_EQ(run(options)[0].state, FlowState::kDone);
  }
}

TEST_F(FlowRunTest, ReportsDeadPeer) {
  HostPairOptions dead;
  dead.faults[0] = {fabric::FaultRule{}};  // drops everything
  FlowOptions options;
  options.timeout = 8;
  options.retry_cnt = 2;
  options.message_B = 4096;
  options.flows = {{0, 1, 100'000, 0}, {1, 0, 1000, 0}};
  std::vector<FlowRow> rows = run(options, dead);
  EXPECT_EQ(rows[0].state, FlowState::kFailed);
  EXPECT_EQ(rows[0].status, nic::WcStatus::kRetryExceeded) << "not the flushes behind it";
  EXPECT_EQ(rows[0].failure(),
            "Completion with error: status 12 (transport retry counter exceeded), vendor syndrome 0x81");
  // Nobody hears the acknowledgements either.
  EXPECT_EQ(rows[1].state, FlowState::kFailed);
  EXPECT_EQ(summarise(rows).failed, 2U);
}

TEST_F(FlowRunTest, InterruptedFlowsAreUnfinished) {
  FlowOptions options;
  options.flows = {{0, 1, 1000, 0}, {0, 1, 100'000'000, 0}, {0, 1, 1000, ms(100)}};
  std::vector<FlowRow> rows = run(options, {}, us(100));
  EXPECT_EQ(rows[0].state, FlowState::kDone);
  EXPECT_EQ(rows[1].state, FlowState::kRunning);
  EXPECT_EQ(rows[2].state, FlowState::kWaiting);
  EXPECT_EQ(summarise(rows).unfinished, 2U);
}

// All queue pairs of an endpoint share one completion queue, and an idle one is small.
TEST_F(FlowRunTest, ThousandsOfFlows) {
  FlowOptions options;
  for (std::uint32_t i = 0; i < 20'000; ++i) options.flows.push_back({i % 2, 1 - i % 2, 500, 0});
  std::vector<FlowRow> rows = run(options);
  EXPECT_EQ(summarise(rows).done, 20'000U);
  EXPECT_EQ(pair_->device(0).cq_count(), 1U);
  const nic::QueuePair& qp = pair_->device(0).qp(rows[0].qpn);
  std::size_t bytes =
      sizeof qp + (qp.req.mask + 1) * sizeof(nic::SendWqe) + qp.resp.receives.capacity() * sizeof(nic::ReceiveRequest) +
      qp.resp.replies.capacity() * sizeof(nic::Reply) + qp.resp.atomics.capacity() * sizeof(nic::SavedAtomic);
  EXPECT_LT(bytes, 1024U);
}

// Back and forth: each flow starts when the host that it starts from has received the one before it.
TEST_F(FlowRunTest, ChainRunsStepByStep) {
  constexpr std::uint32_t kSteps = 20;
  constexpr std::uint64_t kSize_B = 100'000;
  for (FlowOp op : {FlowOp::kWrite, FlowOp::kSend}) {
    FlowOptions options;
    options.op = op;
    for (std::uint32_t i = 0; i < kSteps; ++i) {
      options.flows.push_back({i % 2, 1 - i % 2, kSize_B, i == 0 ? 0 : ns(700)});
      if (i > 0) options.dependencies.push_back({i, i - 1});
    }
    const std::vector<FlowRow> rows = run(options);
    for (std::uint32_t i = 0; i < kSteps; ++i) {
      ASSERT_EQ(rows[i].state, FlowState::kDone) << i;
      // The CPU has seen the end of the last one before it posts, and is done with that well within the delay.
      EXPECT_EQ(rows[i].first_post_ps, rows[i].start_ps);
      if (i == 0) continue;
      // From doorbell to the receiver's CQE: 50 ns to the doorbell, 100 MMIO, 100 transmit, 200 DMA read, the bytes on
      // the line, 1000 of cable and 100 of receive pipeline, 100 DMA write; PCIe as above. And the delay.
      const std::uint64_t packets = (kSize_B + 4095) / 4096;
      const std::uint64_t header_B = op == FlowOp::kWrite ? 16 + 4 : 0;  // RETH, ImmDt
      const Time_ps way_ps = ns(50 + 100 + 100 + 200 + 1100 + 100) +
                             static_cast<Time_ps>(kSize_B + packets * kPacketExtra_B + header_B) * 80;
      EXPECT_GE(rows[i].start_ps - rows[i - 1].start_ps, way_ps + ns(700)) << i;
      EXPECT_LE(rows[i].start_ps - rows[i - 1].start_ps, way_ps + ns(700) + ns(2 * 70 + 10)) << i;
    }
  }
}

// Without a delay the CPU posts as soon as it has polled.
TEST_F(FlowRunTest, PostsWaitingFlowAfterPoll) {
  FlowOptions options;
  options.flows = {{0, 1, 5'000, 0}, {0, 1, 5'000, 0}, {1, 0, 5'000, 0}};
  options.dependencies = {{1, 0}, {2, 0}, {2, 1}};
  const std::vector<FlowRow> rows = run(options);
  EXPECT_EQ(rows[1].start_ps, rows[0].end_ps) << "the sender's completion";
  EXPECT_EQ(rows[1].first_post_ps, rows[1].start_ps + pair_->host(0).model().poll_hit_ps);
  EXPECT_LT(rows[2].start_ps, rows[1].end_ps) << "the receiver has it before the sender's ACK";
  EXPECT_GT(rows[2].start_ps, rows[1].start_ps);
}

TEST_F(FlowRunTest, FailedPredecessorKeepsFlowWaiting) {
  HostPairOptions dead;
  dead.faults[0] = {fabric::FaultRule{}};  // drops everything
  FlowOptions options;
  options.timeout = 8;
  options.retry_cnt = 1;
  options.flows = {{0, 1, 5'000, 0}, {0, 1, 5'000, 0}, {1, 0, 5'000, 0}};
  options.dependencies = {{1, 0}, {2, 0}};
  const std::vector<FlowRow> rows = run(options, dead);
  EXPECT_EQ(rows[0].state, FlowState::kFailed);
  for (std::size_t i : {1U, 2U}) {
    EXPECT_EQ(rows[i].state, FlowState::kWaiting);
    EXPECT_EQ(rows[i].start_ps, kNever_ps);
  }
  EXPECT_EQ(summarise(rows).unfinished, 2U);
}

}  // namespace
}  // namespace weft::workload
