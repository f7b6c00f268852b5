#include "wire/wire_error.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace weft::wire {
namespace {

TEST(WireError, ErrorsHaveDistinctTexts) {
  std::set<std::string> texts;
  const int last = static_cast<int>(WireError::kNotCm);
  for (int error = 0; error <= last; ++error) texts.insert(describe(static_cast<WireError>(error)));
  EXPECT_EQ(texts.size(), static_cast<std::size_t>(last) + 1);
  EXPECT_FALSE(texts.contains("unknown error"));
}

}  // namespace
}  // namespace weft::wire
