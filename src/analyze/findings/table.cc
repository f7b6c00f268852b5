#include "analyze/findings/table.h"

#include <fmt/format.h>

#include <algorithm>

namespace weft::analyze {
namespace {

std::string cell_text(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* number = std::get_if<std::int64_t>(&cell)) return fmt::format("{}", *number);
  return fmt::format("{:.3f}", std::get<double>(cell));
}

}  // namespace

std::string table_text(const Table& table) {
  const auto named = std::find(table.columns.begin(), table.columns.end(), "flow");
  const auto column = static_cast<std::size_t>(named - table.columns.begin());
  std::vector<std::vector<std::string>> lines = {table.columns};
  for (const std::vector<Cell>& row : table.rows) {
    std::vector<std::string>& line = lines.emplace_back();
    for (const Cell& cell : row) line.push_back(cell_text(cell));
  }
  return columns_text(lines, {column}, "");
}

std::string columns_text(const std::vector<std::vector<std::string>>& lines, const std::vector<std::size_t>& left,
                         const std::string& indent) {
  std::vector<std::size_t> widths;
  for (const auto& line : lines)
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (i == widths.size()) widths.push_back(0);
      widths[i] = std::max(widths[i], line[i].size());
    }
  std::string out;
  for (const auto& line : lines) {
    std::string text = indent;
    for (std::size_t i = 0; i < line.size(); ++i) {
      const bool is_left = std::find(left.begin(), left.end(), i) != left.end();
      text += is_left ? fmt::format("{:<{}}  ", line[i], widths[i]) : fmt::format("{:>{}}  ", line[i], widths[i]);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + "\n";
  }
  return out;
}

}  // namespace weft::analyze
