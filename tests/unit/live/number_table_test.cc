#include "live/os/number_table.h"

#include <gtest/gtest.h>

#include <set>

namespace weft::live {
namespace {

TEST(NumberTable, FindsOnlyExistingEntries) {
  NumberTable<int> table;
  int one = 1, two = 2;
  std::uint32_t first = table.add(one), second = table.add(two);
  EXPECT_EQ(table.find(first), &one);
  EXPECT_EQ(table.find(second), &two);
  EXPECT_EQ(table.find(second + 1), nullptr);
  EXPECT_EQ(table.find(0xffffffff), nullptr);
  table.remove(first);
  EXPECT_EQ(table.find(first), nullptr);
  table.remove(first);
  EXPECT_EQ(table.find(second), &two);
}

TEST(NumberTable, DelaysReuseOfNumbers) {
  NumberTable<int> table;
  int object = 0;
  std::set<std::uint32_t> seen;
  std::uint32_t highest_place = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::uint32_t number = table.add(object);
    EXPECT_TRUE(seen.insert(number).second) << i;
    highest_place = std::max(highest_place, number & 0xffff);
    table.remove(number);
    EXPECT_EQ(table.find(number), nullptr);
  }
  EXPECT_LT(highest_place, 100u) << "places are";
}

}  // namespace
}  // namespace weft::live
