#include "results/report_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"

namespace weft::lab {

void Table::add_column(std::string title, Align align) {
  columns_.push_back({std::move(title), align});
}

void Table::add_row(std::vector<std::string> cells) {
  WEFT_CHECK(cells.size() == columns_.size(), "a row has a cell for every column");
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  if (rows_.empty()) return "";
  std::vector<std::string> lines(rows_.size() + 1);
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    bool says_something = false;
    std::size_t width = columns_[c].title.size();
    for (const auto& row : rows_) {
      says_something = says_something || (!row[c].empty() && row[c] != "0" && row[c] != "-");
      width = std::max(width, row[c].size());
    }
    if (!says_something) continue;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const std::string& cell = i == 0 ? columns_[c].title : rows_[i - 1][c];
      if (!lines[i].empty()) lines[i] += "  ";
      lines[i] +=
          columns_[c].align == Align::kLeft ? fmt::format("{:<{}}", cell, width) : fmt::format("{:>{}}", cell, width);
    }
  }
  std::string out;
  for (std::string& line : lines) {
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

std::string block(const Table& table) {
  return "```\n" + table.text() + "```\n";
}

}  // namespace weft::lab
