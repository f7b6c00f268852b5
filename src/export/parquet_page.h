// The bytes of a column of Parquet within one row group: a dictionary page where values repeat, and one data page
// (version 1, not compressed). Definition levels and dictionary indices are in the hybrid of runs and bit-packed
// groups.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "export/table_source.h"

namespace weft::exports {

// parquet.thrift: Encoding.
inline constexpr std::int32_t kPlain = 0, kRle = 3, kRleDictionary = 8;

struct ColumnPages {
  std::string bytes;                   // pages with their headers
  std::optional<std::size_t> data_at;  // the data page, when a dictionary lies before it
};

// `cells` are those of one column, of `type` or NULL.
ColumnPages encode_column(CellType type, const std::vector<Cell>& cells);

// Values below 2^width, as runs of eight and more that are equal and groups of eight packed bits.
std::string encode_hybrid(const std::vector<std::uint32_t>& values, unsigned width);

}  // namespace weft::exports
