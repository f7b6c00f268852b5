#include "store/sqlite_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

namespace weft::store {
namespace {

// A file that someone else wrote, with these statements.
class SqliteFileTest : public testing::Test {
 protected:
  ~SqliteFileTest() override { std::filesystem::remove(path_); }

  void write(const std::string& sql) {
    SqliteFile file(path_, SqliteFile::Mode::kCreate);
    file.execute("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF");
    file.execute(sql.c_str());
    ASSERT_EQ(file.error(), "");
  }
  // What reading ends with.
  std::string error_of(const char* select, std::int64_t most_integer = 0) {
    SqliteFile file(path_, SqliteFile::Mode::kRead);
    file.limit_integers(most_integer);
    SqliteRows rows(file, select);
    while (rows.next()) rows.text(0);
    return file.error();
  }

  std::string path_ = testing::TempDir() + "weft-sqlite-" + std::to_string(getpid());
};

TEST_F(SqliteFileTest, TablesAndIndicesAreRead) {
  write("CREATE TABLE t(a TEXT, b INTEGER); CREATE INDEX i ON t(a); INSERT INTO t VALUES('x', 1),('y', NULL)");
  EXPECT_EQ(error_of("SELECT a, b FROM t"), "");
}

TEST_F(SqliteFileTest, ViewsTriggersAndVirtualTablesAreRefused) {
  const std::string refused = "it holds more than tables and indices";
  write("CREATE VIEW v AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n");
  EXPECT_EQ(error_of("SELECT * FROM v"), refused);
  write("DROP VIEW v; CREATE TABLE t(a); CREATE TRIGGER u AFTER INSERT ON t BEGIN SELECT 1; END");
  EXPECT_EQ(error_of("SELECT * FROM t"), refused);
  write("DROP TRIGGER u; CREATE VIRTUAL TABLE r USING rtree(id, x0, x1)");
  EXPECT_EQ(error_of("SELECT * FROM t"), refused);
}

TEST_F(SqliteFileTest, ComputedColumnsAreRefused) {
  write("CREATE TABLE t(a TEXT, b TEXT AS (printf('%.*c', 100000000, a))); INSERT INTO t VALUES('x')");
  EXPECT_EQ(error_of("SELECT b FROM t"), "it has columns that are computed");
}

// As pages do that are part of a table many times.
TEST_F(SqliteFileTest, NoMoreRowsAndTextThanBytes) {
  write("CREATE TABLE t(a TEXT)");
  EXPECT_EQ(error_of("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT NULL FROM n"),
            "it has more rows than bytes");
  EXPECT_EQ(
      error_of("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT hex(zeroblob(9000)) FROM n"),
      "it has more text than bytes");
}

TEST_F(SqliteFileTest, StepsEnd) {
  write("CREATE TABLE t(a TEXT)");
  EXPECT_EQ(error_of("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n WHERE i < 0"),
            "reading takes longer than a file of this size can need");
}

TEST_F(SqliteFileTest, IntegersBeyondLimit) {
  write("CREATE TABLE t(a TEXT, b INTEGER); INSERT INTO t VALUES('x', 1000),('y', -1001)");
  EXPECT_EQ(error_of("SELECT a, b FROM t", 1001), "");
  EXPECT_EQ(error_of("SELECT a, b FROM t", 1000), "it has a number that cannot be right");
}

}  // namespace
}  // namespace weft::store
