// The bytes of one input of a fuzzer, taken from the front; zeros when they are used up.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace weft::fuzz {

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : rest_(data, size) {}
  bool empty() const { return rest_.empty(); }
  std::uint32_t byte() {
    if (rest_.empty()) return 0;
    std::uint32_t value = rest_.front();
    rest_ = rest_.subspan(1);
    return value;
  }
  std::uint32_t word() { return byte() << 8 | byte(); }
  std::span<const std::uint8_t> take(std::size_t size_B) {
    auto head = rest_.first(std::min(size_B, rest_.size()));
    rest_ = rest_.subspan(head.size());
    return head;
  }

 private:
  std::span<const std::uint8_t> rest_;
};

}  // namespace weft::fuzz
