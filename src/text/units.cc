#include "text/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "text/problem.h"

namespace weft::lab {
namespace {

constexpr std::int64_t k10(int power) {
  std::int64_t value = 1;
  for (int i = 0; i < power; ++i) value *= 10;
  return value;
}

// In rising order, the shown ones first: accepted_units lists them in this order.
constexpr Unit kBitRateUnits[] = {{"bps", 1, true},        {"kbps", k10(3), true},  {"Mbps", k10(6), true},
                                  {"Gbps", k10(9), true},  {"Tbps", k10(12), true}, {"b/s", 1, false},
                                  {"kb/s", k10(3), false}, {"Mb/s", k10(6), false}, {"Gb/s", k10(9), false},
                                  {"Tb/s", k10(12), false}};
constexpr Unit kLengthUnits[] = {{"mm", 1, true}, {"cm", 10, false}, {"m", k10(3), true}, {"km", k10(6), true}};
constexpr Unit kSizeUnits[] = {{"B", 1, true},         {"KiB", 1 << 10, true}, {"MiB", 1 << 20, true},
                               {"GiB", 1 << 30, true}, {"kB", k10(3), false},  {"MB", k10(6), false},
                               {"GB", k10(9), false}};
constexpr Unit kTimeUnits[] = {{"ps", 1, true},      {"ns", k10(3), true}, {"us", k10(6), true},
                               {"ms", k10(9), true}, {"s", k10(12), true}, {"µs", k10(6), false}};
constexpr Unit kProbabilityUnits[] = {{"ppb", 1, true}, {"ppm", k10(3), true}, {"%", k10(7), true}};
constexpr Unit kPacketUnits[] = {{"packets", 1, true}, {"packet", 1, false}};
constexpr Unit kMessageRateUnits[] = {{"msg/s", 1, true}, {"kmsg/s", k10(3), true}, {"Mmsg/s", k10(6), true}};
constexpr Unit kDelayPerLengthUnits[] = {{"ps/m", 1, true}, {"ns/m", k10(3), true}};

// Where a wrong unit is so common that the right one is known.
struct KnownSlip {
  Quantity quantity;
  std::string_view written;
  std::string_view remedy;
};
constexpr KnownSlip kSlips[] = {
    {Quantity::kSize, "K", "write KiB (1024 B) or kB (1000 B)"},
    {Quantity::kSize, "k", "write KiB (1024 B) or kB (1000 B)"},
    {Quantity::kSize, "KB", "write KiB (1024 B) or kB (1000 B)"},
    {Quantity::kSize, "M", "write MiB (1048576 B) or MB (1000000 B)"},
    {Quantity::kSize, "G", "write GiB (1073741824 B) or GB (1000000000 B)"},
    {Quantity::kBitRate, "G", "write Gbps"},
    {Quantity::kBitRate, "GB/s", "rates of links are in bits: write Gbps (8 Gbps = 1 GB/s)"},
    {Quantity::kBitRate, "GBps", "rates of links are in bits: write Gbps (8 Gbps = 1 GB/s)"},
    {Quantity::kBitRate, "MiB/s", "rates of links are in bits: write Mbps (8.388608 Mbps = 1 MiB/s)"},
    {Quantity::kTime, "sec", "write s"},
    {Quantity::kTime, "usec", "write us"},
    {Quantity::kTime, "msec", "write ms"},
    {Quantity::kTime, "nsec", "write ns"},
    {Quantity::kTime, "\u03bcs", "write us"},  // the Greek letter; U+00B5, the micro sign, is accepted
};

std::string_view example(Quantity quantity) {
  switch (quantity) {
    case Quantity::kBitRate:
      return "25 Gbps";
    case Quantity::kLength:
      return "3 m";
    case Quantity::kSize:
      return "4200 B";
    case Quantity::kTime:
      return "1.5 us";
    case Quantity::kProbability:
      return "1 %";
    case Quantity::kPackets:
      return "16 packets";
    case Quantity::kMessageRate:
      return "75 Mmsg/s";
    case Quantity::kDelayPerLength:
      return "4.9 ns/m";
  }
  return "";
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
std::size_t count_digits(std::string_view text) {
  return static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_digit) - text.begin());
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

std::optional<TextError> surprising_number(std::string_view text) {
  if (text.size() > 1 && text[0] == '0' && is_digit(text[1])) {
    return TextError{fmt::format("{} looks octal: YAML 1.1 reads 010 as 8", in_quotes(text)),
                     "write the decimal number without leading zeros"};
  }
  if (text.size() > 1 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X' || text[1] == 'o' || text[1] == 'b')) {
    return TextError{fmt::format("{} is not a decimal number", in_quotes(text)), "write it in decimal"};
  }
  if (text.find(':') != std::string_view::npos && count_digits(text) > 0) {
    return TextError{fmt::format("{} looks sexagesimal: YAML 1.1 reads 1:30 as 90", in_quotes(text)),
                     "write a plain decimal number"};
  }
  if (text.find('_') != std::string_view::npos && count_digits(text) > 0) {
    return TextError{fmt::format("{} has underscores", in_quotes(text)), "write the digits without separators"};
  }
  return std::nullopt;
}

constexpr std::size_t kMostDigits = 18;
// digits [. digits], at most 18 digits in all after leading zeros: mantissa * 10^-decimals.
struct Decimal {
  std::int64_t mantissa = 0;
  int decimals = 0;
  std::size_t length = 0;
};
std::optional<Decimal> scan_decimal(std::string_view text) {
  const std::size_t whole = count_digits(text);
  if (whole == 0) return std::nullopt;
  std::size_t fraction = 0;
  if (whole < text.size() && text[whole] == '.') {
    fraction = count_digits(text.substr(whole + 1));
    if (fraction == 0) return std::nullopt;
  }
  Decimal decimal;
  decimal.length = whole + (fraction > 0 ? fraction + 1 : 0);
  if (whole + fraction > kMostDigits) return std::nullopt;
  for (char c : text.substr(0, decimal.length)) {
    if (c != '.') decimal.mantissa = decimal.mantissa * 10 + (c - '0');
  }
  decimal.decimals = static_cast<int>(fraction);
  return decimal;
}

const Unit* find_unit(std::string_view name, Quantity quantity) {
  for (const Unit& unit : units_of(quantity)) {
    if (unit.name == name) return &unit;
  }
  return nullptr;
}

TextError wrong_unit(std::string_view unit, Quantity quantity) {
  std::string remedy = fmt::format("use one of {}", accepted_units(quantity));
  for (const Unit& known : units_of(quantity)) {
    if (equal_ignoring_case(known.name, unit)) remedy = fmt::format("write {}: units are case-sensitive", known.name);
  }
  for (const KnownSlip& slip : kSlips) {
    if (slip.quantity == quantity && slip.written == unit) remedy = slip.remedy;
  }
  return {fmt::format("{} is not a unit that fits here", in_quotes(unit)), remedy};
}

}  // namespace

std::span<const Unit> units_of(Quantity quantity) {
  switch (quantity) {
    case Quantity::kBitRate:
      return kBitRateUnits;
    case Quantity::kLength:
      return kLengthUnits;
    case Quantity::kSize:
      return kSizeUnits;
    case Quantity::kTime:
      return kTimeUnits;
    case Quantity::kProbability:
      return kProbabilityUnits;
    case Quantity::kPackets:
      return kPacketUnits;
    case Quantity::kMessageRate:
      return kMessageRateUnits;
    case Quantity::kDelayPerLength:
      return kDelayPerLengthUnits;
  }
  return {};
}

std::string accepted_units(Quantity quantity) {
  std::string text;
  for (const Unit& unit : units_of(quantity)) text += (text.empty() ? "" : ", ") + std::string(unit.name);
  return text;
}

tl::expected<std::int64_t, TextError> parse_quantity(std::string_view text, Quantity quantity) {
  const std::string remedy =
      fmt::format("write a number and a unit, e.g. {} ({})", example(quantity), accepted_units(quantity));
  if (text.starts_with('-')) return tl::unexpected(TextError{fmt::format("{} is negative", in_quotes(text)), remedy});
  const std::string_view number_part = text.substr(0, text.find(' '));
  if (auto surprise = surprising_number(number_part)) return tl::unexpected(*surprise);
  const auto number = scan_decimal(text);
  if (!number && count_digits(text) > kMostDigits)
    return tl::unexpected(TextError{fmt::format("{} has more than {} digits", in_quotes(text), kMostDigits),
                                    fmt::format("write a smaller number, with one of {}", accepted_units(quantity))});
  if (!number)
    return tl::unexpected(TextError{fmt::format("{} does not start with a plain number", in_quotes(text)), remedy});

  std::string_view unit_text = text.substr(number->length);
  if (unit_text.starts_with(' ')) unit_text.remove_prefix(1);
  if (unit_text.empty()) return tl::unexpected(TextError{fmt::format("{} has no unit", in_quotes(text)), remedy});
  const Unit* unit = find_unit(unit_text, quantity);
  if (unit == nullptr) return tl::unexpected(wrong_unit(unit_text, quantity));

  const __int128 scaled = static_cast<__int128>(number->mantissa) * unit->scale;
  const __int128 divisor = k10(number->decimals);
  if (scaled % divisor != 0) {
    return tl::unexpected(
        TextError{fmt::format("{} is finer than 1 {}", in_quotes(text), units_of(quantity)[0].name), "round it"});
  }
  if (scaled / divisor > std::numeric_limits<std::int64_t>::max()) {
    return tl::unexpected(TextError{fmt::format("{} is too large", in_quotes(text)), "write a smaller number"});
  }
  return static_cast<std::int64_t>(scaled / divisor);
}

std::string format_quantity(std::int64_t value, Quantity quantity) {
  const Unit* best = &units_of(quantity)[0];
  for (const Unit& unit : units_of(quantity)) {
    // 1024-based units only for whole multiples; the others with up to three decimals.
    const bool fits =
        quantity == Quantity::kSize ? value % unit.scale == 0 : static_cast<__int128>(value) * 1000 % unit.scale == 0;
    if (unit.shown && unit.scale <= value && fits && unit.scale > best->scale) best = &unit;
  }
  const std::int64_t whole = value / best->scale;
  const auto thousandths = static_cast<std::int64_t>(static_cast<__int128>(value % best->scale) * 1000 / best->scale);
  std::string number = fmt::format("{}", whole);
  if (thousandths != 0) {
    number += fmt::format(".{:03}", thousandths);
    while (number.back() == '0') number.pop_back();
  }
  return fmt::format("{} {}", number, best->name);
}

tl::expected<std::uint64_t, TextError> parse_unsigned(std::string_view text) {
  const std::string_view remedy = "write a whole decimal number, e.g. 16";
  if (auto surprise = surprising_number(text)) return tl::unexpected(*surprise);
  if (text.starts_with('-') && count_digits(text.substr(1)) == text.size() - 1 && text.size() > 1) {
    return tl::unexpected(TextError{fmt::format("{} is negative", in_quotes(text)), std::string(remedy)});
  }
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) {
    return tl::unexpected(TextError{fmt::format("{} is too large", in_quotes(text)), "write a smaller number"});
  }
  if (error != std::errc() || end != text.data() + text.size()) {
    return tl::unexpected(TextError{fmt::format("{} is not a whole number", in_quotes(text)), std::string(remedy)});
  }
  return value;
}

tl::expected<double, TextError> parse_number(std::string_view text) {
  const std::string_view unsigned_part = text.starts_with('-') ? text.substr(1) : text;
  if (auto surprise = surprising_number(unsigned_part)) return tl::unexpected(*surprise);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool starts_well = !unsigned_part.empty() && is_digit(unsigned_part[0]);
  if (!starts_well || error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    return tl::unexpected(
        TextError{fmt::format("{} is not a number", in_quotes(text)), "write a decimal number, e.g. 24.5 or 1e-12"});
  }
  return value;
}

bool is_yaml11_bool(std::string_view text) {
  constexpr std::array<std::string_view, 6> kWords = {"y", "n", "yes", "no", "on", "off"};
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view word) { return equal_ignoring_case(word, text); });
}

tl::expected<bool, TextError> parse_bool(std::string_view text) {
  if (text == "true") return true;
  if (text == "false") return false;
  if (is_yaml11_bool(text)) {
    return tl::unexpected(
        TextError{fmt::format("{} is a boolean only in YAML 1.1", in_quotes(text)), "write true or false"});
  }
  return tl::unexpected(TextError{fmt::format("{} is not true or false", in_quotes(text)), "write true or false"});
}

}  // namespace weft::lab
