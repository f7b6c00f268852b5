#include "catalog/link_rules.h"

#include <gtest/gtest.h>

#include "base/time.h"
#include "catalog/catalog.h"

namespace weft::lab {
namespace {

constexpr std::int64_t kGigabit = 1'000'000'000;

TEST(LinkRules, ByteTimeIsWholePicoseconds) {
  for (std::int64_t rate_bps : ethernet_rates_bps())
    EXPECT_EQ(ps_per_byte(rate_bps) * rate_bps, 8 * kSecond_ps) << rate_bps;
}

TEST(LinkRules, AutoFec) {
  EXPECT_EQ(auto_fec(10 * kGigabit, CableKind::kFibre, 3000), Fec::kNone);
  EXPECT_EQ(auto_fec(25 * kGigabit, CableKind::kDac, 3000), Fec::kNone);
  EXPECT_EQ(auto_fec(25 * kGigabit, CableKind::kDac, 3001), Fec::kRs528);
  EXPECT_EQ(auto_fec(25 * kGigabit, CableKind::kAoc, 1000), Fec::kBaseR);
  EXPECT_EQ(auto_fec(25 * kGigabit, CableKind::kFibre, 1000), Fec::kBaseR);
  EXPECT_EQ(auto_fec(50 * kGigabit, CableKind::kDac, 1000), Fec::kRs544);
  EXPECT_EQ(auto_fec(100 * kGigabit, CableKind::kDac, 1000), Fec::kRs528);
  EXPECT_EQ(auto_fec(200 * kGigabit, CableKind::kDac, 1000), Fec::kRs544);
  EXPECT_EQ(auto_fec(400 * kGigabit, CableKind::kFibre, 1000), Fec::kRs544);
}

// Whatever ports choose by themselves has a latency in the catalog.
TEST(LinkRules, AutoFecsAreInCatalog) {
  for (std::int64_t rate_bps : ethernet_rates_bps()) {
    for (CableKind cable : {CableKind::kDac, CableKind::kAoc, CableKind::kFibre}) {
      for (std::int64_t length_mm : {1000, 5000}) {
        EXPECT_TRUE(Catalog::built_in().fec_latency_ps(auto_fec(rate_bps, cable, length_mm), rate_bps)) << rate_bps;
      }
    }
  }
}

}  // namespace
}  // namespace weft::lab
