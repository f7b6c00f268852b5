// A catalog -> the C++ source that defines Catalog::built_in(): its entries as constants.
#pragma once

#include <string>

#include "catalog/catalog.h"

namespace weft::lab {

std::string catalog_source(const Catalog& catalog);

}  // namespace weft::lab
