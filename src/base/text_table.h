// A table of text: columns as wide as what is in them, two blanks between them, nothing behind the last. Widths count
// characters, not bytes, as cells have arrows and dashes.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

std::size_t text_width(std::string_view text);
// With blanks behind it.
std::string padded(std::string_view text, std::size_t width);

class TextTable {
 public:
  enum class Align : unsigned char { kLeft, kRight };
  TextTable() = default;
  // All columns of one kind.
  TextTable(std::initializer_list<std::string_view> titles, Align align);
  void add_column(std::string_view title, Align align = Align::kRight);
  void add_row(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }
  // Lines with their ends; without titles there is no heading.
  std::string text(std::string_view indent = "") const;
  // Without the columns whose cells are all "", "0" or "-"; nothing without rows.
  std::string brief_text() const;
  // With a line of dashes below the heading: tabulate's "simple" format, in which SONiC's scripts print.
  std::string ruled_text() const;

 private:
  struct Column {
    std::string title;
    Align align;
  };
  struct Shape {
    std::string_view indent;
    bool all_columns = true, ruled = false;
  };
  std::string lines(const Shape& shape) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace weft
