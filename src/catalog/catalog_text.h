// The catalog as text and as JSON.
#pragma once

#include <string>

#include "catalog/catalog.h"

namespace weft::lab {

std::string catalog_list_text(const Catalog& catalog);
std::string catalog_list_json(const Catalog& catalog);
std::string catalog_entry_text(const CatalogEntry& entry);
std::string catalog_entry_json(const CatalogEntry& entry);

}  // namespace weft::lab
