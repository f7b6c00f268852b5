#include "gear/import/sonic_values.h"

#include <fmt/format.h>

#include "spec/switch_config.h"
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

bool marks_green(std::string_view ecn) {
  return ecn == "ecn_all" || ecn == "ecn_green" || ecn == "ecn_green_yellow" || ecn == "ecn_green_red";
}

std::vector<std::string> colour_notes(std::string_view profile,
                                      const std::function<std::string(const std::string&)>& field) {
  std::vector<std::string> notes;
  for (const std::string colour : {"yellow", "red"}) {
    const std::string min = field(colour + "_min_threshold"), max = field(colour + "_max_threshold"),
                      probability = field(colour + "_drop_probability");
    const auto is_other = [&](const std::string& value, const char* of_green) {
      return !value.empty() && value != field(of_green);
    };
    if (field(fmt::format("wred_{}_enable", colour)) == "false") continue;
    if (is_other(min, "green_min_threshold") || is_other(max, "green_max_threshold") ||
        is_other(probability, "green_drop_probability"))
      notes.push_back(
          fmt::format("WRED_PROFILE|{}: {} packets have thresholds of their own ({}..{} B {} %); packets of a "
                      "lab are green",
                      profile, colour, min, max, probability));
  }
  return notes;
}

}  // namespace weft::gear
