// FNV-1a over bytes: digests of results in tests, the same on every machine.
#pragma once

#include <cstdint>
#include <span>

namespace weft {

inline constexpr std::uint64_t kFnvOffset = 0xcbf29ce484222325ULL;

constexpr std::uint64_t fnv1a(std::span<const std::uint8_t> bytes, std::uint64_t state = kFnvOffset) {
  for (std::uint8_t byte : bytes) state = (state ^ byte) * 0x100000001b3ULL;
  return state;
}

}  // namespace weft
