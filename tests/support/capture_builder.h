// Builds small captures byte by byte, in either byte order.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace weft::support {

using Buffer = std::vector<std::uint8_t>;

struct CaptureBuilder {
  bool big_endian = false;
  Buffer bytes{};

  CaptureBuilder& number(std::uint64_t value, int size_B) {
    for (int i = 0; i < size_B; ++i) {
      bytes.push_back(static_cast<std::uint8_t>(value >> 8 * (big_endian ? size_B - 1 - i : i)));
    }
    return *this;
  }
  CaptureBuilder& u16(std::uint64_t value) { return number(value, 2); }
  CaptureBuilder& u32(std::uint64_t value) { return number(value, 4); }
  CaptureBuilder& u64(std::uint64_t value) { return number(value, 8); }
  CaptureBuilder& padded(std::string_view text) {
    bytes.insert(bytes.end(), text.begin(), text.end());
    while (bytes.size() % 4 != 0) bytes.push_back(0);
    return *this;
  }
  CaptureBuilder& option(std::uint16_t code, std::string_view text) { return u16(code).u16(text.size()).padded(text); }
  // `body` is made by a builder of the same order.
  CaptureBuilder& block(std::uint32_t type, const Buffer& body) {
    u32(type).u32(body.size() + 12);
    bytes.insert(bytes.end(), body.begin(), body.end());
    return u32(body.size() + 12);
  }
  CaptureBuilder& section() {
    return block(0x0a0d0d0a, sub().u32(0x1a2b3c4d).u16(1).u16(0).u64(~std::uint64_t{0}).bytes);
  }
  CaptureBuilder& interface(std::uint8_t tsresol = 6) {
    return block(1, sub().u16(1).u16(0).u32(0).u16(9).u16(1).number(tsresol, 1).padded("").bytes);
  }
  CaptureBuilder& packet(std::uint32_t interface_index, std::uint64_t ticks, std::string_view data) {
    return block(
        6, sub().u32(interface_index).u32(ticks >> 32).u32(ticks).u32(data.size()).u32(data.size()).padded(data).bytes);
  }
  CaptureBuilder sub() const { return {big_endian}; }
};

inline std::string_view text(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Two packets, "abcd" (60 bytes on the wire) and "xyz".
inline Buffer classic_capture(bool big_endian, std::uint32_t magic) {
  CaptureBuilder file{big_endian};
  file.u32(magic).u16(2).u16(4).u32(0).u32(0).u32(9100).u32(1);
  file.u32(1'700'000'000).u32(123'456).u32(4).u32(60).padded("abcd");
  file.u32(1'700'000'001).u32(7).u32(3).u32(3);
  file.bytes.insert(file.bytes.end(), {'x', 'y', 'z'});
  return file.bytes;
}

}  // namespace weft::support
