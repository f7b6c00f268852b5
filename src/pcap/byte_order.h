// Numbers of a file whose byte order is known only when it is read. Callers have checked the length.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace weft::pcap {

struct ByteOrder {
  bool big_endian = false;

  std::uint16_t u16(const std::uint8_t* at) const {
    std::uint16_t value;
    std::memcpy(&value, at, sizeof value);
    return swaps() ? __builtin_bswap16(value) : value;
  }
  std::uint32_t u32(const std::uint8_t* at) const {
    std::uint32_t value;
    std::memcpy(&value, at, sizeof value);
    return swaps() ? __builtin_bswap32(value) : value;
  }
  std::uint64_t u64(const std::uint8_t* at) const {
    std::uint64_t value;
    std::memcpy(&value, at, sizeof value);
    return swaps() ? __builtin_bswap64(value) : value;
  }

 private:
  bool swaps() const { return big_endian != (std::endian::native == std::endian::big); }
};

}  // namespace weft::pcap
