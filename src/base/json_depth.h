// How deeply a JSON text is nested. The JSON library copies and writes values recursively: text from outside is
// measured before it is parsed.
#pragma once

#include <cstddef>
#include <string_view>

namespace weft {

// The maximum nesting of brackets and braces outside strings.
std::size_t json_depth(std::string_view text);

inline constexpr std::size_t kDeepestJson = 64;

}  // namespace weft
