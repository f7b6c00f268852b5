// A SQLite database and one statement of it, as little as the result store needs. The first error stays; what comes
// after it does nothing.
//
// A file that is read may come from anyone (sqlite.org/security.html, "Untrusted SQLite Database Files"): it has tables
// and indices and nothing that computes; a statement gives no more rows and bytes than the file can hold, and all of
// them together take no more steps than such a file needs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace weft::store {

class SqliteFile {
 public:
  enum class Mode : unsigned char { kCreate, kRead };
  SqliteFile(const std::string& path, Mode mode);
  ~SqliteFile();
  SqliteFile(const SqliteFile&) = delete;
  SqliteFile& operator=(const SqliteFile&) = delete;

  void execute(const char* sql);
  const std::string& error() const { return error_; }
  // Integers beyond these are an error from now on: who adds them up need not look for overflows.
  void limit_integers(std::int64_t most) { most_integer_ = most; }

 private:
  friend class SqliteRows;
  void note(int code);
  void fail(const char* why);
  void distrust(const std::string& path);
  bool count_steps();
  sqlite3* database_ = nullptr;
  std::string error_;
  bool trusted_ = true;            // written by us
  std::uint64_t size_B_ = 0;       // of a file that is not
  std::uint64_t steps_left_ = 0;   // thousands of SQLite's instructions
  std::int64_t most_integer_ = 0;  // 0: any
};

// Files of older versions lack tables and columns.
bool has_table(SqliteFile& file, std::string_view table);
bool has_column(SqliteFile& file, std::string_view table, std::string_view column);

class SqliteRows {
 public:
  SqliteRows(SqliteFile& file, const char* sql);
  ~SqliteRows();
  SqliteRows(const SqliteRows&) = delete;
  SqliteRows& operator=(const SqliteRows&) = delete;

  template <typename... Values>
  void bind(const Values&... values) {
    int index = 0;
    (put(++index, values), ...);
  }
  // One row of an INSERT.
  template <typename... Values>
  void add(const Values&... values) {
    bind(values...);
    insert();
  }
  // The same with more integers at the end, as many as there are.
  template <typename... Values>
  void add_with(const std::vector<std::optional<std::int64_t>>& more, const Values&... values) {
    bind(values...);
    for (std::size_t i = 0; i < more.size(); ++i) put(static_cast<int>(sizeof...(values) + i + 1), more[i]);
    insert();
  }
  template <typename Value>
  void put(int index, const Value& value) {
    if constexpr (std::is_integral_v<Value>) {
      put_integer(index, static_cast<std::int64_t>(value));
    } else if constexpr (std::is_same_v<Value, double>) {
      put_real(index, value);
    } else if constexpr (std::is_null_pointer_v<Value>) {
      put_null(index);
    } else if constexpr (std::is_convertible_v<Value, std::string_view>) {
      put_text(index, value);
    } else {
      put_blob(index, value);
    }
  }
  template <typename Value>
  void put(int index, const std::optional<Value>& value) {
    if (value) {
      put(index, *value);
    } else {
      put_null(index);
    }
  }
  void insert();
  // The next row of a SELECT, and its columns.
  bool next();
  void reset();
  // A column by its type; NULL is `otherwise`.
  template <typename Value>
  void get(int column, Value& value, const Value& otherwise) const {
    if (is_null(column)) {
      value = otherwise;
    } else if constexpr (std::is_same_v<Value, bool>) {
      value = integer(column) != 0;
    } else if constexpr (std::is_integral_v<Value>) {
      value = static_cast<Value>(integer(column));
    } else if constexpr (std::is_same_v<Value, double>) {
      value = real(column);
    } else if constexpr (std::is_same_v<Value, std::string>) {
      value = text(column);
    } else {
      const std::span<const std::uint8_t> bytes = blob(column);
      value.assign(bytes.begin(), bytes.end());
    }
  }
  template <typename Value>
  void get(int column, std::optional<Value>& value, const std::optional<Value>& otherwise) const {
    value = otherwise;
    if (!is_null(column)) get(column, value.emplace(), Value());
  }
  std::int64_t integer(int column) const;
  double real(int column) const;
  bool is_null(int column) const;
  std::string text(int column) const;
  std::span<const std::uint8_t> blob(int column) const;

 private:
  void put_integer(int index, std::int64_t value);
  void put_real(int index, double value);
  void put_null(int index);
  void put_text(int index, std::string_view value);
  void put_blob(int index, const std::vector<std::uint8_t>& value);
  bool row_is_possible();
  bool take(std::size_t size_B) const;

  SqliteFile& file_;
  sqlite3_stmt* statement_ = nullptr;
  std::uint64_t rows_ = 0;
  mutable std::uint64_t taken_B_ = 0;
};

}  // namespace weft::store
