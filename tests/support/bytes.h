// Loops over many bytes, compiled with optimisation, which tests themselves are not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace weft::support {

// The byte at `position` of a pattern that repeats nowhere.
std::uint8_t pattern_byte(std::uint64_t position);
void fill_pattern(std::span<std::uint8_t> bytes, std::uint64_t first_position);
// Whether the bytes outside of [from, to) are those of the pattern.
bool is_pattern_outside(std::span<const std::uint8_t> bytes, std::size_t from, std::size_t to);

// Empty: there is no such file.
std::string read_file(const std::string& path);

}  // namespace weft::support
