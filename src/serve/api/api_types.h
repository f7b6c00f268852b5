// The page's types of the rows of the API: the text of web/src/lib/rows.ts.
#pragma once

#include <string>

namespace weft::serve {

std::string api_types();

}  // namespace weft::serve
