// Big-endian loads and stores ("network order"). Callers have checked the length: these are the
// only place where src/wire turns bytes into numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace weft::wire {

using Bytes = std::span<const std::uint8_t>;
using MutableBytes = std::span<std::uint8_t>;

constexpr std::uint16_t be16(Bytes b, std::size_t at) {
  return static_cast<std::uint16_t>(b[at] << 8 | b[at + 1]);
}
constexpr std::uint32_t be24(Bytes b, std::size_t at) {
  return std::uint32_t{b[at]} << 16 | std::uint32_t{b[at + 1]} << 8 | b[at + 2];
}
constexpr std::uint32_t be32(Bytes b, std::size_t at) {
  return std::uint32_t{be16(b, at)} << 16 | be16(b, at + 2);
}
constexpr std::uint64_t be64(Bytes b, std::size_t at) {
  return std::uint64_t{be32(b, at)} << 32 | be32(b, at + 4);
}

constexpr void put_be16(MutableBytes b, std::size_t at, std::uint16_t value) {
  b[at] = static_cast<std::uint8_t>(value >> 8);
  b[at + 1] = static_cast<std::uint8_t>(value);
}
// Stores the low 24 bits.
constexpr void put_be24(MutableBytes b, std::size_t at, std::uint32_t value) {
  b[at] = static_cast<std::uint8_t>(value >> 16);
  b[at + 1] = static_cast<std::uint8_t>(value >> 8);
  b[at + 2] = static_cast<std::uint8_t>(value);
}
constexpr void put_be32(MutableBytes b, std::size_t at, std::uint32_t value) {
  put_be16(b, at, static_cast<std::uint16_t>(value >> 16));
  put_be16(b, at + 2, static_cast<std::uint16_t>(value));
}
constexpr void put_be64(MutableBytes b, std::size_t at, std::uint64_t value) {
  put_be32(b, at, static_cast<std::uint32_t>(value >> 32));
  put_be32(b, at + 4, static_cast<std::uint32_t>(value));
}

// The ICRC is the one field of a RoCE packet that is stored low byte first (IBTA vol 1, 7.8.1).
constexpr std::uint32_t le32(Bytes b, std::size_t at) {
  return b[at] | std::uint32_t{b[at + 1]} << 8 | std::uint32_t{b[at + 2]} << 16 | std::uint32_t{b[at + 3]} << 24;
}
constexpr void put_le32(MutableBytes b, std::size_t at, std::uint32_t value) {
  b[at] = static_cast<std::uint8_t>(value);
  b[at + 1] = static_cast<std::uint8_t>(value >> 8);
  b[at + 2] = static_cast<std::uint8_t>(value >> 16);
  b[at + 3] = static_cast<std::uint8_t>(value >> 24);
}

}  // namespace weft::wire
