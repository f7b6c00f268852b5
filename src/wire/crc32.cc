#include "wire/crc32.h"

#include <array>

#include "base/check.h"
#include "wire/crc32_methods.h"

namespace weft::wire {
namespace {

constexpr std::uint32_t kPolynomialReflected = 0xedb88320;

using SliceTables = std::array<std::array<std::uint32_t, 256>, 8>;

// tables[k][b]: what byte b does to the state when k more bytes follow it.
constexpr SliceTables make_tables() {
  SliceTables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t state = byte;
    for (int bit = 0; bit < 8; ++bit) state = (state >> 1) ^ ((state & 1) != 0 ? kPolynomialReflected : 0);
    tables[0][byte] = state;
  }
  for (std::size_t k = 1; k < tables.size(); ++k) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = tables[k - 1][byte];
      tables[k][byte] = (before >> 8) ^ tables[0][before & 0xff];
    }
  }
  return tables;
}
constexpr SliceTables kTables = make_tables();

using Kernel = std::uint32_t (*)(std::uint32_t, Bytes);

Kernel kernel_of(Crc32Method method) {
  switch (method) {
    case Crc32Method::kArmCrc32:
      return detail::crc32_arm;
    case Crc32Method::kX86Pclmul:
      return detail::crc32_x86;
    case Crc32Method::kTable:
      break;
  }
  return detail::crc32_table;
}

}  // namespace

std::uint32_t detail::crc32_table(std::uint32_t state, Bytes bytes) {
  while (bytes.size() >= 8) {
    const std::uint32_t low = state ^ le32(bytes, 0);
    const std::uint32_t high = le32(bytes, 4);
    state = kTables[7][low & 0xff] ^ kTables[6][low >> 8 & 0xff] ^ kTables[5][low >> 16 & 0xff] ^
            kTables[4][low >> 24] ^ kTables[3][high & 0xff] ^ kTables[2][high >> 8 & 0xff] ^
            kTables[1][high >> 16 & 0xff] ^ kTables[0][high >> 24];
    bytes = bytes.subspan(8);
  }
  for (const std::uint8_t byte : bytes) state = (state >> 8) ^ kTables[0][(state ^ byte) & 0xff];
  return state;
}

bool is_available(Crc32Method method) {
  switch (method) {
    case Crc32Method::kTable:
      return true;
    case Crc32Method::kArmCrc32:
      return detail::has_arm_crc32();
    case Crc32Method::kX86Pclmul:
      return detail::has_x86_pclmul();
  }
  return false;
}

Crc32Method best_crc32_method() {
  if (is_available(Crc32Method::kArmCrc32)) return Crc32Method::kArmCrc32;
  if (is_available(Crc32Method::kX86Pclmul)) return Crc32Method::kX86Pclmul;
  return Crc32Method::kTable;
}

const char* name(Crc32Method method) {
  switch (method) {
    case Crc32Method::kTable:
      return "slice-by-8";
    case Crc32Method::kArmCrc32:
      return "arm crc32";
    case Crc32Method::kX86Pclmul:
      return "x86 pclmulqdq";
  }
  return "unknown";
}

std::uint32_t crc32_update(std::uint32_t state, Bytes bytes) {
  static const Kernel kernel = kernel_of(best_crc32_method());
  return kernel(state, bytes);
}

std::uint32_t crc32_update(Crc32Method method, std::uint32_t state, Bytes bytes) {
  WEFT_CHECK(is_available(method), "this CPU lacks the instructions of the CRC-32 method asked for");
  return kernel_of(method)(state, bytes);
}

}  // namespace weft::wire
