// The text of catalog/*.yaml, put into the binary at build time (scripts/embed.cmake).
#pragma once

#include <cstddef>

namespace weft::lab {

struct EmbeddedFile {
  const char* name;
  const char* text;
};

extern const EmbeddedFile kCatalogFiles[];
extern const std::size_t kCatalogFileCount;

}  // namespace weft::lab
