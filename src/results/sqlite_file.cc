#include "results/sqlite_file.h"

#include <sqlite3.h>

namespace weft::lab {

SqliteFile::SqliteFile(const std::string& path, Mode mode) {
  int flags = mode == Mode::kRead ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  flags |= SQLITE_OPEN_NOMUTEX;  // of one thread
  note(sqlite3_open_v2(path.c_str(), &database_, flags, nullptr));
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

bool SqliteRows::next() {
  if (statement_ == nullptr || !file_.error_.empty()) return false;
  int code = sqlite3_step(statement_);
  file_.note(code);
  return code == SQLITE_ROW;
}

std::int64_t SqliteRows::integer(int column) const {
  return sqlite3_column_int64(statement_, column);
}

double SqliteRows::real(int column) const {
  return sqlite3_column_double(statement_, column);
}

std::string SqliteRows::text(int column) const {
  const unsigned char* text = sqlite3_column_text(statement_, column);
  return text == nullptr ? "" : reinterpret_cast<const char*>(text);
}

std::span<const std::uint8_t> SqliteRows::blob(int column) const {
  const void* data = sqlite3_column_blob(statement_, column);
  return {static_cast<const std::uint8_t*>(data), static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
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

}  // namespace weft::lab
