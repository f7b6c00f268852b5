// A bundle: what `weft inspect` collected on one host or switch (docs/doctor.md). Plain text, a section per command,
// each with that command's own output:
//
//   # weft bundle 1
//   # host: gpu01
//   === ethtool ens1f0np0
//   Settings for ens1f0np0:
//   …
//   === end
//
// A line of output that would begin as a heading does has a space before it. Without the end the bundle was cut short.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "text/problem.h"

namespace weft::gear {

inline constexpr std::size_t kLargestBundle_B = 64'000'000;

// Where something was read: what a finding shows as its evidence.
struct Evidence {
  std::string file, section;
  int line = 0;  // of the file, 1-based; 0 where the file as a whole is meant
  std::string text;
};

// A value with the line it was read from.
template <class T>
struct Seen {
  T value{};
  Evidence from;
};
template <class T>
using Maybe = std::optional<Seen<T>>;

struct BundleSection {
  std::string command;  // "ethtool -S ens1f0np0"
  int line = 0;         // of its heading
  std::vector<std::string> lines;
};

struct Bundle {
  std::string file;
  std::string host;
  std::vector<BundleSection> sections;

  Evidence at(const BundleSection& section, std::size_t index) const;
};

bool is_bundle(std::string_view text);
// The error has the line; the file's name is the caller's to print.
tl::expected<Bundle, lab::Problem> parse_bundle(std::string_view text, const std::string& file);

// Pieces of lines. None of them allocates more than its result or looks outside of its text.
std::string_view trimmed(std::string_view text);
std::vector<std::string_view> words_of(std::string_view text, std::string_view separators = " \t");
// Text after `key` when the line begins with it (after blanks), trimmed: "25000Mb/s" of "\tSpeed: 25000Mb/s".
std::optional<std::string_view> value_after(std::string_view line, std::string_view key);
// The number that the text begins with; commas between digits are left out ("1,200"). Nothing where it does not fit.
std::optional<std::uint64_t> leading_number(std::string_view text);
std::optional<std::uint64_t> leading_hex(std::string_view text);
// "16" and "2.5" of "16GT/s", "2.5 GT/s PCIe".
std::optional<double> leading_decimal(std::string_view text);
// "0-3,8" as a sorted list, at most 65,536 of them; empty when it is no list.
std::vector<std::uint32_t> number_list(std::string_view text);
// Numbers and the names of the classes: CS3 is 24, AF31 26, EF 46.
std::optional<std::uint32_t> dscp_number(std::string_view text);
std::string lower_case(std::string_view text);

}  // namespace weft::gear
