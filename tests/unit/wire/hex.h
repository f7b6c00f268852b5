// Bytes written as a person reads them: hex("e41d 2dab 2bc2").
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace weft::wire {

inline std::vector<std::uint8_t> hex(std::string_view text) {
  std::vector<std::uint8_t> bytes;
  int high = -1;
  for (const char c : text) {
    if (c == ' ' || c == '\n') continue;
    const auto at = std::string_view("0123456789abcdef").find(c);
    if (at == std::string_view::npos) throw std::invalid_argument("not a hex digit");
    const int digit = static_cast<int>(at);
    if (high < 0) {
      high = digit;
    } else {
      bytes.push_back(static_cast<std::uint8_t>(high << 4 | digit));
      high = -1;
    }
  }
  if (high >= 0) throw std::invalid_argument("odd number of hex digits");
  return bytes;
}

}  // namespace weft::wire
