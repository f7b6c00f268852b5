#include "base/text_table.h"

#include <algorithm>

#include "base/check.h"

namespace weft {

std::size_t text_width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string padded(std::string_view text, std::size_t width) {
  return std::string(text) + std::string(width - std::min(width, text_width(text)), ' ');
}

TextTable::TextTable(std::initializer_list<std::string_view> titles, Align align) {
  for (std::string_view title : titles) add_column(title, align);
}

void TextTable::add_column(std::string_view title, Align align) {
  columns_.push_back({std::string(title), align});
}

void TextTable::add_row(std::vector<std::string> cells) {
  WEFT_CHECK(cells.size() == columns_.size(), "a row has a cell for every column");
  rows_.push_back(std::move(cells));
}

std::string TextTable::text(std::string_view indent) const {
  return lines({.indent = indent});
}

std::string TextTable::brief_text() const {
  return empty() ? "" : lines({.indent = "", .all_columns = false});
}

std::string TextTable::ruled_text() const {
  return lines({.indent = "", .ruled = true});
}

std::string TextTable::lines(const Shape& shape) const {
  std::vector<std::string> lines(rows_.size() + 1);
  std::string rule;
  bool titled = false;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const Column& column = columns_[c];
    bool says_something = shape.all_columns;
    std::size_t width = text_width(column.title);
    for (const auto& row : rows_) {
      says_something = says_something || (!row[c].empty() && row[c] != "0" && row[c] != "-");
      width = std::max(width, text_width(row[c]));
    }
    if (!says_something) continue;
    titled = titled || !column.title.empty();
    rule += (rule.empty() ? "" : "  ") + std::string(width, '-');
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const std::string& cell = i == 0 ? column.title : rows_[i - 1][c];
      if (!lines[i].empty()) lines[i] += "  ";
      lines[i] +=
          column.align == Align::kLeft ? padded(cell, width) : std::string(width - text_width(cell), ' ') + cell;
    }
  }
  if (!titled) lines.erase(lines.begin());
  if (shape.ruled) lines.insert(lines.begin() + (titled ? 1 : 0), rule);
  std::string out;
  for (const std::string& line : lines) {
    const std::size_t end = line.find_last_not_of(' ') + 1;
    out += std::string(end == 0 ? "" : shape.indent) + line.substr(0, end) + "\n";
  }
  return out;
}

}  // namespace weft
