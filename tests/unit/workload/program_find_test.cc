#include "model/workloads/program_find.h"

#include <gtest/gtest.h>

namespace weft::workload {
namespace {

TEST(ProgramFind, FindsFirstGroupOrCountsLines) {
  const std::string said = "#bytes  BW\n 65536  24.50  x\n 65536  25\nfailed: none\n";
  EXPECT_EQ(find_value("^ *65536 +([0-9.]+)", said), 24.5);
  EXPECT_EQ(find_value("^ *65536", said), 2.0);
  EXPECT_EQ(find_value("nowhere", said), 0.0);
  EXPECT_EQ(find_value("nowhere ([0-9]+)", said), std::nullopt);
  EXPECT_EQ(find_value("failed: ([a-z]+)", said), std::nullopt) << "not a number";
  EXPECT_EQ(find_value("(1)|none", said), std::nullopt) << "a group that took no part";
}

}  // namespace
}  // namespace weft::workload
