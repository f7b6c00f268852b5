#include "nccl/text/tests_table.h"

#include <gtest/gtest.h>

namespace weft::nccl {
namespace {

TestOptions parsed(std::string_view test, std::vector<std::string> words) {
  auto options = parse_tests(test, words);
  EXPECT_TRUE(options) << (options ? "" : options.error().front());
  return options ? *options : TestOptions();
}

// Lines as nccl-tests 2.19 prints them ([nccl-tests]; [rccl-mi355x] for the widths of large times).
TEST(TestsTable, LinesAreThoseOfNcclTests) {
  const TestOptions options = parsed("all_reduce_perf", {"-b", "8", "-e", "128M", "-f", "2", "-g", "1"});
  TestReport report;
  report.devices.push_back({0, 0, 3521, "test1", 0, "0000:81:00", "NVIDIA A100-PCIE-40GB"});
  TestRow row{2097152, 524288, "float", "sum", -1, {}};
  row.places[0] = {880.2, 2.38, 2.38, 0, 20};
  row.places[1] = {83456.7, 12345.6, 0.004, std::nullopt, 20};
  report.rows.push_back(row);
  EXPECT_EQ(
      format_tests(options, report),
      "# nccl-tests version 2.19.6 nccl-headers=23007 nccl-library=23007\n"
      "# Collective test starting: all_reduce_perf\n"
      "# nThread 1 nGpus 1 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1 "
      "validation: 1 graph: 0 unalign: 0\n"
      "#\n"
      "# Using devices\n"
      "#  Rank  0 Group  0 Pid   3521 on      test1 device  0 [0000:81:00] NVIDIA A100-PCIE-40GB\n"
      "#\n"
      "#                                                              out-of-place                       in-place  "
      "        \n"
      "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   "
      "busbw  #wrong \n"
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  "
      "(GB/s)         \n"
      "     2097152        524288     float     sum      -1   880.20    2.38    2.38       0  83456.7   12346    "
      "0.00     N/A\n"
      "# Out of bounds values : 0 OK\n"
      "# Avg bus bandwidth    : 1.192 \n"
      "#\n"
      "# Collective test concluded: all_reduce_perf\n");
}

TEST(TestsOptions, SizesFollowFlags) {
  EXPECT_EQ(parsed("all_reduce", {"-b", "8", "-e", "128", "-f", "4"}).sizes(),
            (std::vector<std::uint64_t>{8, 32, 128}));
  EXPECT_EQ(parsed("all_reduce", {"-b", "1K", "-e", "3K", "-i", "1K"}).sizes(),
            (std::vector<std::uint64_t>{1024, 2048, 3072}));
  EXPECT_EQ(parsed("all_reduce", {}).sizes(), std::vector<std::uint64_t>{32 << 20});
  EXPECT_EQ(parsed("all_reduce", {"--minbytes=1G"}).max_B, 1ULL << 30);
  EXPECT_EQ(parsed("./build/all_gather_perf_mpi", {"-dbfloat16"}).collective, Collective::kAllGather);
}

TEST(TestsOptions, NamesWhatIsWrong) {
  const auto error = [](std::string_view test, std::vector<std::string> words) {
    auto options = parse_tests(test, words);
    return options ? std::string() : options.error().front();
  };
  EXPECT_NE(error("all_reduc", {}).find("did you mean all_reduce"), std::string::npos) << error("all_reduc", {});
  EXPECT_NE(error("all_reduce", {"-Q", "1"}).find("no -Q"), std::string::npos);
  EXPECT_NE(error("all_reduce", {"-b", "8X"}).find("not a size"), std::string::npos);
  EXPECT_NE(error("all_reduce", {"-b", "8M", "-e", "1M"}).find("less than -b"), std::string::npos);
  EXPECT_NE(error("all_reduce", {"-d", "float3"}).find("bfloat16"), std::string::npos);
  EXPECT_NE(error("all_reduce", {"-D", "1"}).find("not modelled"), std::string::npos);
  EXPECT_NE(error("all_reduce", {"-n"}).find("without a value"), std::string::npos);
}

// The arithmetic of [nccl-tests].
TEST(TestsOptions, CountsAndFactors) {
  EXPECT_EQ(param_count(Collective::kAllGather, 1000, 4, 8), 28U);  // 31 rounded to 16 bytes
  EXPECT_EQ(row_size_B(Collective::kAllGather, 28, 4, 8), 896U);
  EXPECT_EQ(param_count(Collective::kAllReduce, 1000, 4, 8), 250U);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::kAllReduce, 8), 1.75);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::kAlltoAll, 8), 0.875);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::kSendRecv, 8), 1);
  EXPECT_DOUBLE_EQ(algorithm_bandwidth(Collective::kHypercube, 1000, 4, 8, 1e-6), 28);
}

}  // namespace
}  // namespace weft::nccl
