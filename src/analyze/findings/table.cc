#include "analyze/findings/table.h"

#include <fmt/format.h>

#include "base/text_table.h"

namespace weft::analyze {
namespace {

std::string cell_text(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* number = std::get_if<std::int64_t>(&cell)) return fmt::format("{}", *number);
  return fmt::format("{:.3f}", std::get<double>(cell));
}

}  // namespace

std::string table_text(const Table& table) {
  TextTable text;
  for (const std::string& column : table.columns)
    text.add_column(column, column == "flow" ? TextTable::Align::kLeft : TextTable::Align::kRight);
  for (const std::vector<Cell>& row : table.rows) {
    std::vector<std::string> cells;
    for (const Cell& cell : row) cells.push_back(cell_text(cell));
    text.add_row(std::move(cells));
  }
  return text.text();
}

}  // namespace weft::analyze
