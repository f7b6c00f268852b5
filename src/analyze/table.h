// A table of the analysis: rows on request on a terminal, always in JSON. Bounded by those who fill it.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace weft::analyze {

using Cell = std::variant<std::int64_t, double, std::string>;

struct Table {
  std::string name;                  // "cnp", "pauses", "rate"
  std::vector<std::string> columns;  // "flow" is the one that --flow looks at; units last
  std::vector<std::vector<Cell>> rows{};
};

// Rows whose flow contains `flow`; all of them when it is empty or the table has no such column.
std::string table_text(const Table& table, const std::string& flow);

}  // namespace weft::analyze
