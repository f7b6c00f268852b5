// CSV as RFC 4180 has it: CRLF, a header, quotes where needed. NULL is an empty field, an empty text is "". Reals have
// as many digits as bring them back exactly.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>

#include "export/table_source.h"

namespace weft::exports {

// Rows written; the error names the file and the reason.
tl::expected<std::uint64_t, std::string> write_csv(TableSource& table, const std::string& path);

}  // namespace weft::exports
