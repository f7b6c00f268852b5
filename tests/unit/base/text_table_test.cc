#include "base/text_table.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

using Align = TextTable::Align;

TextTable ports() {
  TextTable table;
  table.add_column("port", Align::kLeft);
  table.add_column("kB");
  table.add_column("lost");
  table.add_column("why", Align::kLeft);
  table.add_row({"leaf0:swp1", "12.3", "0", ""});
  table.add_row({"h0", "1500.0", "-", "queue α"});
  return table;
}

TEST(TextTable, ColumnsAreAsWideAsWidestCell) {
  EXPECT_EQ(ports().text(),
            "port            kB  lost  why\n"
            "leaf0:swp1    12.3     0\n"
            "h0          1500.0     -  queue α\n");
}

TEST(TextTable, BriefTextLeavesOutColumnsThatSayNothing) {
  EXPECT_EQ(ports().brief_text(),
            "port            kB  why\n"
            "leaf0:swp1    12.3\n"
            "h0          1500.0  queue α\n");
}

TEST(TextTable, NoRowsLeaveHeadingAlone) {
  TextTable table({"port", "drops"}, Align::kLeft);
  EXPECT_EQ(table.text(), "port  drops\n");
  EXPECT_EQ(table.brief_text(), "");
}

TEST(TextTable, WidthIsInCharacters) {
  TextTable table({"α", "pfc"}, Align::kLeft);
  table.add_row({"1/8", "–"});
  table.add_row({"–", "lossless"});
  EXPECT_EQ(table.text("  "),
            "  α    pfc\n"
            "  1/8  –\n"
            "  –    lossless\n");
  EXPECT_EQ(text_width("→ 5"), 3U);
  EXPECT_EQ(padded("→", 3), "→  ");
  EXPECT_EQ(padded("long", 3), "long");
}

TEST(TextTable, RuleBelowHeading) {
  TextTable table({"QUEUE", "STATUS"}, Align::kRight);
  table.add_row({"Ethernet0:3", "operational"});
  EXPECT_EQ(table.ruled_text(),
            "      QUEUE       STATUS\n"
            "-----------  -----------\n"
            "Ethernet0:3  operational\n");
}

TEST(TextTable, NoTitlesLeaveNoHeading) {
  TextTable table({"", ""}, Align::kRight);
  table.add_row({"1", "22"});
  table.add_row({"333", "4"});
  EXPECT_EQ(table.text(), "  1  22\n333   4\n");
}

TEST(TextTable, RowsHaveCellForEveryColumn) {
  TextTable table = ports();
  EXPECT_DEATH(table.add_row({"h1"}), "a row has a cell for every column");
}

}  // namespace
}  // namespace weft
