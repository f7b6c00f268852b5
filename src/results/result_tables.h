// All tables of results.sqlite (docs/results.md, "results.sqlite").
#pragma once

#include <vector>

#include "store/table_text.h"

namespace weft::lab {

std::vector<store::TableText> result_tables();

}  // namespace weft::lab
