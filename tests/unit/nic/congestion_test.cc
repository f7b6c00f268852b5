#include "nic/congestion.h"

#include <gtest/gtest.h>

namespace weft::nic {
namespace {

TEST(Congestion, KindsHaveTables) {
  EXPECT_EQ(congestion_algorithm(CongestionKind::kOff), nullptr);
  EXPECT_EQ(congestion_algorithm(CongestionKind::kDcqcn)->name, "dcqcn");
  EXPECT_EQ(congestion_algorithm(CongestionKind::kHpcc)->name, "hpcc");
  EXPECT_EQ(congestion_algorithm(CongestionKind::kTimely)->name, "timely");
  EXPECT_EQ(congestion_algorithm(CongestionKind::kSwift)->name, "swift");
  EXPECT_TRUE(congestion_algorithm(CongestionKind::kHpcc)->wants_telemetry);
  EXPECT_TRUE(congestion_algorithm(CongestionKind::kTimely)->wants_rtt);
  EXPECT_TRUE(congestion_algorithm(CongestionKind::kSwift)->wants_rtt);
  EXPECT_FALSE(congestion_algorithm(CongestionKind::kDcqcn)->wants_rtt);
  EXPECT_TRUE(congestion_algorithm(CongestionKind::kDcqcn)->takes_loss_as_cnp);
  EXPECT_FALSE(congestion_algorithm(CongestionKind::kSwift)->takes_loss_as_cnp);
}

TEST(Congestion, TablesAreComplete) {
  for (CongestionKind kind :
       {CongestionKind::kDcqcn, CongestionKind::kHpcc, CongestionKind::kTimely, CongestionKind::kSwift}) {
    const CongestionAlgorithm& a = *congestion_algorithm(kind);
    EXPECT_TRUE(a.start != nullptr && a.settle != nullptr && a.ack != nullptr && a.lost != nullptr) << a.name;
  }
}

TEST(Congestion, StartsAtLineRateWithNothingDue) {
  const CongestionEnvironment environment{100'000'000'000, 4096};
  const CongestionParameters parameters;
  for (CongestionKind kind :
       {CongestionKind::kDcqcn, CongestionKind::kHpcc, CongestionKind::kTimely, CongestionKind::kSwift}) {
    CongestionState state;
    congestion_algorithm(kind)->start(state, parameters, environment, us(3));
    EXPECT_EQ(state.pace_q16, 0);
    EXPECT_EQ(state.until_ps, kNever_ps);
    EXPECT_EQ(state.until_bytes_B, INT64_MAX);
    EXPECT_DOUBLE_EQ(rate_bps(state, environment), 100e9);
  }
}

TEST(Congestion, PaceAndRateAreInverse) {
  // 10 Gb/s is 800 ps per byte.
  EXPECT_EQ(pace_q16_of(10'000'000'000), 800LL << 16);
  EXPECT_EQ(pace_q16_of(1'000'000), 8'000'000LL << 16);
  CongestionState state;
  state.pace_q16 = 800LL << 16;
  EXPECT_DOUBLE_EQ(rate_bps(state, {100'000'000'000, 1024}), 10e9);
}

TEST(Congestion, ModelsKnowWhichAlgorithmsReactToCnps) {
  for (CongestionKind kind :
       {CongestionKind::kDcqcn, CongestionKind::kHpcc, CongestionKind::kTimely, CongestionKind::kSwift})
    EXPECT_EQ(reacts_to_cnps(kind), congestion_algorithm(kind)->cnp != nullptr) << congestion_algorithm(kind)->name;
}

}  // namespace
}  // namespace weft::nic
