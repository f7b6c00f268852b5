// Values of config_db.json, which are strings: numbers, ranges of classes, and the place of a byte of the file.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/problem.h"

namespace weft::gear {

inline constexpr std::int64_t kMostValue = std::int64_t{1} << 50;

lab::Place place_of_byte(std::string_view text, std::size_t byte);
std::optional<std::int64_t> read_integer(std::string_view text);  // at most kMostValue, either sign
// "3-4" and "3": the classes of the second part of a key; none where they are wrong.
std::vector<std::uint8_t> read_classes(std::string_view text);

// Does a WRED profile with this "ecn" mark green packets? RoCE is green: nothing of a lab colours packets.
bool marks_green(std::string_view ecn);
// Values of a WRED profile for yellow and red packets that differ from green: a lab has one colour.
// `field` is the text of a field of the profile; empty where there is none.
std::vector<std::string> colour_notes(std::string_view profile,
                                      const std::function<std::string(const std::string&)>& field);

}  // namespace weft::gear
