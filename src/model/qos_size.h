// Buffer sizes as text: "150 kB", "14.54 MB".
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace weft::lab {

// Exact up to 10 kB and for round numbers, else four digits.
inline std::string size_text(std::int64_t size_B) {
  if (size_B >= 1'000'000) {
    return size_B % 1'000'000 == 0 ? fmt::format("{} MB", size_B / 1'000'000)
                                   : fmt::format("{:.2f} MB", static_cast<double>(size_B) / 1e6);
  }
  if (size_B >= 1000 && size_B % 1000 == 0) return fmt::format("{} kB", size_B / 1000);
  if (size_B >= 10'000) return fmt::format("{:.1f} kB", static_cast<double>(size_B) / 1e3);
  return fmt::format("{} B", size_B);
}

}  // namespace weft::lab
