#include "store/series.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <limits>

namespace weft::store {
namespace {

std::vector<std::int64_t> decoded(const SeriesEncoder& encoder) {
  std::vector<std::int64_t> values(encoder.samples());
  for (const SeriesBlock& block : encoder.blocks()) {
    auto part = decode_block(block.data, block.count);
    EXPECT_TRUE(part.has_value());
    if (part) std::copy(part->begin(), part->end(), values.begin() + static_cast<std::ptrdiff_t>(block.first_sample));
  }
  return values;
}

// 0 0 5 5 5 3: two zeros; +5 is 10 in zigzag; two zeros; -2 is 3.
TEST(Series, MatchesHandWrittenBytes) {
  SeriesEncoder encoder;
  for (std::int64_t value : {0, 0, 5, 5, 5, 3}) encoder.add(value);
  encoder.finish();
  ASSERT_EQ(encoder.blocks().size(), 1u);
  EXPECT_EQ(encoder.blocks()[0].data, (std::vector<std::uint8_t>{0, 2, 10, 0, 2, 3}));
  EXPECT_EQ(encoder.blocks()[0].count, 6u);
}

TEST(Series, ZerosTakeNoBlock) {
  SeriesEncoder encoder;
  encoder.add_repeated(0, 100'000);
  encoder.finish();
  EXPECT_TRUE(encoder.blocks().empty());
  EXPECT_EQ(encoder.samples(), 100'000u);
}

TEST(Series, RepeatedValueIsInEveryBlock) {
  SeriesEncoder encoder;
  encoder.add(7);
  encoder.repeat(2 * kBlockSamples);
  encoder.finish();
  EXPECT_EQ(encoder.blocks().size(), 3u);
  EXPECT_EQ(decoded(encoder), std::vector<std::int64_t>(2 * kBlockSamples + 1, 7));
}

TEST(Series, RoundTrip) {
  EXPECT_TRUE(rc::check([](const std::vector<std::pair<std::int64_t, std::uint16_t>>& runs) {
    SeriesEncoder encoder;
    std::vector<std::int64_t> expected;
    for (auto [value, times] : runs) {
      encoder.add_repeated(value, times);
      expected.insert(expected.end(), times, value);
    }
    encoder.finish();
    RC_ASSERT(decoded(encoder) == expected);
  }));
  SeriesEncoder ends;
  for (std::int64_t value : {INT64_MAX, INT64_MIN, INT64_MAX, std::int64_t{0}, INT64_MIN}) ends.add(value);
  ends.finish();
  EXPECT_EQ(decoded(ends), (std::vector<std::int64_t>{INT64_MAX, INT64_MIN, INT64_MAX, 0, INT64_MIN}));
}

TEST(Series, RejectsDamagedBlocks) {
  const std::vector<std::vector<std::uint8_t>> damaged = {
      {}, {10}, {10, 0}, {10, 0, 2}, {10, 0x80}, {0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}};
  for (const auto& bytes : damaged) EXPECT_FALSE(decode_block(bytes, 2).has_value());
  EXPECT_TRUE(decode_block(std::vector<std::uint8_t>{10, 0, 1}, 2).has_value());
  EXPECT_FALSE(decode_block({}, std::numeric_limits<std::uint32_t>::max()).has_value());
}

}  // namespace
}  // namespace weft::store
