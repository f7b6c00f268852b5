// A table as rows of cells, read once from the first to the last: what CSV and Parquet are written from, wherever the
// rows come from.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace weft::exports {

enum class CellType : unsigned char { kInteger, kReal, kText };
struct Column {
  std::string name;
  CellType type = CellType::kText;
};
// Nothing is NULL; otherwise of the column's type.
using Cell = std::variant<std::monostate, std::int64_t, double, std::string>;

class TableSource {
 public:
  TableSource(std::string name, std::vector<Column> columns) : name_(std::move(name)), columns_(std::move(columns)) {}
  virtual ~TableSource() = default;
  TableSource(const TableSource&) = delete;
  TableSource& operator=(const TableSource&) = delete;

  const std::string& name() const { return name_; }
  const std::vector<Column>& columns() const { return columns_; }
  // One cell for each column; false after the last row, or when it cannot be read.
  virtual bool next(std::vector<Cell>& row) = 0;
  // Empty, or why reading ended.
  virtual std::string error() const { return ""; }

 private:
  std::string name_;
  std::vector<Column> columns_;
};

}  // namespace weft::exports
