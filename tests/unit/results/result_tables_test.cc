// The table of docs/results.md is made from the declarations of the rows.
#include "results/result_tables.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "base/files.h"

namespace weft::lab {
namespace {

const std::string kPath = std::string(WEFT_SOURCE_DIR) + "/docs/results.md";

TEST(ResultTables, MatchDocumentation) {
  const std::string text = read_file(kPath, 1 << 20).value_or("");
  constexpr std::string_view kBegin = "<!-- made: tables", kEnd = "<!-- /made: tables -->";
  const std::size_t mark = text.find(kBegin), from = text.find('\n', mark) + 1, to = text.find(kEnd);
  ASSERT_TRUE(mark != text.npos && to != text.npos && from <= to);
  const std::string wanted = store::docs_table(result_tables());
  if (std::getenv("WEFT_WRITE") != nullptr) {
    ASSERT_TRUE(write_file(kPath, text.substr(0, from) + wanted + text.substr(to)));
  } else {
    EXPECT_EQ(text.substr(from, to - from), wanted) << "WEFT_WRITE=1 writes it";
  }
}

TEST(ResultTables, HaveEachNameOnce) {
  std::set<std::string> tables;
  for (const store::TableText& table : result_tables()) {
    EXPECT_TRUE(tables.insert(table.name).second) << table.name;
    std::set<std::string> columns;
    for (const store::ColumnText& column : table.columns)
      EXPECT_TRUE(columns.insert(column.name).second) << table.name << "." << column.name;
  }
}

}  // namespace
}  // namespace weft::lab
