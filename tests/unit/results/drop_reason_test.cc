#include "results/counters/drop_reason.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace weft::lab {
namespace {

using fabric::Fate;

TEST(DropReason, NamesAllReasonsOfSwitch) {
  std::set<std::string> metrics;
  for (const Fate fate :
       {Fate::kTailDrop, Fate::kWred, Fate::kNoHeadroom, Fate::kNoRoute, Fate::kTtlExpired, Fate::kTooBig,
        Fate::kWatchdogDrop, Fate::kPortDown, Fate::kCpuDrop, Fate::kRxRingFull, Fate::kFcsError}) {
    const DropReason& reason = drop_reason(fate);
    EXPECT_EQ(reason.fate, fate);
    EXPECT_TRUE(metrics.emplace(reason.metric).second) << reason.metric << " twice";
  }
  // A bad FCS is counted by the link, and so is no counter of the switch.
  EXPECT_EQ(metrics.size(), drop_reasons().size() + 1);
}

}  // namespace
}  // namespace weft::lab
