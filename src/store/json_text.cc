#include "store/json_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace weft::store {

double rounded(double value, int places) {
  const double scale = std::pow(10.0, places);
  return std::round(value * scale) / scale;
}

void JsonText::name(std::string_view key) {
  separate();
  text_.append(1, '"').append(key).append("\":");
}

void JsonText::put(std::string_view value) {
  const auto plain = [](char c) { return c >= ' ' && c < 0x7f && c != '"' && c != '\\'; };
  if (std::all_of(value.begin(), value.end(), plain)) {
    text_.append(1, '"').append(value).append(1, '"');
  } else {
    // What a file or a program says may not be UTF-8.
    text_ += nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
}

void JsonText::put(double value) {
  text_ += nlohmann::json(value).dump();
}

void JsonText::put_unsigned(unsigned long long value) {
  const fmt::format_int digits(value);
  text_.append(digits.data(), digits.size());
}

void JsonText::put_signed(long long value) {
  const fmt::format_int digits(value);
  text_.append(digits.data(), digits.size());
}

}  // namespace weft::store
