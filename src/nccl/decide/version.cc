// Versions of NCCL, as people write them and as ncclGetVersion gives them.
#include <fmt/format.h>

#include <array>
#include <charconv>

#include "nccl/decide/environment.h"

namespace weft::nccl {

std::optional<std::uint32_t> parse_version(std::string_view text) {
  constexpr std::uint32_t kMajor = 2, kOldest = 18, kNewest = 30;
  std::array<std::uint32_t, 3> numbers{};
  const char* at = text.data();
  const char* end = at + text.size();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto [stop, error] = std::from_chars(at, end, numbers[i]);
    if (error != std::errc() || numbers[i] > 99) return std::nullopt;
    at = stop;
    if (at == end && i > 0) break;
    if (i + 1 < numbers.size() && (at == end || *at++ != '.')) return std::nullopt;
  }
  if (at != end || numbers[0] != kMajor || numbers[1] < kOldest || numbers[1] > kNewest) return std::nullopt;
  return numbers[0] * 10000 + numbers[1] * 100 + numbers[2];
}

std::string version_text(std::uint32_t version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

}  // namespace weft::nccl
