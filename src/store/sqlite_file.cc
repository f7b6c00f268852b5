#include "store/sqlite_file.h"

#include <sqlite3.h>

#include <algorithm>
#include <filesystem>

namespace weft::store {

namespace {

constexpr int kStepsAtOnce = 1000;
constexpr std::uint64_t kStepsOfSmallFile = 10'000;  // thousands
constexpr std::uint64_t kBytesOfStep = 4;            // one more for so many bytes of the file: 250 instructions a byte

}  // namespace

SqliteFile::SqliteFile(const std::string& path, Mode mode) {
  int flags = mode == Mode::kRead ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  flags |= SQLITE_OPEN_NOMUTEX;  // of one thread
  note(sqlite3_open_v2(path.c_str(), &database_, flags, nullptr));
  if (mode == Mode::kRead && error_.empty()) distrust(path);
}

void SqliteFile::distrust(const std::string& path) {
  std::error_code error;
  size_B_ = std::filesystem::file_size(path, error);
  if (error) return fail("its size cannot be read");
  steps_left_ = kStepsOfSmallFile + size_B_ / kBytesOfStep;
  trusted_ = false;
  sqlite3_db_config(database_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(database_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(database_, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_db_config(database_, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  constexpr std::uint64_t kShortest_B = 1 << 16, kLongest_B = 1'000'000'000;
  sqlite3_limit(database_, SQLITE_LIMIT_LENGTH, static_cast<int>(std::clamp(size_B_, kShortest_B, kLongest_B)));
  sqlite3_limit(database_, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 100);
  sqlite3_limit(database_, SQLITE_LIMIT_EXPR_DEPTH, 100);
  sqlite3_limit(database_, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_progress_handler(
      database_, kStepsAtOnce, [](void* file) { return static_cast<SqliteFile*>(file)->count_steps() ? 0 : 1; }, this);
  execute("PRAGMA cell_size_check=ON; PRAGMA mmap_size=0");
  // Views, triggers and virtual tables have no page of their own.
  SqliteRows others(*this,
                    "SELECT 1 FROM sqlite_master WHERE type NOT IN ('table', 'index') OR coalesce(rootpage, 0) < 1");
  if (others.next()) return fail("it holds more than tables and indices");
  SqliteRows computed(
      *this, "SELECT 1 FROM sqlite_master m, pragma_table_xinfo(m.name) c WHERE m.type='table' AND c.hidden<>0");
  if (computed.next()) fail("it has columns that are computed");
}

// False: the limit is reached.
bool SqliteFile::count_steps() {
  if (steps_left_ > 0 && --steps_left_ > 0) return true;
  fail("reading takes longer than a file of this size can need");
  return false;
}

void SqliteFile::fail(const char* why) {
  if (error_.empty()) error_ = why;
}

SqliteFile::~SqliteFile() {
  sqlite3_close(database_);
}

void SqliteFile::note(int code) {
  if (code == SQLITE_OK || code == SQLITE_DONE || code == SQLITE_ROW || !error_.empty()) return;
  error_ = database_ != nullptr ? sqlite3_errmsg(database_) : sqlite3_errstr(code);
}

void SqliteFile::execute(const char* sql) {
  if (error_.empty()) note(sqlite3_exec(database_, sql, nullptr, nullptr, nullptr));
}

SqliteRows::SqliteRows(SqliteFile& file, const char* sql) : file_(file) {
  if (file.error_.empty()) file.note(sqlite3_prepare_v2(file.database_, sql, -1, &statement_, nullptr));
}

SqliteRows::~SqliteRows() {
  sqlite3_finalize(statement_);
}

void SqliteRows::insert() {
  if (statement_ == nullptr || !file_.error_.empty()) return;
  file_.note(sqlite3_step(statement_));
  sqlite3_reset(statement_);
}

void SqliteRows::reset() {
  sqlite3_reset(statement_);
}

bool SqliteRows::next() {
  if (statement_ == nullptr || !file_.error_.empty()) return false;
  int code = sqlite3_step(statement_);
  file_.note(code);
  return code == SQLITE_ROW && (file_.trusted_ || row_is_possible());
}

// Pages that are part of several tables, or of one table several times, make a small file as long as one likes.
bool SqliteRows::row_is_possible() {
  if (++rows_ > file_.size_B_) file_.fail("it has more rows than bytes");
  for (int i = 0; file_.most_integer_ > 0 && i < sqlite3_column_count(statement_); ++i) {
    if (sqlite3_column_type(statement_, i) != SQLITE_INTEGER) continue;
    const std::int64_t value = sqlite3_column_int64(statement_, i);
    if (value > file_.most_integer_ || value < -file_.most_integer_) file_.fail("it has a number that cannot be right");
  }
  return file_.error_.empty();
}

// Whether the file can hold so many bytes more; text in UTF-16 grows by half when it is read.
bool SqliteRows::take(std::size_t size_B) const {
  if (file_.trusted_) return true;
  taken_B_ += size_B;
  if (taken_B_ > 2 * file_.size_B_) file_.fail("it has more text than bytes");
  return file_.error_.empty();
}

std::int64_t SqliteRows::integer(int column) const {
  return sqlite3_column_int64(statement_, column);
}

double SqliteRows::real(int column) const {
  return sqlite3_column_double(statement_, column);
}

bool SqliteRows::is_null(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

std::string SqliteRows::text(int column) const {
  const unsigned char* text = sqlite3_column_text(statement_, column);
  if (text == nullptr || !take(static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)))) return "";
  return reinterpret_cast<const char*>(text);
}

std::span<const std::uint8_t> SqliteRows::blob(int column) const {
  const void* data = sqlite3_column_blob(statement_, column);
  const auto size_B = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
  if (data == nullptr || !take(size_B)) return {};
  return {static_cast<const std::uint8_t*>(data), size_B};
}

void SqliteRows::put_integer(int index, std::int64_t value) {
  if (statement_ != nullptr) file_.note(sqlite3_bind_int64(statement_, index, value));
}

void SqliteRows::put_real(int index, double value) {
  if (statement_ != nullptr) file_.note(sqlite3_bind_double(statement_, index, value));
}

void SqliteRows::put_null(int index) {
  if (statement_ != nullptr) file_.note(sqlite3_bind_null(statement_, index));
}

void SqliteRows::put_text(int index, std::string_view value) {
  if (statement_ != nullptr)
    file_.note(sqlite3_bind_text64(statement_, index, value.data(), value.size(), SQLITE_STATIC, SQLITE_UTF8));
}

void SqliteRows::put_blob(int index, const std::vector<std::uint8_t>& value) {
  if (statement_ != nullptr)
    file_.note(sqlite3_bind_blob64(statement_, index, value.data(), value.size(), SQLITE_STATIC));
}

bool has_table(SqliteFile& file, std::string_view table) {
  SqliteRows rows(file, "SELECT 1 FROM sqlite_master WHERE type='table' AND name=?");
  rows.bind(table);
  return rows.next();
}

bool has_column(SqliteFile& file, std::string_view table, std::string_view column) {
  SqliteRows rows(file, "SELECT 1 FROM pragma_table_info(?) WHERE name=?");
  rows.bind(table, column);
  return rows.next();
}

}  // namespace weft::store
