// "1 flow", "2 flows", "3 switches".
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace weft {

// `several`: the other form, where it is not the noun with an s.
inline std::string counted(std::uint64_t number, std::string_view noun, std::string_view several = {}) {
  if (number != 1 && !several.empty()) return fmt::format("{} {}", number, several);
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : noun.ends_with("ch") ? "es" : "s");
}

}  // namespace weft
