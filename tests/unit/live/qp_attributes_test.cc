// ibv_modify_qp: which attributes each step needs and takes, and that those that are taken are applied.
#include <gtest/gtest.h>

#include "live/verbs/qp_transition.h"
#include "support/live_program.h"

namespace weft {
namespace {

using verbs::Op;

constexpr std::uint32_t kTypes[] = {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD};

TEST(QpTransition, RequiresAttributesOfTransition) {
  struct {
    std::uint32_t from, to;
  } const steps[] = {{IBV_QPS_RESET, IBV_QPS_INIT}, {IBV_QPS_INIT, IBV_QPS_RTR}, {IBV_QPS_RTR, IBV_QPS_RTS}};
  for (std::uint32_t type : kTypes) {
    for (const auto& step : steps) {
      const std::uint32_t mask = LiveProgram::mask_of(step.to, type);
      EXPECT_TRUE(live::may_modify(type, step.from, step.to, mask)) << type << " " << step.to;
      for (std::uint32_t bit = IBV_QP_STATE << 1; bit != 0; bit <<= 1) {
        if ((mask & bit) == 0) continue;
        EXPECT_FALSE(live::may_modify(type, step.from, step.to, mask & ~bit)) << type << " " << step.to << " " << bit;
      }
      EXPECT_FALSE(live::may_modify(type, step.from, step.to, mask | IBV_QP_CAP));
    }
  }
}

TEST(QpTransition, SelfTransitionTakesChangeableAttributes) {
  EXPECT_TRUE(live::may_modify(IBV_QPT_RC, IBV_QPS_RTS, IBV_QPS_RTS, IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER));
  EXPECT_FALSE(live::may_modify(IBV_QPT_RC, IBV_QPS_RTS, IBV_QPS_RTS, IBV_QP_TIMEOUT));
  EXPECT_FALSE(live::may_modify(IBV_QPT_UC, IBV_QPS_RTS, IBV_QPS_RTS, IBV_QP_MIN_RNR_TIMER));
  EXPECT_TRUE(live::may_modify(IBV_QPT_UD, IBV_QPS_RTS, IBV_QPS_RTS, IBV_QP_QKEY));
  EXPECT_TRUE(live::may_modify(IBV_QPT_RC, IBV_QPS_INIT, IBV_QPS_INIT, IBV_QP_ACCESS_FLAGS));
  EXPECT_FALSE(live::may_modify(IBV_QPT_RC, IBV_QPS_RTR, IBV_QPS_RTR, IBV_QP_MIN_RNR_TIMER));
  EXPECT_FALSE(live::may_modify(IBV_QPT_RC, IBV_QPS_RESET, IBV_QPS_RESET, IBV_QP_PKEY_INDEX));
}

TEST(QpTransition, StateAloneIsNotEnoughForInit) {
  for (std::uint32_t type : {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV})
    EXPECT_FALSE(live::may_modify(type, IBV_QPS_RESET, IBV_QPS_INIT, IBV_QP_STATE)) << type;
}

TEST(QpTransition, SendQueueDrains) {
  for (std::uint32_t type : {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV}) {
    EXPECT_TRUE(live::may_modify(type, IBV_QPS_RTS, IBV_QPS_SQD, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY));
    EXPECT_TRUE(live::may_modify(type, IBV_QPS_SQD, IBV_QPS_RTS, IBV_QP_STATE));
    EXPECT_FALSE(live::may_modify(type, IBV_QPS_RTR, IBV_QPS_SQD, IBV_QP_STATE));
    EXPECT_FALSE(live::may_modify(type, IBV_QPS_RTS, IBV_QPS_SQD, IBV_QP_STATE | IBV_QP_AV));
    EXPECT_EQ(live::may_modify(type, IBV_QPS_SQD, IBV_QPS_SQD, IBV_QP_AV), type != IBV_QPT_UD);
  }
  EXPECT_TRUE(live::may_modify(IBV_QPT_RC, IBV_QPS_SQD, IBV_QPS_SQD, IBV_QP_TIMEOUT | IBV_QP_MAX_DEST_RD_ATOMIC));
  EXPECT_FALSE(live::may_modify(IBV_QPT_XRC_SEND, IBV_QPS_SQD, IBV_QPS_SQD, IBV_QP_MAX_DEST_RD_ATOMIC));
}

TEST(QpTransition, SidesOfXrcTakeTheirHalf) {
  const std::uint32_t address = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  const std::uint32_t answers = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  EXPECT_TRUE(live::may_modify(IBV_QPT_XRC_SEND, IBV_QPS_INIT, IBV_QPS_RTR, address));
  EXPECT_FALSE(live::may_modify(IBV_QPT_XRC_SEND, IBV_QPS_INIT, IBV_QPS_RTR, address | answers));
  EXPECT_TRUE(live::may_modify(IBV_QPT_XRC_RECV, IBV_QPS_INIT, IBV_QPS_RTR, address | answers));
  EXPECT_TRUE(live::may_modify(IBV_QPT_XRC_RECV, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_SQ_PSN | IBV_QP_TIMEOUT));
}

// perftest gives both kinds of XRC the attributes of RC, and the Linux kernel lets it.
TEST(QpTransition, XrcLeavesOutOtherDirection) {
  const std::uint32_t address = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  const std::uint32_t answers = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  const std::uint32_t asks = IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY;
  const std::uint32_t rest = address | IBV_QP_TIMEOUT | IBV_QP_STATE | IBV_QP_SQ_PSN;
  EXPECT_EQ(live::attributes_that_count(IBV_QPT_XRC_SEND, rest | answers | asks), rest | asks);
  EXPECT_EQ(live::attributes_that_count(IBV_QPT_XRC_RECV, rest | answers | asks), rest | answers);
  for (std::uint32_t type : {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD})
    EXPECT_EQ(live::attributes_that_count(type, rest | answers | asks), rest | answers | asks);
}

TEST(QpTransition, ResetAndErrorTakeNoAttributes) {
  for (std::uint32_t type : kTypes) {
    for (std::uint32_t from : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_SQE, IBV_QPS_ERR}) {
      for (std::uint32_t to : {IBV_QPS_RESET, IBV_QPS_ERR}) {
        EXPECT_TRUE(live::may_modify(type, from, to, IBV_QP_STATE));
        EXPECT_FALSE(live::may_modify(type, from, to, IBV_QP_STATE | IBV_QP_QKEY));
      }
    }
    EXPECT_FALSE(live::may_modify(type, IBV_QPS_RESET, IBV_QPS_ERR, IBV_QP_STATE));
    EXPECT_FALSE(live::may_modify(type, IBV_QPS_RESET, IBV_QPS_RTS, IBV_QP_STATE));
  }
}

// A queue pair that is connected to itself.
class QpAttributes : public testing::Test {
 protected:
  void SetUp() override {
    const auto address = reinterpret_cast<std::uint64_t>(buffer.data());
    keys = program.ask(Op::kRegMr, verbs::RegMr{pd, 0xf, address, buffer.size(), address}).as<verbs::MrKeys>();
    ASSERT_TRUE(program.connect(qp, qp.number, "\x0a\0\0\x01"));
  }
  int set(std::uint32_t mask, const verbs::QpAttr& attr) {
    return program.ask(Op::kModifyQp, verbs::ModifyQp{qp.handle, mask, attr}).error;
  }
  std::uint32_t write() {
    verbs::SendEntry entry{};
    entry.opcode = IBV_WR_RDMA_WRITE;
    entry.flags = IBV_SEND_SIGNALED;
    entry.sges = 1;
    entry.remote_va = reinterpret_cast<std::uint64_t>(buffer.data());
    entry.rkey = keys.rkey;
    const verbs::Sge sge{entry.remote_va, 8, keys.lkey};
    program.post(qp.send, entry, {&sge, 1});
    auto done = program.take(cq);
    return done ? done->status : 999;
  }

  LiveWorld world;
  LiveProgram program{world, "a"};
  std::array<std::uint8_t, 64> buffer{};
  std::uint32_t pd = program.make(Op::kAllocPd, verbs::OnDevice{0});
  LiveProgram::Mapped cq = program.make_cq(16);
  LiveProgram::Qp qp = program.make_qp(pd, cq.info.handle, 4);
  verbs::MrKeys keys{};
};

TEST_F(QpAttributes, AppliedWithoutStateChange) {
  EXPECT_EQ(write(), std::uint32_t{IBV_WC_SUCCESS});
  EXPECT_EQ(set(IBV_QP_ACCESS_FLAGS, {}), 0);
  // Its own responder refuses, and takes the send queue along.
  EXPECT_EQ(write(), std::uint32_t{IBV_WC_WR_FLUSH_ERR});
}

TEST_F(QpAttributes, NotStoredWhenRejected) {
  auto timeout = [&] { return program.ask(Op::kQueryQp, verbs::Handle{qp.handle}).as<verbs::QpAttr>().timeout; };
  const std::uint32_t before = timeout();
  verbs::QpAttr attr{};
  attr.timeout = before + 1;
  EXPECT_EQ(set(IBV_QP_TIMEOUT, attr), EINVAL);
  EXPECT_EQ(timeout(), before);
}

TEST_F(QpAttributes, SourceGidMustBeRoceV2Entry) {
  const std::pair<std::uint32_t, int> expected[] = {{0, EOPNOTSUPP}, {1, 0}, {2, EOPNOTSUPP}, {3, 0}, {4, EINVAL}};
  for (const auto& [index, error] : expected) {
    verbs::CreateAh ask{pd, {}};
    ask.attr.sgid_index = index;
    ask.attr.dgid[10] = ask.attr.dgid[11] = 0xff;
    std::memcpy(ask.attr.dgid + 12, "\x0a\0\0\x02", 4);
    EXPECT_EQ(program.ask(Op::kCreateAh, ask).error, error) << index;
    LiveProgram::Qp fresh = program.make_qp(pd, cq.info.handle, 4);
    ASSERT_TRUE(program.modify(fresh, IBV_QPS_INIT, 1));
    verbs::ModifyQp to_rtr{fresh.handle, LiveProgram::mask_of(IBV_QPS_RTR, IBV_QPT_RC), {}};
    to_rtr.attr.state = IBV_QPS_RTR;
    to_rtr.attr.path_mtu = IBV_MTU_1024;
    to_rtr.attr.ah = ask.attr;
    EXPECT_EQ(program.ask(Op::kModifyQp, to_rtr).error, error) << index;
  }
}

}  // namespace
}  // namespace weft
