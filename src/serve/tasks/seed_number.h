// A seed in a request: a number, or a string of digits. JavaScript's numbers are exact only to 2^53, seeds have 64
// bits.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft::serve {

// `json` is 7 or "7".
inline std::optional<std::uint64_t> seed_number(const std::string& json) {
  std::string_view text = json;
  if (text.size() > 1 && text.front() == '"' && text.back() == '"') text = text.substr(1, text.size() - 2);
  std::uint64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace weft::serve
