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

std::string table_text(const Table& table);

}  // namespace weft::analyze
