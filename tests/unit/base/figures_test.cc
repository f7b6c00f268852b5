#include "base/figures.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace weft {
namespace {

std::string text_of_kind(const std::string& kind, double value, Time_ps span_ps) {
  if (kind == "size") return size_text(value);
  if (kind == "rate") return rate_text(value);
  if (kind == "time") return time_text(value);
  if (kind == "message") return message_size_text(static_cast<std::uint64_t>(value));
  if (kind == "line_rate") return line_rate_text(static_cast<std::int64_t>(value));
  if (kind == "moment") return moment_text(static_cast<Time_ps>(value), span_ps);
  if (kind == "share") return share_text(value);
  return kind == "change" ? change_text(value) : "no such kind: " + kind;
}

// web/tests/units.test.mjs does the same with the page's figures.
TEST(Figures, TextOfTable) {
  std::ifstream file(WEFT_SOURCE_DIR "/tests/data/figures.txt");
  std::size_t values = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    const std::size_t first = line.find(" | "), second = line.find(" | ", first + 3);
    ASSERT_NE(second, std::string::npos) << line;
    std::istringstream numbers(line.substr(first + 3, second - first - 3));
    double value = 0;
    Time_ps span_ps = 0;
    numbers >> value;
    if (!(numbers >> span_ps)) span_ps = kNever_ps;
    EXPECT_EQ(text_of_kind(line.substr(0, first), value, span_ps), line.substr(second + 3)) << line;
    ++values;
  }
  EXPECT_GT(values, 60U);
}

TEST(Figures, MoreDigitsOnRequest) {
  EXPECT_EQ(rate_text(97'934'000'000, 4), "97.93 Gb/s");
  EXPECT_EQ(time_text(1'412'345, 4), "1.412 us");
  EXPECT_EQ(size_text(999'960, 4), "1.000 MB");
}

TEST(Figures, WholeRunIsSpanOfMoment) {
  EXPECT_EQ(moment_text(5'454'321'000), "5.454 ms");
}

TEST(Figures, MemoryIsBinary) {
  EXPECT_EQ(memory_text(std::int64_t{64} << 30), "64 GiB");
  EXPECT_EQ(memory_text(std::int64_t{1536} << 20), "1.5 GiB");
  EXPECT_EQ(memory_text(std::int64_t{512} << 20), "512 MiB");
  EXPECT_EQ(memory_text(67'419'234'304), "62.79 GiB");
}

TEST(Figures, ValueWithoutUnit) {
  EXPECT_EQ(number_text(14'191'288), "14191288");
  EXPECT_EQ(number_text(0.25), "0.25");
  EXPECT_EQ(number_text(20.982123), "20.9821");
}

TEST(Figures, CellsOfColumnsWithUnit) {
  EXPECT_EQ(kB_cell(0), "0");
  EXPECT_EQ(kB_cell(12'345), "12.3");
  EXPECT_EQ(us_cell(0), "0");
  EXPECT_EQ(us_cell(1'234'000), "1.234");
}

}  // namespace
}  // namespace weft
