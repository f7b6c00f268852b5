// One declaration of a row: what is written is read back, whatever columns an older file lacks, and JSON has it.
#include "store/table.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "store/json_row.h"
#include "store/table_text.h"

namespace weft::store {

struct TestPart {
  std::string name;
  double share = 0;
};
template <>
inline constexpr auto columns<TestPart> = std::tuple{
    Column{"name", &TestPart::name},
    Column{"share", &TestPart::share}.rounded(2),
};

struct TestRow {
  std::string workload;
  std::uint64_t number = 7;
  bool is_done = false;
  std::optional<std::string> note;
  std::optional<double> rate_bps;
  std::vector<std::uint8_t> data;
  std::string group = "none";
  std::vector<TestPart> parts;
  NamedValues<std::uint64_t> totals;
};
template <>
inline constexpr Table table<TestRow>{"test_row", "rows of a test"};
template <>
inline constexpr auto columns<TestRow> = std::tuple{
    Column{"workload", &TestRow::workload}.table_only(),
    Column{"number", &TestRow::number, "from 0"},
    Column{"is_done", &TestRow::is_done}.json("done"),
    Column{"note", &TestRow::note},
    Column{"rate_bps", &TestRow::rate_bps}.json("rate_Gbps").rounded(3, 1e9).null_in_json(),
    Column{"data", &TestRow::data}.table_only(),
    Column{"group", &TestRow::group}.quoted(),
    Column{"parts", &TestRow::parts}.json_only(),
    Column{"totals", &TestRow::totals}.json_only(),
};

namespace {

class RowTable : public testing::Test {
 protected:
  RowTable() {
    std::string name = testing::TempDir() + "weft-rows-XXXXXX";
    root_ = mkdtemp(name.data());
  }
  ~RowTable() override {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  std::string path() const { return root_ + "/rows.sqlite"; }
  void execute(const char* sql) const {
    SqliteFile file(path(), SqliteFile::Mode::kCreate);
    file.execute(sql);
    EXPECT_EQ(file.error(), "");
  }

 private:
  std::string root_;
};

std::string json_of(const TestRow& row) {
  JsonText text;
  add_row(text, row);
  return std::string(text.text());
}

TEST_F(RowTable, ReadsWhatWasWritten) {
  const std::vector<TestRow> rows = {{"a \"b\"", UINT64_C(1) << 62, true, "x", 2.5e9, {0, 255}, "g", {}, {}},
                                     {"", 0, false, {}, {}, {}, "", {}, {}}};
  {
    SqliteFile file(path(), SqliteFile::Mode::kCreate);
    insert_rows(file, rows);
    EXPECT_EQ(file.error(), "");
  }
  SqliteFile file(path(), SqliteFile::Mode::kRead);
  std::size_t at = 0;
  for (const TestRow& row : Reader<TestRow>(file)) {
    const TestRow& wanted = rows.at(at++);
    EXPECT_EQ(row.workload, wanted.workload);
    EXPECT_EQ(row.number, wanted.number);
    EXPECT_EQ(row.is_done, wanted.is_done);
    EXPECT_EQ(row.note, wanted.note);
    EXPECT_EQ(row.rate_bps, wanted.rate_bps);
    EXPECT_EQ(row.data, wanted.data);
    EXPECT_EQ(row.group, wanted.group);
  }
  EXPECT_EQ(at, rows.size());
  EXPECT_EQ(count_rows<TestRow>(file), 2U);
  EXPECT_EQ(count_rows<TestRow>(file, "WHERE is_done"), 1U);
  EXPECT_EQ(file.error(), "");
}

TEST_F(RowTable, ReadsChosenMembersOnly) {
  {
    SqliteFile file(path(), SqliteFile::Mode::kCreate);
    insert_rows<TestRow>(file, {{"a", 1, true, "x", 1.0, {}, "g", {}, {}}, {"b", 2, true, "y", 1.0, {}, "g", {}, {}}});
  }
  SqliteFile file(path(), SqliteFile::Mode::kRead);
  Reader<TestRow, &TestRow::number, &TestRow::group> reader(file, "WHERE workload = ?", "b");
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.row().number, 2U);
  EXPECT_EQ(reader.row().group, "g");
  EXPECT_EQ(reader.row().workload, "");
  EXPECT_FALSE(reader.row().note);
  EXPECT_FALSE(reader.next());
  reader.restart("a");
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.row().number, 1U);
}

TEST_F(RowTable, OlderFilesLackColumnsAndTables) {
  execute("CREATE TABLE test_row(note TEXT, workload TEXT); INSERT INTO test_row VALUES('x', 'w')");
  {
    SqliteFile file(path(), SqliteFile::Mode::kRead);
    const auto row = read_first<TestRow>(file, "WHERE workload = ?", "w");
    ASSERT_TRUE(row);
    EXPECT_EQ(row->note, "x");
    EXPECT_EQ(row->number, 7U) << "the member's default";
    EXPECT_EQ(row->group, "none");
  }
  execute("DROP TABLE test_row");
  SqliteFile file(path(), SqliteFile::Mode::kRead);
  EXPECT_FALSE(read_first<TestRow>(file, "WHERE workload = ?", "w"));
  EXPECT_EQ(count_rows<TestRow>(file), 0U);
  EXPECT_EQ(file.error(), "");
}

TEST(RowJson, HasMembersByTheirNames) {
  TestRow row;
  EXPECT_EQ(json_of(row), R"({"number":7,"done":false,"rate_Gbps":null,"group":"none"})");
  row.note = "a\nb";
  row.rate_bps = 1234567890;
  row.parts = {{"x", 0.126}, {"y", 1}};
  row.totals = {{"all", 3}};
  EXPECT_EQ(json_of(row), R"({"number":7,"done":false,"note":"a\nb","rate_Gbps":1.235,"group":"none",)"
                          R"("parts":[{"name":"x","share":0.13},{"name":"y","share":1.0}],"totals":{"all":3}})");
}

TEST(RowText, NamesColumnsAndTypes) {
  const TableText text = table_text<TestRow>();
  EXPECT_EQ(
      docs_table(std::vector{text}),
      "| table | rows |\n|---|---|\n"
      "| `test_row(workload, number, is_done, note, rate_bps, data, group)` | rows of a test; `number`: from 0 |\n");
  EXPECT_EQ(typescript(object_text<TestPart>("TestPart")),
            "export interface TestPart {\n  name: string;\n  share: number;\n}\n");
}

}  // namespace
}  // namespace weft::store
