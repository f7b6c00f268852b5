#include "spec/work.h"

#include <gtest/gtest.h>

namespace weft::nic {
namespace {

// ibv_wc_status, ibv_wc_status_str, and the vendor syndromes of [fault-characterization].
TEST(Work, StatusNumbersWordsAndVendorSyndromes) {
  const struct {
    WcStatus status;
    int number;
    const char* text;
    int vendor;
  } table[] = {
      {WcStatus::kSuccess, 0, "success", 0},
      {WcStatus::kLocalLengthError, 1, "local length error", 0x68},
      {WcStatus::kLocalQpOperationError, 2, "local QP operation error", 0},
      {WcStatus::kLocalProtectionError, 4, "local protection error", 0x51},
      {WcStatus::kFlushError, 5, "Work Request Flushed Error", 0xf9},
      {WcStatus::kRemoteInvalidRequest, 9, "remote invalid request error", 0x8a},
      {WcStatus::kRemoteAccessError, 10, "remote access error", 0x88},
      {WcStatus::kRemoteOperationError, 11, "remote operation error", 0x89},
      {WcStatus::kRetryExceeded, 12, "transport retry counter exceeded", 0x81},
      {WcStatus::kRnrRetryExceeded, 13, "RNR retry counter exceeded", 0x87},
  };
  for (const auto& row : table) {
    EXPECT_EQ(static_cast<int>(row.status), row.number);
    EXPECT_EQ(name(row.status), row.text);
    EXPECT_EQ(mlx5_vendor_error(row.status), row.vendor);
  }
}

TEST(Work, OperationRequirements) {
  for (WrOpcode op : {WrOpcode::kRead, WrOpcode::kFetchAdd, WrOpcode::kCompareSwap}) {
    EXPECT_TRUE(needs_response(op));
    EXPECT_FALSE(consumes_receive(op));
  }
  for (WrOpcode op : {WrOpcode::kSend, WrOpcode::kSendImm, WrOpcode::kSendInv, WrOpcode::kWriteImm}) {
    EXPECT_FALSE(needs_response(op));
    EXPECT_TRUE(consumes_receive(op));
  }
  EXPECT_FALSE(needs_response(WrOpcode::kWrite));
  EXPECT_FALSE(consumes_receive(WrOpcode::kWrite));
  EXPECT_FALSE(is_atomic(WrOpcode::kRead));
  EXPECT_TRUE(is_atomic(WrOpcode::kFetchAdd) && is_atomic(WrOpcode::kCompareSwap));
}

}  // namespace
}  // namespace weft::nic
