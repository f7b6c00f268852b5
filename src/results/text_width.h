// How many columns a text takes: characters, not bytes, as tables have arrows and dashes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace weft::lab {

inline std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

}  // namespace weft::lab
