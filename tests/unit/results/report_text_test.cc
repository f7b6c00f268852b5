#include "results/report_text.h"

#include <gtest/gtest.h>

namespace weft::lab {
namespace {

TEST(ReportText, Ranges) {
  EXPECT_EQ(range_text(14'191'288.0, std::nullopt), "at least 14191288");
  EXPECT_EQ(range_text(std::nullopt, 0.25), "at most 0.25");
  EXPECT_EQ(range_text(15.0, 24.5), "15 to 24.5");
  EXPECT_EQ(range_text(1.0, 1.0), "1");
}

}  // namespace
}  // namespace weft::lab
