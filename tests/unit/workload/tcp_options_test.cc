#include <gtest/gtest.h>

#include "spec/iperf3_options.h"
#include "spec/perftest_options.h"

namespace weft::workload {
namespace {

Iperf3Options good_iperf3(std::string_view line) {
  auto options = parse_iperf3(split_words(line));
  EXPECT_TRUE(options) << (options ? "" : options.error().front());
  return options.value_or(Iperf3Options{});
}
std::string iperf3_error(std::string_view line) {
  const auto options = parse_iperf3(split_words(line));
  return options ? "" : options.error().front();
}

TEST(Iperf3Options, HasDefaultsOfIperf3) {
  const Iperf3Options options = good_iperf3("");
  EXPECT_EQ(options.duration_ps, 10 * kSecond_ps);
  EXPECT_EQ(options.block_B, 131072U);
  EXPECT_EQ(options.parallel, 1U);
  EXPECT_EQ(options.port, 5201);
  EXPECT_EQ(options.algorithm, TcpAlgorithm::kCubic);
}

TEST(Iperf3Options, ReadsFlagsInAllForms) {
  const Iperf3Options options = good_iperf3("-t 0.5 -P4 --congestion=dctcp -l 64K -w 1M -R -i 0.1 -A 2,3 --dscp 8");
  EXPECT_EQ(options.duration_ps, kSecond_ps / 2);
  EXPECT_EQ(options.parallel, 4U);
  EXPECT_EQ(options.algorithm, TcpAlgorithm::kDctcp);
  EXPECT_EQ(options.block_B, 65536U);
  EXPECT_EQ(options.window_B, 1U << 20);
  EXPECT_TRUE(options.reverse);
  EXPECT_EQ(options.client_cpu, 2U);
  EXPECT_EQ(options.server_cpu, 3U);
  EXPECT_EQ(options.tos, 32);
}

TEST(Iperf3Options, EndsAfterBytes) {
  const Iperf3Options options = good_iperf3("-n 2G");
  EXPECT_EQ(options.total_B, std::uint64_t{2} << 30);
  EXPECT_EQ(options.duration_ps, 0);
}

TEST(Iperf3Options, SaysWhatIsWrongAndWhatToWrite) {
  EXPECT_EQ(iperf3_error("-C bbr"), "-C bbr: this congestion control is not modelled; write cubic, dctcp or reno");
  EXPECT_EQ(iperf3_error("-u"), "-u is not for a lab; only TCP is modelled: leave it out");
  EXPECT_EQ(iperf3_error("-c 10.0.0.1"), "-c is not for a lab; the lab names the ends: leave it out");
  EXPECT_EQ(iperf3_error("--tim 3"), "--tim: iperf3 has no such flag; did you mean --time?");
  EXPECT_EQ(iperf3_error("-t"), "-t: needs a value after it");
  EXPECT_EQ(iperf3_error("-t 1 -n 1M"),
            "-t and -n: a test ends after a time or after so many bytes; leave one of them out");
  EXPECT_EQ(iperf3_error("-P 0"), "-P 0: not a number from 1 to 128; write one of them");
  EXPECT_EQ(iperf3_error("-t 0"), "-t 0 never ends; write a time");
  EXPECT_EQ(iperf3_error("vm00"), "vm00: not a flag; the lab names the server, so leave the address out");
}

}  // namespace
}  // namespace weft::workload
