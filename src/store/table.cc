#include "store/table.h"

#include <set>

namespace weft::store {

namespace {

const char* sql_type(ColumnType type) {
  static constexpr const char* kNames[] = {"INTEGER", "REAL", "TEXT", "BLOB", ""};
  return kNames[static_cast<std::size_t>(type)];
}

std::string word_of(const ColumnInfo& column) {
  return column.is_quoted ? '"' + std::string(column.name) + '"' : column.name;
}

}  // namespace

std::string create_text(const Table& of, std::span<const ColumnInfo> list) {
  std::string text;
  for (const ColumnInfo& column : list) {
    text.append(text.empty() ? "" : ", ").append(word_of(column)).append(" ").append(sql_type(column.type));
    if (column.is_key) text += " PRIMARY KEY";
  }
  return std::string("CREATE TABLE IF NOT EXISTS ").append(of.name) + "(" + text + ")" +
         (of.has_rowid ? "" : " WITHOUT ROWID");
}

std::string insert_text(const Table& of, std::span<const ColumnInfo> list) {
  std::string places;
  for (std::size_t i = 0; i < list.size(); ++i) places += i == 0 ? "?" : ",?";
  return std::string("INSERT INTO ").append(of.name) + " VALUES(" + places + ")";
}

std::string select_text(SqliteFile& file, const Table& of, std::span<const ColumnInfo> list, std::string_view clause) {
  std::set<std::string> known;
  SqliteRows rows(file, "SELECT name FROM pragma_table_info(?)");
  rows.bind(of.name);
  while (rows.next()) known.insert(rows.text(0));
  if (known.empty()) return "";
  std::string names;
  for (const ColumnInfo& column : list) {
    names += names.empty() ? "" : ", ";
    names += known.contains(column.name) ? word_of(column) : "NULL";
  }
  std::string text = "SELECT " + names + " FROM " + of.name;
  if (!clause.empty()) return text.append(" ").append(clause);
  return text + (of.has_rowid ? " ORDER BY rowid" : "");
}

std::uint64_t count_rows(SqliteFile& file, const Table& of, const char* clause) {
  if (!has_table(file, of.name)) return 0;
  SqliteRows rows(file, (std::string("SELECT count(*) FROM ") + of.name + " " + clause).c_str());
  return rows.next() ? static_cast<std::uint64_t>(rows.integer(0)) : 0;
}

}  // namespace weft::store
