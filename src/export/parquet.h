// Parquet (format 2.x, parquet.thrift) without compression: one file for a table, INT64, DOUBLE and UTF-8 columns, all
// OPTIONAL. Row groups are written as they fill, so that memory does not grow with the table.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>

#include "export/table_source.h"

namespace weft::exports {

inline constexpr std::size_t kRowGroup = 1 << 16;

// Rows written; the error names the file and the reason.
tl::expected<std::uint64_t, std::string> write_parquet(TableSource& table, const std::string& path,
                                                       std::size_t row_group = kRowGroup);

}  // namespace weft::exports
