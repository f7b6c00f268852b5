#include "gear/import/sonic_values.h"

#include "fabric/switch_config.h"
#include "text/units.h"

namespace weft::gear {

lab::Place place_of_byte(std::string_view text, std::size_t byte) {
  lab::Place place{1, 1, -1};
  for (std::size_t i = 0; i + 1 < byte && i < text.size(); ++i) {
    place.column = text[i] == '\n' ? 1 : place.column + 1;
    place.line += text[i] == '\n' ? 1 : 0;
  }
  return place;
}

std::optional<std::int64_t> read_integer(std::string_view text) {
  const bool negative = text.starts_with('-');
  const auto value = lab::parse_unsigned(negative ? text.substr(1) : text);
  if (!value || *value > static_cast<std::uint64_t>(kMostValue)) return std::nullopt;
  return negative ? -static_cast<std::int64_t>(*value) : static_cast<std::int64_t>(*value);
}

std::vector<std::uint8_t> read_classes(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto first = lab::parse_unsigned(text.substr(0, dash));
  const auto last = dash == text.npos ? first : lab::parse_unsigned(text.substr(dash + 1));
  std::vector<std::uint8_t> all;
  if (!first || !last || *first > *last || *last >= fabric::kClasses) return all;
  for (std::uint64_t i = *first; i <= *last; ++i) all.push_back(static_cast<std::uint8_t>(i));
  return all;
}

}  // namespace weft::gear
