// Numbers with units, as a lab file or the catalog writes them: "25 Gbps", "3 m", "4200 B", "1.5 us",
// "10 %". The result is an exact integer in the base unit; there is no floating point on the way. A
// missing, wrong or misspelt unit is an error that names the accepted ones.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace weft::lab {

// The base unit of each is in the comment.
enum class Quantity : std::uint8_t {
  kBitRate,         // bit/s
  kLength,          // mm
  kSize,            // B
  kTime,            // ps
  kProbability,     // parts per 1e9
  kPackets,         // packet
  kMessageRate,     // message/s
  kDelayPerLength,  // ps/m
};

struct Unit {
  std::string_view name;
  std::int64_t scale;  // base units in one of these
  bool shown;          // format_quantity may use it
};

struct TextError {
  std::string message;
  std::string remedy;
};

std::span<const Unit> units_of(Quantity quantity);
std::string accepted_units(Quantity quantity);  // "bps, kbps, Mbps, Gbps, Tbps, b/s, …"

tl::expected<std::int64_t, TextError> parse_quantity(std::string_view text, Quantity quantity);
// In the largest unit that needs at most three decimals; parse_quantity gives the same value back.
std::string format_quantity(std::int64_t value, Quantity quantity);

// Plain numbers. What YAML 1.1 reads in a surprising way (010, 0x10, 1:30, 1_000, yes, on) is refused.
tl::expected<std::uint64_t, TextError> parse_unsigned(std::string_view text);
tl::expected<double, TextError> parse_number(std::string_view text);
tl::expected<bool, TextError> parse_bool(std::string_view text);
// "yes", "Off", "y", …: a boolean in YAML 1.1, a string in YAML 1.2.
bool is_yaml11_bool(std::string_view text);

}  // namespace weft::lab
