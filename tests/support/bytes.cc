#include "support/bytes.h"

#include <fstream>
#include <iterator>

#include "base/random.h"

namespace weft::support {

std::uint8_t pattern_byte(std::uint64_t position) {
  return static_cast<std::uint8_t>(mix64(position));
}

void fill_pattern(std::span<std::uint8_t> bytes, std::uint64_t first_position) {
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = pattern_byte(first_position + i);
}

bool is_pattern_outside(std::span<const std::uint8_t> bytes, std::size_t from, std::size_t to) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if ((i < from || i >= to) && bytes[i] != pattern_byte(i)) return false;
  }
  return true;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace weft::support
