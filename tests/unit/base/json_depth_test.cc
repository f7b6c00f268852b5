#include "base/json_depth.h"

#include <gtest/gtest.h>

#include <string>

namespace weft {
namespace {

TEST(JsonDepth, CountsOpenBracketsOutsideOfStrings) {
  EXPECT_EQ(json_depth(""), 0u);
  EXPECT_EQ(json_depth("7"), 0u);
  EXPECT_EQ(json_depth(R"({"a": [1, {"b": 2}], "c": [[]]})"), 3u);
  EXPECT_EQ(json_depth(R"({"a": "[[[[\"[[", "b\\": "[["})"), 1u);
  EXPECT_EQ(json_depth("]]]][["), 2u);
  EXPECT_EQ(json_depth(std::string(400'000, '[')), 400'000u);
  EXPECT_EQ(json_depth("\"a\\"), 0u);  // ends within an escape
}

}  // namespace
}  // namespace weft
