#include "results/report_text.h"

#include <gtest/gtest.h>

namespace weft::lab {
namespace {

TEST(ReportText, SizesInShorterUnits) {
  EXPECT_EQ(size_text(60'000'000'000), "60 GB");
  EXPECT_EQ(size_text(1'000'000'000), "1 GB");
  EXPECT_EQ(size_text(65'536), "64 KiB");
  EXPECT_EQ(size_text(24 << 20), "24 MiB");
  EXPECT_EQ(size_text(std::uint64_t{1} << 30), "1 GiB");
  EXPECT_EQ(size_text(2), "2 B");
  EXPECT_EQ(size_text(0), "0 B");
}

TEST(ReportText, LargeNumbersHaveNoExponent) {
  EXPECT_EQ(number_text(14'191'288), "14191288");
  EXPECT_EQ(number_text(0.25), "0.25");
  EXPECT_EQ(range_text(14'191'288.0, std::nullopt), "at least 14191288");
}

}  // namespace
}  // namespace weft::lab
