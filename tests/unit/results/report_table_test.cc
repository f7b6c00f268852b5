#include "results/report_table.h"

#include <gtest/gtest.h>

namespace weft::lab {
namespace {

TEST(ReportTable, OmitsEmptyColumns) {
  Table table;
  table.add_column("port", Table::Align::kLeft);
  table.add_column("drops");
  table.add_column("packets");
  EXPECT_EQ(table.text(), "");
  table.add_row({"leaf0:swp1", "0", "7"});
  table.add_row({"h0:p0", "-", "123456789"});
  EXPECT_EQ(table.text(),
            "port          packets\n"
            "leaf0:swp1          7\n"
            "h0:p0       123456789\n");
}

}  // namespace
}  // namespace weft::lab
