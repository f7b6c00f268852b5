#include "unit/labfile/lab_text.h"

namespace weft::lab {
namespace {

using workload::Misuse;
using workload::TransferOp;

std::string with_transfer(std::string_view keys) {
  return good_lab_with("{name: w, transfer: write, client", fmt::format("{{name: w, {}, client", keys));
}
workload::TransferOptions options_of(std::string_view keys) {
  return std::get<workload::TransferOptions>(read_good(with_transfer(keys)).workloads.at(1).options);
}

TEST(LabTransfer, Defaults) {
  const auto options = options_of("transfer: write");
  EXPECT_EQ(options.op, TransferOp::kWrite);
  EXPECT_EQ(options.size_B, 65536U);
  EXPECT_EQ(options.count, 1U);
  EXPECT_EQ(options.misuse, Misuse::kNone);
  EXPECT_EQ(options_of("transfer: fetch-add").size_B, 8U);
}

TEST(LabTransfer, Keys) {
  const auto options = options_of(
      "transfer: send, connection: UD, size: 1 KiB, count: 10, depth: 4, timeout: 20, retry_cnt: 3, rnr_retry: 2, "
      "min_rnr_timer: 5, receives: 7, receive_delay: 2 us");
  EXPECT_EQ(options.op, TransferOp::kSend);
  EXPECT_TRUE(options.ud);
  EXPECT_EQ(options.size_B, 1024U);
  EXPECT_EQ(options.count, 10U);
  EXPECT_EQ(options.depth, 4U);
  EXPECT_EQ(options.timeout, 20);
  EXPECT_EQ(options.retry_cnt, 3);
  EXPECT_EQ(options.rnr_retry, 2);
  EXPECT_EQ(options.min_rnr_timer, 5);
  EXPECT_EQ(options.receives, 7U);
  EXPECT_EQ(options.receive_delay_ps, us(2));
  EXPECT_EQ(options_of("transfer: read, misuse: beyond-region").misuse, Misuse::kBeyondRegion);
}

TEST(LabTransfer, Problems) {
  expect_problem(with_transfer("transfer: put"), "22:25 transfer \"put\" is not known | write one of write, write-imm");
  expect_problem(with_transfer("transfer: write, retry_cnt: 8"),
                 "22:43 retry_cnt 8 is out of range | it goes from 0 to 7");
  expect_problem(with_transfer("transfer: write, timeout: 32"), "22:41 timeout 32 is out of range");
  expect_problem(with_transfer("transfer: write, size: 3 GiB"), "22:38 size 3 GiB is too large | at most 2 GiB");
  expect_problem(with_transfer("transfer: write, size: 2 GiB, depth: 3"),
                 "22:38 3 outstanding messages of 2147483648 B are more than 4 GiB");
  expect_problem(with_transfer("transfer: write, connection: UC"),
                 "22:44 connection \"UC\" is not known | write one of RC, UD");
  expect_problem(with_transfer("transfer: write, connection: UD, size: 1 KiB"), "22:25 UD does not carry write");
  expect_problem(with_transfer("transfer: send, connection: UD, size: 4097 B"),
                 "22:53 a UD message of 4097 B does not fit the RoCE MTU of 4096 B");
  expect_problem(with_transfer("transfer: compare-swap, size: 16 B"),
                 "22:45 an atomic of 16 B | atomics are always 8 B");
  expect_problem(with_transfer("transfer: read, receives: 3"), "22:41 receives does not go with transfer read");
  expect_problem(with_transfer("transfer: write, count: 0"), "22:39 count 0 is out of range");
  expect_problem(with_transfer("transfer: write, args: -a"), "22:38 args does not fit here | only perftest has args");
}

TEST(LabTransfer, MisuseMatchesOperation) {
  for (const char* bad : {"transfer: send, misuse: wrong-rkey", "transfer: send, misuse: beyond-region",
                          "transfer: read, misuse: no-remote-write", "transfer: write, misuse: no-receive",
                          "transfer: send, connection: UD, size: 8 B, misuse: dead-peer"}) {
    const auto problems = problems_of(with_transfer(bad));
    ASSERT_EQ(problems.size(), 1U) << bad;
    EXPECT_NE(problems[0].find("does not go with this transfer"), std::string::npos) << problems[0];
  }
  for (const char* good : {"transfer: read, misuse: wrong-rkey", "transfer: fetch-add, misuse: beyond-region",
                           "transfer: write-imm, misuse: no-remote-write", "transfer: write-imm, misuse: no-receive",
                           "transfer: send-inv, misuse: no-receive", "transfer: read, misuse: dead-peer"}) {
    read_good(with_transfer(good));
  }
}

}  // namespace
}  // namespace weft::lab
