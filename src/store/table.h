// The table of a row type in a SQLite file: Inserter makes it and fills it, Reader reads it. Columns go by name: a file
// of an older version may lack the table, which then has no rows, and columns, whose members keep their defaults.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "store/columns.h"
#include "store/sqlite_file.h"

namespace weft::store {

// The statements of a table. `clause` is what follows the table's name: WHERE, ORDER BY. Nothing selects from a table
// that the file lacks.
std::string create_text(const Table& of, std::span<const ColumnInfo> list);
std::string insert_text(const Table& of, std::span<const ColumnInfo> list);
std::string select_text(SqliteFile& file, const Table& of, std::span<const ColumnInfo> list, std::string_view clause);

template <class Row>
void create_table(SqliteFile& file) {
  file.execute(create_text(table<Row>, table_columns<Row>()).c_str());
}

template <class Row>
class Inserter {
 public:
  // Makes the table unless it is there.
  explicit Inserter(SqliteFile& file)
      : rows_((create_table<Row>(file), file), insert_text(table<Row>, table_columns<Row>()).c_str()) {}

  void add(const Row& row) {
    int index = 0;
    for_each_column<Row>([&]<class Member>(const Column<Row, Member>& column) {
      if constexpr (column_type(std::type_identity<Member>{}) != ColumnType::kNone) {
        if (column.is_in_table) rows_.put(++index, row.*column.member);
      }
    });
    rows_.insert();
  }

 private:
  SqliteRows rows_;
};

// All rows at once.
template <class Row>
void insert_rows(SqliteFile& file, const std::vector<Row>& rows) {
  Inserter<Row> inserter(file);
  for (const Row& row : rows) inserter.add(row);
}

// for (const LinkRow& link : Reader<LinkRow>(file)) …
// With members, only these are read: Reader<LinkRow, &LinkRow::port, &LinkRow::rate_bps>.
template <class Row, auto... Members>
class Reader {
 public:
  // Without a clause in the order in which the rows were written. `values` are those of its question marks.
  explicit Reader(SqliteFile& file, std::string_view clause = {})
      : rows_(file, select_text(file, table<Row>, wanted(), clause).c_str()) {}
  template <class... Values>
  Reader(SqliteFile& file, std::string_view clause, const Values&... values) : Reader(file, clause) {
    rows_.bind(values...);
  }

  // Begins anew with other values.
  template <class... Values>
  void restart(const Values&... values) {
    rows_.reset();
    rows_.bind(values...);
  }

  // False after the last row, or when it cannot be read.
  bool next() {
    if (!rows_.next()) return false;
    int index = 0;
    for_each_column<Row>([&]<class Member>(const Column<Row, Member>& column) {
      if constexpr (column_type(std::type_identity<Member>{}) != ColumnType::kNone) {
        if (is_wanted(column)) rows_.get(index++, row_.*column.member, defaults_.*column.member);
      }
    });
    return true;
  }
  // May be moved from.
  Row& row() { return row_; }

  struct End {};
  class Iterator {
   public:
    explicit Iterator(Reader& reader) : reader_(&reader), is_at_row_(reader.next()) {}
    Row& operator*() const { return reader_->row_; }
    Iterator& operator++() {
      is_at_row_ = reader_->next();
      return *this;
    }
    bool operator!=(End) const { return is_at_row_; }

   private:
    Reader* reader_;
    bool is_at_row_;
  };
  Iterator begin() { return Iterator(*this); }
  End end() const { return {}; }

 private:
  template <class Member>
  static bool is_wanted(const Column<Row, Member>& column) {
    if (!column.is_in_table) return false;
    if constexpr (sizeof...(Members) == 0) {
      return true;
    } else {
      const auto is = [&](auto member) {
        if constexpr (std::is_same_v<decltype(member), Member Row::*>) return member == column.member;
        return false;
      };
      return (is(Members) || ...);
    }
  }
  static std::vector<ColumnInfo> wanted() {
    std::vector<ColumnInfo> list;
    for_each_column<Row>([&]<class Member>(const Column<Row, Member>& column) {
      if (is_wanted(column))
        list.push_back({column.name, column_type(std::type_identity<Member>{}), false, column.is_quoted});
    });
    return list;
  }

  SqliteRows rows_;
  Row row_{};
  const Row defaults_{};
};

// How many rows the table has; 0 where the file lacks it.
std::uint64_t count_rows(SqliteFile& file, const Table& of, const char* clause = "");
template <class Row>
std::uint64_t count_rows(SqliteFile& file, const char* clause = "") {
  return count_rows(file, table<Row>, clause);
}

// The first row, where there is one.
template <class Row, class... Values>
std::optional<Row> read_first(SqliteFile& file, std::string_view clause, const Values&... values) {
  Reader<Row> reader(file, clause, values...);
  if (!reader.next()) return std::nullopt;
  return std::move(reader.row());
}

}  // namespace weft::store
