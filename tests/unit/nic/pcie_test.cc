#include <gtest/gtest.h>

#include "nic/pcie/function.h"

namespace weft::nic {
namespace {

// [pcie-model]: raw rate and DMA write throughput, Gb/s.
TEST(Pcie, ThroughputMatchesPcieBenchModel) {
  const struct {
    PcieLink link;
    double raw_Gbps, write_Gbps;
  } table[] = {{{3, 8, 256}, 63.0, 52.9},    {{3, 16, 256}, 126.0, 104.0}, {{4, 8, 256}, 126.0, 105.8},
               {{4, 16, 256}, 252.0, 207.9}, {{5, 4, 256}, 126.0, 106.3},  {{5, 8, 256}, 252.0, 211.7},
               {{5, 16, 256}, 504.0, 415.8}, {{3, 8, 128}, 63.0, 47.7},    {{3, 16, 128}, 126.0, 94.1},
               {{4, 16, 128}, 252.0, 188.1}, {{3, 8, 512}, 63.0, 54.7},    {{4, 16, 512}, 252.0, 219.0},
               {{5, 16, 512}, 504.0, 438.0}};
  for (const auto& row : table) {
    PcieFunction function(row.link);
    constexpr std::uint32_t kBytes = 1 << 20;
    double Gbps = kBytes * 8.0 * 1000 / static_cast<double>(function.transfer_ps(kBytes));
    EXPECT_NEAR(static_cast<double>(row.link.raw_bps()) / 1e9, row.raw_Gbps, 0.001 * row.raw_Gbps);
    double tolerance = 0.015;
    EXPECT_NEAR(Gbps, row.write_Gbps, tolerance * row.write_Gbps)
        << "gen " << row.link.generation << " x" << row.link.lanes << " MPS " << row.link.max_payload_B;
  }
}

// GT/s and encoding of every generation: PCI Express Base 1.0 to 6.0.
TEST(Pcie, GenerationsHaveTheirRates) {
  const double raw_Gbps[] = {2.0, 4.0, 7.877, 15.754, 31.508, 60.5};  // of one lane
  for (std::uint32_t generation = 1; generation <= 6; ++generation) {
    PcieLink link{generation, 1, 256};
    double expected_Gbps = raw_Gbps[generation - 1];
    EXPECT_NEAR(static_cast<double>(link.raw_bps()) / 1e9, expected_Gbps, 0.001 * expected_Gbps);
    EXPECT_GT(PcieFunction(link).transfer_ps(256), 0);
  }
}

TEST(Pcie, TlpsPayForHeaders) {
  PcieFunction function({3, 8, 256});
  Time_ps one = function.transfer_ps(256);
  EXPECT_GT(function.transfer_ps(257) - one, 20 * (one - function.transfer_ps(255)));
  EXPECT_NEAR(static_cast<double>(function.transfer_ps(2560)), 10.0 * static_cast<double>(one), 10);
  EXPECT_EQ(function.transfer_ps(0), 0);
}

TEST(Pcie, WritesQueueBehindEachOther) {
  PcieFunction function({3, 8, 256});
  Time_ps each_ps = function.transfer_ps(4096);
  EXPECT_EQ(function.write(4096, us(1)), us(1) + each_ps);
  EXPECT_EQ(function.write(4096, us(1)), us(1) + 2 * each_ps);
  EXPECT_EQ(function.write_backlog_ps(us(1)), 2 * each_ps);
  EXPECT_EQ(function.write(4096, us(10)), us(10) + each_ps);
  EXPECT_LT(function.write_backlog_ps(us(20)), 0);
}

// A memory that takes four times as long: what waits is as much, and takes four times as long, until it is quick again.
TEST(Pcie, SlowMemoryHoldsBytesLonger) {
  PcieFunction function({3, 8, 256});
  Time_ps each_ps = function.transfer_ps(4096);
  for (int i = 0; i < 10; ++i) function.write(4096, us(1));
  function.slow_writes(4000, us(1));
  EXPECT_EQ(function.write_backlog_ps(us(1)), 10 * each_ps);
  EXPECT_EQ(function.drained_to_ps(4 * each_ps), us(1) + 24 * each_ps);
  EXPECT_EQ(function.write(4096, us(1)), us(1) + 44 * each_ps);
  Time_ps later_ps = us(1) + 20 * each_ps;
  EXPECT_EQ(function.write_backlog_ps(later_ps), 6 * each_ps);
  function.slow_writes(PcieFunction::kUnslowed, later_ps);
  EXPECT_EQ(function.write_backlog_ps(later_ps), 6 * each_ps);
  EXPECT_EQ(function.drained_to_ps(0), later_ps + 6 * each_ps);
}

// A day without traffic: nothing waits to be written, and the receive buffer is empty.
TEST(Pcie, BacklogIsEmptyAfterLongRest) {
  PcieFunction function({3, 8, 256});
  function.slow_writes(5000, 0);
  function.write(4096, 0);
  for (const Time_ps rest_ps : {ms(1), 3600 * kSecond_ps, 29'370 * kSecond_ps, 86'400 * kSecond_ps})
    EXPECT_LT(function.write_backlog_ps(rest_ps), 0) << rest_ps;
}

TEST(Pcie, ReadAheadIsBounded) {
  PcieFunction function({3, 8, 256});
  Time_ps each_ps = function.transfer_ps(4096);
  // After a rest, payload that fits into the prefetch is there at once.
  EXPECT_LE(function.read_available_ps(4096, us(100)), us(100));
  // Reads that follow closely are limited by the link.
  Time_ps last_ps = 0;
  for (int i = 0; i < 100; ++i) {
    last_ps = function.read_available_ps(4096, us(100));
    function.take_read(last_ps);
  }
  EXPECT_GT(last_ps, us(100) + 90 * each_ps);
}

}  // namespace
}  // namespace weft::nic
