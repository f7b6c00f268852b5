#include <gtest/gtest.h>

#include "support/host_pair.h"
#include "workload/transfer/run.h"

namespace weft::workload {
namespace {

using support::HostPair;
using support::HostPairOptions;

TransferResult run(const TransferOptions& options, const HostPairOptions& pair_options = {}) {
  HostPair pair(pair_options);
  Endpoint ends[2];
  for (std::uint32_t side : {0U, 1U}) {
    ends[side].host = &pair.host(side);
    ends[side].device = &pair.device(side);
    ends[side].active_mtu_B = 1024;
  }
  TransferRun transfer(options, ends[0], ends[1], 7);
  EXPECT_TRUE(transfer.start_phase(us(1)));
  pair.run();
  transfer.finish_phase(false);
  EXPECT_FALSE(transfer.start_phase(us(1))) << "one phase only";
  return transfer.result();
}

TEST(TransferRun, VerifiesEveryOperation) {
  for (int op = 0; op < 8; ++op) {
    for (std::uint64_t size_B : {0ULL, 1ULL, 1024ULL, 5000ULL}) {
      TransferOptions options;
      options.op = static_cast<TransferOp>(op);
      options.size_B = size_B;
      options.count = 20;
      options.depth = 4;
      TransferResult result = run(options);
      EXPECT_EQ(result.completed, 20U) << op << " " << size_B;
      EXPECT_EQ(result.verified, 20U) << op << " " << size_B;
      EXPECT_EQ(result.out_of_order, 0U);
      EXPECT_FALSE(result.stalled);
      bool atomic = options.op >= TransferOp::kFetchAdd;
      EXPECT_EQ(result.bytes_ok, 20 * (atomic ? 8 : size_B));
      bool receives = options.op >= TransferOp::kWriteImm && options.op <= TransferOp::kSendInv;
      EXPECT_EQ(result.received, receives ? 20U : 0U);
      EXPECT_GT(result.finished_ps, result.started_ps);
    }
  }
}

TEST(TransferRun, LostDatagramsAreNotVerified) {
  TransferOptions options;
  options.op = TransferOp::kSend;
  options.ud = true;
  options.size_B = 1000;
  options.count = 10;
  EXPECT_EQ(run(options).verified, 10U);
  HostPairOptions lossy;
  for (std::uint32_t psn : {2U, 7U}) {
    lossy.faults[0].emplace_back();
    lossy.faults[0].back().psn = psn;
  }
  TransferResult result = run(options, lossy);
  EXPECT_EQ(result.completed, 10U);
  EXPECT_EQ(result.received, 8U);
  EXPECT_EQ(result.verified, 8U);
}

TEST(TransferRun, ReportsMistakesLikeRealNic) {
  const struct {
    Misuse misuse;
    TransferOp op;
    int status, vendor;
  } table[] = {
      {Misuse::kWrongRkey, TransferOp::kWrite, 10, 0x88},    {Misuse::kBeyondRegion, TransferOp::kWrite, 10, 0x88},
      {Misuse::kWrongRkey, TransferOp::kRead, 10, 0x88},     {Misuse::kBeyondRegion, TransferOp::kRead, 10, 0x88},
      {Misuse::kNoRemoteWrite, TransferOp::kWrite, 9, 0x8a}, {Misuse::kNoReceive, TransferOp::kSend, 13, 0x87},
      {Misuse::kDeadPeer, TransferOp::kWrite, 12, 0x81},
  };
  for (const auto& row : table) {
    TransferOptions options;
    options.op = row.op;
    options.misuse = row.misuse;
    options.size_B = 4000;
    options.count = 3;
    options.timeout = 8;
    options.rnr_retry = 0;
    TransferResult result = run(options);
    EXPECT_EQ(result.wc_status, row.status) << static_cast<int>(row.misuse);
    EXPECT_EQ(result.vendor_error, row.vendor);
    EXPECT_EQ(result.completed, 0U);
    EXPECT_GE(result.failed, 1U);
    EXPECT_EQ(result.failed, result.posted);
    EXPECT_EQ(result.verified, 0U);
    EXPECT_FALSE(result.stalled);
  }
}

TEST(TransferRun, WaitsForLateReceiverWithRnr) {
  TransferOptions options;
  options.op = TransferOp::kSend;
  options.size_B = 3000;
  options.count = 5;
  options.receive_delay_ps = us(50);
  options.min_rnr_timer = 1;
  TransferResult result = run(options);
  EXPECT_EQ(result.verified, 5U);
  EXPECT_GT(result.finished_ps - result.started_ps, us(5 * 50) - us(10));
}

TEST(TransferRun, TooFewReceivesEndInRnrError) {
  TransferOptions options;
  options.op = TransferOp::kSend;
  options.size_B = 100;
  options.count = 5;
  options.receives = 2;
  options.rnr_retry = 1;
  options.min_rnr_timer = 1;
  TransferResult result = run(options);
  EXPECT_EQ(result.completed, 2U);
  EXPECT_EQ(result.verified, 2U);
  EXPECT_EQ(result.wc_status, 13);
}

// A READ whose answer never comes, and no timeout: the run ends and says so.
TEST(TransferRun, ReportsStall) {
  TransferOptions options;
  options.op = TransferOp::kRead;
  options.size_B = 100;
  options.timeout = 0;
  HostPairOptions silent;
  silent.faults[1].emplace_back();
  EXPECT_TRUE(run(options, silent).stalled);
}

}  // namespace
}  // namespace weft::workload
