// A table of text: columns as wide as what is in them, numbers to the right. Columns that say nothing are left out.
#pragma once

#include <string>
#include <vector>

namespace weft::lab {

class Table {
 public:
  enum class Align : unsigned char { kLeft, kRight };
  void add_column(std::string title, Align align = Align::kRight);
  void add_row(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }
  // Lines with their ends; nothing without rows. A column whose cells are all "", "0" or "-" is not shown.
  std::string text() const;

 private:
  struct Column {
    std::string title;
    Align align;
  };
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// As a code block of Markdown.
std::string block(const Table& table);

}  // namespace weft::lab
