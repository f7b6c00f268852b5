#include "export/parquet.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <random>

#include "export/parquet_page.h"
#include "export/thrift.h"
#include "unit/export/read_parquet.h"
#include "unit/export/test_run.h"

namespace weft::exports {
namespace {

class GivenRows : public TableSource {
 public:
  GivenRows(std::vector<Column> given_columns, std::vector<std::vector<Cell>> rows)
      : TableSource("given", std::move(given_columns)), rows_(std::move(rows)) {}
  bool next(std::vector<Cell>& row) override {
    if (at_ == rows_.size()) return false;
    row = rows_[at_++];
    return true;
  }

 private:
  std::vector<std::vector<Cell>> rows_;
  std::size_t at_ = 0;
};

TEST(ParquetHybrid, RoundTrips) {
  std::mt19937 random(7);
  for (unsigned width : {1u, 2u, 5u, 8u, 13u, 15u}) {
    for (std::size_t count : {0u, 1u, 7u, 8u, 9u, 100u, 1000u}) {
      std::vector<std::uint32_t> values;
      while (values.size() < count) {
        const std::uint32_t value = static_cast<std::uint32_t>(random()) & ((1u << width) - 1);
        const std::size_t repeats = random() % 3 == 0 ? random() % 30 + 1 : 1;
        values.insert(values.end(), repeats, value);
      }
      values.resize(count);
      EXPECT_EQ(read_hybrid(encode_hybrid(values, width), width, count), values) << width << " " << count;
    }
  }
}

TEST(Thrift, LongListsAndDistantFields) {
  ThriftWriter out;
  out.field(1, std::int32_t{-7});
  out.field(40, std::int64_t{1} << 50);
  out.text_list(41, 20);
  for (int i = 0; i < 20; ++i) out.text(std::string(static_cast<std::size_t>(i) * 20, 'x'));
  const std::string bytes = out.finish();
  const ThriftValue value = ThriftReader(bytes).read_struct();
  EXPECT_EQ(value.fields.at(1).number, -7);
  EXPECT_EQ(value.fields.at(40).number, std::int64_t{1} << 50);
  EXPECT_EQ(value.fields.at(41).elements.size(), 20U);
  EXPECT_EQ(value.fields.at(41).elements.back().bytes.size(), 380U);
}

// NULLs everywhere, dictionaries and none, row groups that end in the middle.
TEST(Parquet, RoundTripsInRowGroups) {
  const TestRun run;
  std::mt19937 random(3);
  std::vector<std::vector<Cell>> rows;
  for (int i = 0; i < 500; ++i) {
    const auto maybe = [&](Cell cell) { return random() % 5 == 0 ? Cell() : cell; };
    std::vector<Cell> row;
    row.push_back(maybe(static_cast<std::int64_t>(random()) << 20));
    row.push_back(maybe(static_cast<std::int64_t>(random() % 3) - 1));
    row.push_back(maybe(static_cast<double>(random()) / 7));
    row.push_back(maybe(std::string("name ") + std::to_string(random() % 4)));
    row.push_back(maybe(std::string(random() % 40, 'y')));
    row.push_back(Cell());
    rows.push_back(row);
  }
  const std::vector<Column> columns = {{"wide", CellType::kInteger}, {"few", CellType::kInteger},
                                       {"real", CellType::kReal},    {"word", CellType::kText},
                                       {"text", CellType::kText},    {"null", CellType::kText}};
  for (std::size_t group : {1u, 3u, 7u, 64u, 500u, 1000u}) {
    GivenRows table(columns, rows);
    const auto written = write_parquet(table, run.file("x.parquet"), group);
    ASSERT_TRUE(written) << written.error();
    EXPECT_EQ(*written, rows.size());
    const ReadParquet read = read_parquet(TestRun::read(run.file("x.parquet")));
    EXPECT_EQ(read.row_groups, (rows.size() + group - 1) / group);
    EXPECT_EQ(read.types, (std::vector<std::int64_t>{2, 2, 5, 6, 6, 6}));
    ASSERT_EQ(read.rows.size(), rows.size());
    for (std::size_t r = 0; r < rows.size(); ++r) {
      for (std::size_t c = 0; c < columns.size(); ++c) {
        std::optional<std::string> wanted;
        if (const auto* integer = std::get_if<std::int64_t>(&rows[r][c])) wanted = std::to_string(*integer);
        if (const auto* real = std::get_if<double>(&rows[r][c])) wanted = fmt::format("{}", *real);
        if (const auto* text = std::get_if<std::string>(&rows[r][c])) wanted = *text;
        ASSERT_EQ(read.rows[r][c], wanted) << group << " " << r << " " << c;
      }
    }
  }
}

TEST(Parquet, TextBecomesUtf8) {
  const TestRun run;
  GivenRows table({{"t", CellType::kText}}, {{std::string("a\xff\xc3")}, {std::string("\xc3\xa9")}});
  ASSERT_TRUE(write_parquet(table, run.file("x.parquet")));
  const ReadParquet read = read_parquet(TestRun::read(run.file("x.parquet")));
  EXPECT_EQ(read.rows[0][0], "a??");
  EXPECT_EQ(read.rows[1][0], "\xc3\xa9");
}

}  // namespace
}  // namespace weft::exports
