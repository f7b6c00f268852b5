#include "export/csv.h"

#include <fmt/format.h>

#include "base/files.h"

namespace weft::exports {

namespace {

constexpr std::size_t kFlush_B = 1 << 16;

void append_text(std::string& out, const std::string& text) {
  if (!text.empty() && text.find_first_of("\",\r\n") == text.npos) {
    out += text;
    return;
  }
  out += '"';
  for (char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

void append_cell(std::string& out, const Cell& cell) {
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) {
    fmt::format_to(std::back_inserter(out), "{}", *integer);
  } else if (const auto* real = std::get_if<double>(&cell)) {
    fmt::format_to(std::back_inserter(out), "{}", *real);
  } else if (const auto* text = std::get_if<std::string>(&cell)) {
    append_text(out, *text);
  }
}

}  // namespace

tl::expected<std::uint64_t, std::string> write_csv(TableSource& table, const std::string& path) {
  OutputFile file(path);
  std::string out;
  for (std::size_t i = 0; i < table.columns().size(); ++i) {
    if (i > 0) out += ',';
    append_text(out, table.columns()[i].name);
  }
  out += "\r\n";
  std::uint64_t rows = 0;
  for (std::vector<Cell> row; table.next(row); ++rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) out += ',';
      append_cell(out, row[i]);
    }
    out += "\r\n";
    if (out.size() < kFlush_B) continue;
    file.write(out);
    out.clear();
  }
  if (!table.error().empty()) return tl::make_unexpected(table.error());
  file.write(out);
  if (auto closed = file.close(); !closed) return tl::make_unexpected(closed.error());
  return rows;
}

}  // namespace weft::exports
